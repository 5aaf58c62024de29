#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# bench.sh BUILD_DIR - what doc/notes/performance.md records: instructions against the budgets, memory, speed of the lab. Missed
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

echo "== next hops of all switches after a failure, CPU time"
"$build/tests/perf/perf_route" fattree:16

echo "== a second engine on a device, straight and handed over"
FI_PROVIDER_PATH=$build "$build/tests/perf/perf_engines" --seconds 5
FI_PROVIDER_PATH=$build "$build/tests/perf/perf_engines" --seconds 5 --crossed

echo "== encrypted packets over AES alone; budget: 0.7"
"$build/tests/perf/perf_tss"

# lab NAME ARGUMENTS...: three runs, the one of median speed; packet-hops over the CPU time it took.
lab() {
	local name=$1 json i
	shift
	json=$(mktemp)
	TIMEFORMAT='%U %S'
	for i in 1 2 3; do
		echo "$({ time "$build/weft" sim --cc smartt --lb reps "$@" --json "$json" >/dev/null; } 2>&1) $(tr -d '\n' <"$json")"
	done | python3 -c '
import json, sys
runs = []
for line in sys.stdin:
    user, system, text = line.split(" ", 2)
    runs.append((float(user) + float(system), json.loads(text)))
cpu_s, run = sorted(runs, key=lambda r: r[0])[len(runs) // 2]
print("%s: %d of %d flows verified, inflation %.3f, %.2f M hops in %.2f s CPU: %.2f M hops/s, %.0f MiB" % (
    sys.argv[1], run["flows"]["verified"], run["flows"]["count"], run["inflation"], run["run"]["packet_hops"] / 1e6, cpu_s,
    run["run"]["packet_hops"] / 1e6 / cpu_s, run["run"]["max_rss_kib"] / 1024))' "$name"
	rm -f "$json"
}

echo "== lab, permutation of 2 MiB at 800 Gb/s; budget at 1,024 hosts: 160 MiB"
lab "128 hosts" --topology configs/topologies/ft128_800g_tor1os.topo --matrix configs/matrices/perm_128n_2M.cm
lab "1,024 hosts" --topology configs/topologies/ft1024_800g_tor1os.topo --matrix configs/matrices/perm_1024n_2M.cm
lab "8,192 hosts" --topology fattree:32 --link-gbps 800 --matrix permutation:8192:2MiB
