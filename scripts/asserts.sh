#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# asserts.sh SOURCE_ROOT LEAST ROOM... - run-time assertions per 100 functions of each top folder and each ROOM, a folder of
# any depth; each ROOM needs at least LEAST. Functions are found by the house format: their braces stand alone in the first
# column.
set -u
cd "$1" || exit 1
least=$2
shift 2
bad=0
tops=$(git ls-files -co --exclude-standard '*.c' | grep / | grep -vE '^(tests|examples)/' | cut -d/ -f1)
for room in $(printf '%s\n' "$tops" "$@" | sort -u); do
	mapfile -t files < <(git ls-files -co --exclude-standard "$room/*.c" "$room/*.h")
	functions=$(cat /dev/null "${files[@]}" | grep -c '^{$')
	asserts=$(cat /dev/null "${files[@]}" | grep -cE '(^|[^_[:alnum:]])(assert|assert_locked)\(')
	per=$((functions ? asserts * 100 / functions : 0))
	printf '%-16s %5d functions, %4d assertions, %3d per 100\n' "$room" "$functions" "$asserts" "$per"
	for wanted in "$@"; do
		[ "$wanted" != "$room" ] || [ "$per" -ge "$least" ] || { echo "$room: fewer than $least per 100"; bad=1; }
	done
done
exit $bad
