#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# tidy.sh BUILD_DIR [NODES] - clang-tidy over all product sources, as many at a time as there are processors. The analyzer follows
# each function's paths up to NODES states, 75000 if not told: its own default, 225000, takes three times as long.
build=$(cd "$1" && pwd) || exit 1
cd "$(dirname "$0")/.." || exit 1
nodes=${2:-75000}
# Options of gcc that clang does not know must not count as findings.
git ls-files -co --exclude-standard '*.c' ':!tests' | xargs -P "$(nproc)" -n 4 clang-tidy --quiet -p "$build" \
	--extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-optimization-argument \
	--extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang --extra-arg=max-nodes="$nodes"
