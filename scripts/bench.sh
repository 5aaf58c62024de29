#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# bench.sh BUILD_DIR - what doc/perf.md records: instructions against the budgets, memory, speed of the lab. Missed
# budgets are shown, not failures: the numbers depend on compiler and machine.
set -u
cd "$(dirname "$0")/.." || exit 1
build=$1

echo "== instructions (callgrind)"
scripts/bench_instr.sh "$build"

echo "== memory"
printf '%-45s %12s %8s\n' "what" "bytes" "budget"
printf '%-45s %12s %8s\n' "idle connection, both directions" "$("$build/tests/perf/perf_engine" memory)" 1024

echo "== event queue, switches and links alone"
"$build/tests/perf/perf_net" configs/topologies/ft1024_800g_tor1os.topo 50

# lab NAME ARGUMENTS...: one run, its hops over the CPU time it took.
lab() {
	local name=$1 json cpu
	shift
	json=$(mktemp)
	TIMEFORMAT='%U %S'
	cpu=$({ time "$build/weft" sim "$@" --json "$json" >/dev/null; } 2>&1)
	python3 - "$name" "$json" "$cpu" <<'PY'
import json, sys
run = json.load(open(sys.argv[2]))
cpu_s = sum(map(float, sys.argv[3].split()))
print("%s: %d of %d flows verified, inflation %.3f, %.2f M hops in %.2f s CPU: %.2f M hops/s, %.0f MiB" % (
    sys.argv[1], run["flows"]["verified"], run["flows"]["count"], run["inflation"], run["run"]["packet_hops"] / 1e6, cpu_s,
    run["run"]["packet_hops"] / 1e6 / cpu_s, run["run"]["max_rss_kib"] / 1024))
PY
	rm -f "$json"
}

echo "== lab, permutation of 2 MiB at 800 Gb/s; budgets: 4 M hops/s, 300 MiB"
lab "1,024 hosts" --topology configs/topologies/ft1024_800g_tor1os.topo --matrix configs/matrices/perm_1024n_2M.cm
lab "128 hosts" --topology configs/topologies/ft128_800g_tor1os.topo --matrix configs/matrices/perm_128n_2M.cm
