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

echo "== lab, 1,024 hosts, permutation of 2 MiB, all verified; budgets: 4 M hops/s, 300 MiB"
"$build/weft" sim --topology configs/topologies/ft1024_800g_tor1os.topo --matrix configs/matrices/perm_1024n_2M.cm |
	grep -E '^(flows|makespan|run|digest)'
echo "== lab, 128 hosts"
"$build/weft" sim --topology configs/topologies/ft128_800g_tor1os.topo --matrix configs/matrices/perm_128n_2M.cm |
	grep -E '^(flows|makespan|run|digest)'
