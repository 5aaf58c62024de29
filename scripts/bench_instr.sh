#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Instructions per event of congestion control, load balancing and the engine: bench_instr.sh BUILD_DIR
# One line per case: what | instructions | budget. Exits with 1 when a budget is missed.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 BUILD_DIR" >&2; exit 2; }
here=$(dirname "$0")
count=1000
missed=0
tab=$(printf '\t')
printf '%-45s %12s %8s\n' what instructions budget
for program in perf_cc perf_lb perf_wire perf_engine; do
	"$1/tests/perf/$program" > "$1/$program.cases"
	while IFS=$tab read -r name budget what; do
		n=$("$here/instr.sh" 'measured_*' $count "$1/tests/perf/$program" "$name" $count)
		limit=$budget
		[ "$budget" -gt 0 ] || limit=-
		printf '%-45s %12s %8s\n' "$what" "$n" "$limit"
		if [ "$budget" -gt 0 ] && [ "$n" -gt "$budget" ]; then missed=1; fi
	done < "$1/$program.cases"
done
exit $missed
