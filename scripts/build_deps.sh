#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# build_deps.sh - the packages that debian/control builds with, by the names of real packages.
set -eu
cd "$(dirname "$0")/.."
sed -n '/^Build-Depends:/,/^[A-Z][^ ]*:/{/^Build-Depends:/{s///;p;d};/^ /p}' debian/control | sed 's/([^)]*)//g; s/debhelper-compat/debhelper/' |
	tr ',\n' '  '
