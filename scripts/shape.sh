#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shape.sh SOURCE_ROOT - no function over 60 lines, no product file over 500, the median function at most 10; no file's name
# twice. Functions are found by the house format: their braces stand alone in the first column.
cd "$1" || exit 1
files=$(git ls-files -co --exclude-standard '*.c' '*.h')
product=$(git ls-files -co --exclude-standard '*.c' '*.h' ':!tests')
[ -n "$files" ] || { echo "no sources"; exit 1; }
lengths=$(mktemp)
trap 'rm -f "$lengths"' EXIT
# shellcheck disable=SC2086
awk '/^[{]$/ {start = FNR}
     /^[}]$/ && start {print FNR - start - 1, FILENAME ":" start; start = 0}' $files | sort -n >"$lengths"
count=$(wc -l <"$lengths")
median=$(awk -v m=$(((count + 1) / 2)) 'NR == m {print $1}' "$lengths")
echo "$count functions, median $median lines, longest:"
tail -n 5 "$lengths"
long=$(awk '$1 > 60' "$lengths")
# shellcheck disable=SC2086
big=$(wc -l $product | awk '$2 != "total" && $1 > 500')
twice=$(echo "$files" | sed 's,.*/,,' | sort | uniq -d)
[ -z "$long$big" ] || { printf 'too long:\n%s\n%s\n' "$long" "$big"; exit 1; }
[ "$median" -le 10 ] || { echo "the median is above 10"; exit 1; }
[ -z "$twice" ] || { printf 'names of several files:\n%s\n' "$twice"; exit 1; }
