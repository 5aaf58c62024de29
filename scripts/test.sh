#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# All tests, whatever fails on the way; non-zero at the end if anything did. Each result is one line in
# $BUILD/results.txt: "OK name", "FAIL name", or "SKIP name" (this machine cannot run it); of a program that skips some of its
# tests "OK name", and "SKIP name: skipped N of M tests: ..." as well. BUILD names the release build
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
SECONDS=0                    # bash counts on

# begins NAME: a step of which the rest is told later.
begins() {
	printf '== %s (after %d:%02d minutes)\n' "$1" $((SECONDS / 60)) $((SECONDS % 60))
}

# step NAME COMMAND...: one result by itself.
step() {
	local name=$1
	shift
	begins "$name"
	local verdict=OK
	"$@" || verdict=FAIL
	echo "$verdict $name" >>"$results.new"
	tail -n 1 "$results.new"
}

# suites DIR LABEL ARGS...: builds what these meson tests need, runs them and takes their results.
suites() {
	local dir=$1 label=$2
	shift 2
	begins "tests, $label"
	rm -f "$dir/meson-logs/$label.json"
	meson test -C "$dir" --logbase "$label" --print-errorlogs "$@"
	taken "$dir" "$label" $?
}

# taken DIR LABEL STATUS: one result for each meson test of a log, and one if meson failed though no test did: it may have run none.
taken() {
	local dir=$1 label=$2 status=$3
	python3 - "$dir/meson-logs/$label.json" "$label" "$failures" >>"$results.new" <<'PY' || echo "FAIL $label: no test log" >>"$results.new"
import json, re, sys
for line in open(sys.argv[1]):
    t = json.loads(line)
    verdict = {"OK": "OK", "EXPECTEDFAIL": "OK", "SKIP": "SKIP"}.get(t["result"], "FAIL")
    print(verdict, sys.argv[2] + ":" + t["name"], t["result"])
    some = re.findall("^skipped .*", t.get("stdout") or "", re.M)  # tests/unit/cmocka_all.h
    if verdict == "OK" and some:
        print("SKIP", sys.argv[2] + ":" + t["name"] + ":", some[-1])
    if verdict == "SKIP":
        print(*(t.get("stdout") or "").strip().splitlines()[-1:], file=sys.stderr)
    if verdict == "FAIL":
        with open(sys.argv[3], "a") as why:
            print("==", sys.argv[2] + ":" + t["name"], t["result"], file=why)
            print(*((t.get("stdout") or "") + (t.get("stderr") or "")).strip().splitlines()[-20:], sep="\n", file=why)
PY
	[ "$status" = 0 ] || grep -q "^FAIL $label:" "$results.new" || echo "FAIL $label: meson ended with $status" >>"$results.new"
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

# beside NAME COMMAND...: starts a step whose result is taken later.
declare -A pid_of
beside() {
	local name=$1
	shift
	"$@" >"$build/$name.log" 2>&1 &
	pid_of[$name]=$!
}

# idly COMMAND...: takes what time the tests leave processors idle. Each test is a session of its own, and where the kernel shares
# processors out by session (sched_autogroup_enabled), niceness counts only within one: this one is nice as a whole.
idly() {
	# shellcheck disable=SC2016
	setsid nice -n 19 bash -c '{ echo 19 >/proc/self/autogroup; } 2>/dev/null; "$@"' sh "$@"
}

# joined NAME: waits for it; what it printed, and how it ended.
joined() {
	wait "${pid_of[$1]}"
	local status=$?
	cat "$build/$1.log"
	return $status
}

# One digest whatever built the lab: gcc -O3, gcc -O2 with sanitizers, clang -O3, clang -O0.
configured "$build-asan" --buildtype debugoptimized -Db_sanitize=address,undefined -Db_lundef=false
CC=clang configured "$build-clang"
CC=clang configured "$build-clang-debug" --buildtype debug
configured "$build-tsan" --buildtype debugoptimized -Db_sanitize=thread -Db_lundef=false

# built DIR ARGS...: what these meson tests need: meson builds it before it runs `true` in place of each test.
built() {
	local dir=$1
	shift
	meson test -C "$dir" --logbase build --wrapper true "$@"
}

asan_tests="--suite unit --suite sim --suite fabric --suite provider --no-suite speed"
tsan_tests="--suite threads"
other_builds() {
	# shellcheck disable=SC2086
	built "$build-asan" $asan_tests && ninja -C "$build-asan" weft && built "$build-tsan" $tsan_tests
}

# after PID COMMAND...: one idle job at a time.
after() {
	tail --pid="$1" -f /dev/null
	shift
	"$@"
}

# Tests that bound no real time: of texts, of what is installed, of the Python package.
untimed="doc check install weftlab"
untimed_tests() {
	rm -f "$build/meson-logs/untimed.json"
	# shellcheck disable=SC2086,SC2046
	meson test -C "$build" --no-rebuild --logbase untimed --print-errorlogs --num-processes 1 --timeout-multiplier 10 $(printf -- '--suite %s ' $untimed)
}

clang_builds_and_tidy() {
	ninja --quiet -C "$build-clang" weft && ninja --quiet -C "$build-clang-debug" weft
	scripts/tidy.sh "$build"
}

export -f built other_builds after untimed_tests clang_builds_and_tidy
export build asan_tests tsan_tests untimed
beside other-builds idly other_builds
beside untimed idly after "${pid_of[other-builds]}" untimed_tests
beside tidy idly after "${pid_of[untimed]}" clang_builds_and_tidy
beside fuzz-build idly after "${pid_of[tidy]}" scripts/fuzz.sh "$build-fuzz" 0 build

# Allocations that fail are tried under sanitizers alone, speed without.
# shellcheck disable=SC2046,SC2086
suites "$build" release --no-suite alloc --no-suite tidy $(printf -- '--no-suite %s ' $untimed)
step libfabric2 scripts/libfabric2.py "$build"

# Where it failed, the suites below build again and show the error.
step "other builds" wait "${pid_of[other-builds]}"
# shellcheck disable=SC2086
suites "$build-asan" asan $asan_tests --timeout-multiplier 4

beside soak scripts/soak.sh "$build-asan" "${SOAK_SECONDS:-120}"

# Always the same cases, so that nobody's change fails by another one's defect. Timeouts double while a path is down, and windows
# that they made small grow slowly.
step chaos tests/chaos/chaos.py "$build" --seconds "${CHAOS_SECONDS:-120}" --seed 1 --outages 5 --healed-rtos 300

step soak joined soak

# shellcheck disable=SC2086
suites "$build-tsan" tsan $tsan_tests --timeout-multiplier 4

joined untimed
taken "$build" untimed $?
step tidy joined tidy

for dir in "$build-asan" "$build-clang" "$build-clang-debug"; do step "build $dir/weft" ninja -C "$dir" weft; done
step digests scripts/digests.sh "$build"{,-asan,-clang,-clang-debug}/weft

# Twice as many at a time as there are processors: they do not hurry.
step "fuzz build" joined fuzz-build
FUZZ_JOBS=${FUZZ_JOBS:-$((2 * $(nproc)))} step fuzz scripts/fuzz.sh "$build-fuzz" "${FUZZ_SECONDS:-60}" run

mv "$results.new" "$results"
cat "$failures"
grep -E '^(FAIL|SKIP)' "$results"
echo "$(grep -c '^OK' "$results") passed, $(grep -c '^FAIL' "$results") failed, $(grep -c '^SKIP' "$results") could not run (release, asan, clang, tsan, fuzz)"
! grep -q '^FAIL' "$results"
