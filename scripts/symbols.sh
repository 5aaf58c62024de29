#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# symbols.sh LIBRARY INCLUDE_DIR - a shared library exports what its public headers declare, and nothing else.
set -u
exports=$(nm -D --defined-only "$1" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort)
declared=$(python3 "$(dirname "$0")/public_names.py" "$2") || exit 1
[ -n "$exports" ] || { echo "$1: exports nothing"; exit 1; }
diff <(echo "$exports") <(echo "$declared" | sort) || { echo "left: exported, right: declared"; exit 1; }
unversioned=$(nm -D --defined-only "$1" | awk '$2 != "A" && $3 !~ /@@WEFT_/ {print $3}')
[ -z "$unversioned" ] || { echo "without a version: $unversioned"; exit 1; }
echo "$(echo "$exports" | wc -l) symbols"
