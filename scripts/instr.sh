#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Instructions per call: instr.sh FUNCTION COUNT PROGRAM [ARG...]
# Runs PROGRAM under callgrind and prints the instructions executed inside FUNCTION (a pattern; its callees included)
# divided by COUNT, rounded. PROGRAM must enter it COUNT times.
set -eu
[ $# -ge 3 ] || { echo "usage: $0 FUNCTION COUNT PROGRAM [ARG...]" >&2; exit 2; }
function=$1
count=$2
shift 2
out=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null --collect-atstart=no --toggle-collect="$function" \
	"$@" 2>&1) || { echo "$0: $* failed:" >&2; echo "$out" >&2; exit 1; }
total=$(echo "$out" | sed -n 's/.*Collected : \([0-9]*\).*/\1/p')
[ "${total:-0}" -gt 0 ] || { echo "$0: $* never ran $function" >&2; exit 1; }
echo $(((total + count / 2) / count))
