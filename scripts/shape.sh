#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shape.sh SOURCE_ROOT - no function over 100 lines, no file over 600; prints the median function. Functions are found by
# the house format: their braces stand alone in the first column.
cd "$1" || exit 1
files=$(git ls-files '*.c' '*.h')
[ -n "$files" ] || { echo "no sources"; exit 1; }
lengths=$(mktemp)
trap 'rm -f "$lengths"' EXIT
# shellcheck disable=SC2086
awk '/^[{]$/ {start = FNR}
     /^[}]$/ && start {print FNR - start - 1, FILENAME ":" start; start = 0}' $files | sort -n >"$lengths"
count=$(wc -l <"$lengths")
echo "$count functions, median $(awk -v m=$(((count + 1) / 2)) 'NR == m {print $1}' "$lengths") lines, longest:"
tail -n 5 "$lengths"
long=$(awk '$1 > 100' "$lengths")
# shellcheck disable=SC2086
big=$(wc -l $files | awk '$2 != "total" && $1 > 600')
[ -z "$long$big" ] || { printf 'too long:\n%s\n%s\n' "$long" "$big"; exit 1; }
