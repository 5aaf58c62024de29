#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# headers.sh INCLUDE_DIR - each public header compiles alone, and twice, as C11 and as C++17, and every macro and every
# name it gives the linker begins with weft_ or WEFT_.
failed=0
names=$(python3 "$(dirname "$0")/public_names.py" "$1") || failed=1
cd "$1" || exit 1

compiles() { # HEADER LANGUAGE COMPILER...
	header=$1 language=$2
	shift 2
	printf '#include "%s"\n#include "%s"\nextern int weft_unit;\n' "$header" "$header" |
		"$@" -Wall -Wextra -Werror -fsyntax-only -I. -x "$language" - || failed=1
}

for h in weft/*.h weft/spi/*.h; do
	compiles "$h" c "${CC:-cc}" -std=c11 -pedantic
	compiles "$h" c++ "${CXX:-c++}" -std=c++17
	foreign=$(grep -oE '^# *define +[A-Za-z_0-9]+' "$h" | awk '{print $NF}' | grep -v '^WEFT_')
	[ -z "$foreign" ] || { echo "$h: macros without WEFT_: $foreign"; failed=1; }
done
foreign=$(echo "$names" | grep -v '^weft_')
[ -z "$foreign" ] || { echo "names without weft_: $foreign"; failed=1; }
exit $failed
