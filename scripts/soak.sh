#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# soak.sh BUILD SECONDS [SEED] - random operations through the provider for so long, seed after seed: messages (endpoints,
# cancels, truncation, peers that vanish and come back) and remote memory (reads, writes, atomics), over wires that lose,
# repeat and delay packets, every byte compared. A build with sanitizers finds leaks too. Ends at the first failure and
# names the seed: WEFT_SOAK_SEED=N BUILD/tests/provider/test_provider_msg_soak repeats it.
set -u
LIMIT_S=600 # of a program, which takes less than a minute
build=$(realpath "$1") seconds=$2 seed=${3:-$(date +%s)}
end=$((SECONDS + seconds)) messages=0 accesses=0 rounds=0
export FI_PROVIDER_PATH=$build WEFT_SOAK_OPS=${WEFT_SOAK_OPS:-20000}
LSAN_OPTIONS=suppressions=$(realpath "$(dirname "$0")/lsan.supp"):print_suppressions=0
export LSAN_OPTIONS ASAN_OPTIONS=allocator_may_return_null=1
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# soak NAME WORD: runs the program; adds the number before the word in what it says, which is not 0, to $count.
soak() {
	local number
	if ! WEFT_SOAK_SEED=$seed timeout "$LIMIT_S" "$build/tests/provider/test_provider_$1" >"$log" 2>&1; then
		cat "$log"
		echo "$1: failed, or not done after $LIMIT_S s, with seed $seed"
		exit 1
	fi
	number=$(grep -o "[0-9]* $2" "$log" | head -n 1 | cut -d ' ' -f 1)
	if [ "${number:-0}" = 0 ]; then
		cat "$log"
		echo "$1: no $2, with seed $seed"
		exit 1
	fi
	count=$((count + number))
}

while [ $SECONDS -lt $end ]; do
	count=$messages
	soak msg_soak messages
	messages=$count count=$accesses
	soak rma_soak operations
	accesses=$count
	seed=$((seed + 1)) rounds=$((rounds + 1))
done
if [ "$messages" = 0 ] || [ "$accesses" = 0 ]; then
	echo "nothing was tried in $seconds s"
	exit 1
fi
echo "$rounds seeds, $messages messages and $accesses accesses to remote memory, every byte as it should be"
