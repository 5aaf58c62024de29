#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# tuning.sh WEFT [--write] - the tables in doc/reference/parameters.md are what `WEFT sim --help-params` prints: checks it, or writes them.
set -eu
doc=$(dirname "$0")/../doc/reference/parameters.md
made=$(mktemp)
trap 'rm -f "$made"' EXIT
sed '/^<!-- generated/q' "$doc" >"$made"
"$1" sim --help-params >>"$made"
if [ "${2:-}" = --write ]; then
	cp "$made" "$doc"
else
	diff -u "$doc" "$made" || { echo "doc/reference/parameters.md is not what the code says; run scripts/tuning.sh $1 --write"; exit 1; }
fi
