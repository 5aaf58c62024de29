#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# man.sh BUILD - the manual pages have no mistakes of form, and fi_weft(7) names every parameter the provider has, and no
# other.
set -u
page=$(dirname "$0")/../doc/reference/fi_weft.7
bad=0
said=$(groff -man -ww -z -Tutf8 "$page" "$(dirname "$0")/../packaging/libweft.3" "$1/packaging/weft.1" 2>&1)
[ -z "$said" ] || { echo "$said"; bad=1; }
has=$(FI_PROVIDER_PATH=$1 fi_info -g weft | grep -o 'FI_WEFT_[A-Z_]*:' | tr -d : | sort -u)
tells=$(sed -n '/^\.TP/{n;s/^\.B \(FI_WEFT_[A-Z_]*\)$/\1/p}' "$page" | sort -u)
[ -n "$has" ] || { echo "no parameters"; bad=1; }
diff <(echo "$has") <(echo "$tells") || { echo "left: parameters of the provider, right: of the page"; bad=1; }
exit $bad
