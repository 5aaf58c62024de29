#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# All tests, whatever fails on the way; non-zero at the end if anything did. Each result is one line in
# $BUILD/results.txt: "OK name", "FAIL name", or "SKIP name" (this machine cannot run it). BUILD names the release build
# directory, FUZZ_SECONDS the time per target, SOAK_SECONDS that of random operations through the provider, CHAOS_SECONDS that of random
# faults in the lab.
set -u
export LSAN_OPTIONS="suppressions=$(cd "$(dirname "$0")" && pwd)/lsan.supp"
export TSAN_OPTIONS="suppressions=$(cd "$(dirname "$0")" && pwd)/tsan.supp"
# Tests that ask for more memory than there is expect a refusal.
export ASAN_OPTIONS=allocator_may_return_null=1
cd "$(dirname "$0")/.." || exit 1
build=${BUILD:-build}
results=$build/results.txt
failures=$build/failures.txt # the last lines that each failed test printed

# step NAME COMMAND...: one result by itself.
step() {
	local name=$1
	shift
	echo "== $name"
	local verdict=OK
	"$@" || verdict=FAIL
	echo "$verdict $name" >>"$results.new"
	tail -n 1 "$results.new"
}

# suites DIR LABEL ARGS...: builds what these meson tests need, runs them and takes one result for each from their log.
suites() {
	local dir=$1 label=$2
	shift 2
	echo "== tests, $label"
	meson test -C "$dir" --logbase "$label" --print-errorlogs "$@"
	python3 - "$dir/meson-logs/$label.json" "$label" "$failures" >>"$results.new" <<'PY' || echo "FAIL $label: no test log" >>"$results.new"
import json, sys
for line in open(sys.argv[1]):
    t = json.loads(line)
    verdict = {"OK": "OK", "EXPECTEDFAIL": "OK", "SKIP": "SKIP"}.get(t["result"], "FAIL")
    print(verdict, sys.argv[2] + ":" + t["name"], t["result"])
    if verdict == "SKIP":
        print(*(t.get("stdout") or "").strip().splitlines()[-1:], file=sys.stderr)
    if verdict == "FAIL":
        with open(sys.argv[3], "a") as why:
            print("==", sys.argv[2] + ":" + t["name"], t["result"], file=why)
            print(*((t.get("stdout") or "") + (t.get("stderr") or "")).strip().splitlines()[-20:], sep="\n", file=why)
PY
}

# configured DIR OPTIONS...: sets a build directory up once.
configured() {
	local dir=$1
	shift
	[ -f "$dir/build.ninja" ] || meson setup "$dir" "$@"
}

configured "$build" || exit 1
: >"$results.new"
: >"$failures"
step build ninja -C "$build"

# beside NAME COMMAND...: starts a step whose result is taken later. At nice 19 it takes what time other tests leave processors idle.
declare -A pid_of
beside() {
	local name=$1
	shift
	"$@" >"$build/$name.log" 2>&1 &
	pid_of[$name]=$!
}

# joined NAME: waits for it; what it printed, and how it ended.
joined() {
	wait "${pid_of[$1]}"
	local status=$?
	cat "$build/$1.log"
	return $status
}

# One digest whatever built the lab: gcc -O3, gcc with sanitizers, clang -O3, clang -O0 with sanitizers.
configured "$build-asan" --buildtype debugoptimized -Db_sanitize=address,undefined -Db_lundef=false
CC=clang configured "$build-clang"
CC=clang configured "$build-clang-asan" --buildtype debug -Db_sanitize=address,undefined -Db_lundef=false
configured "$build-tsan" --buildtype debugoptimized -Db_sanitize=thread -Db_lundef=false
other_builds() {
	ninja -C "$build-asan" && ninja -C "$build-tsan"
}
# patient PID: what nothing waits for, after process PID. The fuzzers come last: they want processors that are idle, not tests that
# need both.
patient() {
	tail --pid="$1" -f /dev/null
	{ ninja -C "$build-clang" weft && ninja -C "$build-clang-asan" weft; } >>"$build/other-builds.log" 2>&1
	scripts/tidy.sh "$build" >"$build/tidy.log" 2>&1
	echo $? >"$build/tidy.status"
	scripts/fuzz.sh "$build-fuzz" "${FUZZ_SECONDS:-60}"
}
export -f other_builds patient
export build
rm -f "$build/tidy.status"
beside other-builds nice -n 19 bash -c other_builds
beside fuzz nice -n 19 bash -c "patient ${pid_of[other-builds]}"

# Allocations that fail are tried under sanitizers alone, speed without.
suites "$build" release --no-suite alloc --no-suite tidy
step libfabric2 scripts/libfabric2.py "$build"

wait "${pid_of[other-builds]}"
for dir in "$build-asan" "$build-tsan"; do step "build $dir" ninja -C "$dir"; done
suites "$build-asan" asan --suite unit --suite sim --suite fabric --suite provider --no-suite speed --timeout-multiplier 4

beside soak scripts/soak.sh "$build-asan" "${SOAK_SECONDS:-120}"

# Always the same cases, so that nobody's change fails by another one's defect. Timeouts double while a path is down, and windows
# that they made small grow slowly.
step chaos tests/chaos/chaos.py "$build" --seconds "${CHAOS_SECONDS:-120}" --seed 1 --outages 5 --healed-rtos 300

step soak joined soak

suites "$build-tsan" tsan --suite threads --timeout-multiplier 4

step fuzz joined fuzz
tidied() {
	cat "$build/tidy.log"
	return "$(cat "$build/tidy.status")"
}
step tidy tidied

for dir in "$build-asan" "$build-clang" "$build-clang-asan"; do step "build $dir/weft" ninja -C "$dir" weft; done
step digests scripts/digests.sh "$build"{,-asan,-clang,-clang-asan}/weft

mv "$results.new" "$results"
cat "$failures"
grep -E '^(FAIL|SKIP)' "$results"
echo "$(grep -c '^OK' "$results") passed, $(grep -c '^FAIL' "$results") failed, $(grep -c '^SKIP' "$results") could not run (release, asan, clang, tsan, fuzz)"
! grep -q '^FAIL' "$results"
