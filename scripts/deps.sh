#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# deps.sh PACKAGE... - installs those of the Debian packages that are missing.
set -eu
missing=
for p in "$@"; do
	# One line for each architecture that has it.
	dpkg-query -W -f='${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed || missing="$missing $p"
done
[ -n "$missing" ] || exit 0
echo "installing:$missing"
sudo=
[ "$(id -u)" -eq 0 ] || sudo=sudo
$sudo apt-get update -q
# The list is split into words on purpose.
# shellcheck disable=SC2086
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $missing
