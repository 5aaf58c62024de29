#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# headers.sh SOURCE_ROOT - each public header compiles alone, and twice.
failed=0
for h in "$1"/include/weft/*.h "$1"/include/weft/spi/*.h; do
	name=weft/${h#"$1"/include/weft/}
	printf '#include "%s"\n#include "%s"\n' "$name" "$name" |
		cc -std=gnu11 -Wall -Wextra -Werror -Wno-unused-parameter -fsyntax-only -I"$1/include" -x c - || failed=1
done
exit $failed
