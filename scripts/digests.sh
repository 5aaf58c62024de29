#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# digests.sh WEFT... - runs tests/sim/digests.yaml with every one of these builds, the first also with one process instead of
# three and a second time, and fails where a digest differs or a run did not end well.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# runs DIR WEFT JOBS: DIR.txt has a line for each run.
runs() {
	"$2" sim "$root/tests/sim/digests.yaml" --out "$1" --jobs "$3" >"$1.log" 2>&1 || { cat "$1.log"; exit 1; }
	python3 - "$1" >"$1.txt" <<'PY'
import json, sys
sweep = json.load(open(sys.argv[1] + "/sweep.json"))
for run in sweep["runs"]:
    digest = json.load(open(sys.argv[1] + "/" + run["dir"] + "/run.json"))["run"]["digest"]
    assert run["status"] == "done" and int(digest, 16) != 0, run
    print(run["label"], digest)
PY
}

runs "$out/first" "$1" 3
runs "$out/again" "$1" 3
runs "$out/alone" "$1" 1
n=0 failed=0
for weft in "${@:2}"; do runs "$out/build$((n += 1))" "$weft" 2; done
for other in "$out"/{again,alone,build*}.txt; do
	[ -e "$other" ] || continue
	diff "$out/first.txt" "$other" || { echo "$(basename "$other" .txt) differs from $1"; failed=1; }
done
echo "$(wc -l <"$out/first.txt") digests, $(($# + 2)) ways"
exit $failed
