#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# tidy.sh BUILD_DIR - clang-tidy over all product sources, two at a time.
build=$(cd "$1" && pwd) || exit 1
cd "$(dirname "$0")/.." || exit 1
# Options of gcc that clang does not know must not count as findings.
git ls-files -co --exclude-standard '*.c' ':!tests' | xargs -P 2 -n 8 clang-tidy --quiet -p "$build" \
	--extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-ignored-optimization-argument
