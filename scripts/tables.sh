#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# tables.sh WEFT [--write] - the tables at the end of doc/reference/parameters.md, metrics.md and telemetry.md are what the
# command says of its parameters, metrics and counters: checks it, or writes them.
set -eu
weft=$1
write=${2:-}
made=$(mktemp)
trap 'rm -f "$made"' EXIT

# page PAGE COMMAND...: all that follows the mark in the page comes from the command.
page() {
	doc=$(dirname "$0")/../doc/reference/$1
	sed '/^<!-- generated/q' "$doc" >"$made"
	shift
	"$@" >>"$made"
	if [ "$write" = --write ]; then
		cp "$made" "$doc"
	else
		diff -u "$doc" "$made" || { echo "$doc is not what the command says; run scripts/tables.sh $weft --write"; exit 1; }
	fi
}

metrics() {
	printf '\n| metric | meaning |\n|---|---|\n'
	# shellcheck disable=SC2016
	"$weft" reproduce --measures | sed -E 's/^([^ ]+) +(.*)$/| `\1` | \2 |/'
}

page parameters.md "$weft" sim --help-params
page metrics.md metrics
page telemetry.md "$weft" top --help-counters
