#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# format.sh SOURCE_ROOT - sources are as clang-format writes them and say their licence.
cd "$1" || exit 1
files=$(git ls-files -co --exclude-standard '*.c' '*.h')
# shellcheck disable=SC2086
clang-format --dry-run --Werror $files || exit 1
# shellcheck disable=SC2086
bare=$(grep -L 'SPDX-License-Identifier: BSD-3-Clause' $files $(git ls-files -co --exclude-standard '*meson.build' '*.sh' '*.py' '*.yaml' Makefile))
[ -z "$bare" ] || { echo "no SPDX line: $bare"; exit 1; }
