#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# demo.sh BUILD_DIR - three matrices on a 16-node leaf-spine, through the libfabric provider in real time and in the lab in
# virtual time, and one table of all runs. No hugepages, no privileges.
set -eu
cd "$(dirname "$0")/.."
weft=$1/weft
out=$1/demo
mkdir -p "$out"
rm -f "$out"/*.json
FI_PROVIDER_PATH=$(cd "$1" && pwd)
export FI_PROVIDER_PATH
matrices='permutation:16:1MiB incast:15:1MiB alltoall:16:1MiB'

# run NAME COMMAND...: its table goes to a log, which is shown when it fails.
run() {
	local name=$1
	shift
	echo "$*"
	"$@" --json "$out/$name.json" >"$out/$name.log" 2>&1 || { cat "$out/$name.log"; exit 1; }
}

n=10
for matrix in $matrices; do
	for lb in reps ecmp; do
		for how in 'bench --local' sim; do
			# $how is one or two words.
			run "$((n += 1))-${matrix%%:*}" "$weft" $how --topology configs/topologies/ls16_50g.topo --matrix "$matrix" \
				--cc smartt --lb "$lb"
		done
	done
done
python3 scripts/table.py "$out"/*.json
