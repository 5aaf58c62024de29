#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# deb.sh OUT [ARGUMENTS OF dpkg-buildpackage] - builds the Debian packages of the commit in OUT, from a copy: dpkg-buildpackage
# writes beside its sources.
set -eu -o pipefail
out=$(mkdir -p "$1" && cd "$1" && pwd)
shift
cd "$(dirname "$0")/.."
version=$(dpkg-parsechangelog --show-field Version)
[ "$version" = "$(sed -n "s/.*version: '\([0-9.]*\)', license.*/\1/p" meson.build)" ] || {
	echo "debian/changelog has version $version, meson.build another"
	exit 1
}
work=$(mktemp -d "$out/work.XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir "$work/weft-$version"
git archive HEAD | tar -x -C "$work/weft-$version"
(cd "$work/weft-$version" && dpkg-buildpackage --no-sign "$@")
mv "$work"/*.deb "$work"/*.changes "$work"/*.buildinfo "$out"
for file in "$work"/*.dsc "$work"/*.tar.*; do [ ! -e "$file" ] || mv "$file" "$out"; done
scripts/deb_check.sh "$out"
ls -l "$out"/*.deb
