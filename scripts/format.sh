#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# format.sh SOURCE_ROOT - sources are as clang-format writes them and say their licence.
cd "$1" || exit 1
files=$(git ls-files -co --exclude-standard '*.c' '*.h')
# shellcheck disable=SC2086
clang-format --dry-run --Werror $files || exit 1
build=$(git ls-files -co --exclude-standard '*meson.build' '*.sh' '*.py' Makefile)
scenarios=$(git ls-files '*.yaml') # those that are not added are experiments
# shellcheck disable=SC2086
bare=$(grep -L 'SPDX-License-Identifier: BSD-3-Clause' $files $build $scenarios)
[ -z "$bare" ] || { echo "no SPDX line: $bare"; exit 1; }
