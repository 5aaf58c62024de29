#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# deb_check.sh DIRECTORY - what the packages there do to units when they are installed, upgraded and removed, by their scripts
# and stand-ins for systemd's programs; and that pages link only to what is shipped, and pkg-config adds no directories.
set -eu -o pipefail
debs=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "FAIL $*"
	exit 1
}

# Of the state of units Debian knows nothing, so they are neither installed nor enabled.
mkdir "$work/bin"
cat >"$work/bin/deb-systemd-helper" <<'END'
#!/bin/sh
case $* in
*debian-installed* | *was-enabled*) exit 1 ;;
*enable*) echo "$*" >&2 ;;
esac
END
printf '#!/bin/sh\necho "$*" >&2\n' >"$work/bin/deb-systemd-invoke"
for program in systemctl systemd-sysusers; do ln -s /bin/true "$work/bin/$program"; done
chmod +x "$work"/bin/deb-systemd-*

# does SCRIPT ARGUMENTS...: what the script of the package does to units, in lines.
does() {
	local script=$work/scripts/$1
	shift
	[ -e "$script" ] || return 0
	sed 's#-d /run/systemd/system#-d /#' "$script" >"$work/script"
	PATH=$work/bin /bin/sh "$work/script" "$@" 2>&1 || fail "$script $* ends with an error"
}

# expect WHAT DOES LINES: those, in any order.
expect() {
	[ "$(tr -d "'" <<<"$2" | sort)" = "$(sort <<<"$3")" ] || fail "$1 does '$2', not '$3'"
}

checked=0
for deb in "$debs"/*.deb; do
	rm -rf "$work/scripts"
	dpkg-deb -e "$deb" "$work/scripts"
	dpkg-deb -x "$deb" "$work/root"
	restarts='' stops=''
	if [[ ${deb##*/} == weft_* ]]; then
		restarts=$'try-restart weft-host.service weft-metrics.service\ntry-restart weft-switch@*.service'
		stops='stop weft-host.socket weft-host.service weft-metrics.service weft-switch@*.service'
	fi
	# Units wait for the administrator: a host without a configuration cannot start.
	expect "$deb, installed," "$(does preinst install && does postinst configure '')" ''
	# Nothing is stopped by an upgrade, as nothing would start it again. try-restart leaves alone what does not run.
	expect "$deb, upgraded," "$(does prerm upgrade 9 && does preinst upgrade 0 && does postrm upgrade 9 && does postinst configure 0)" \
		"$restarts"
	expect "$deb, removed," "$(does prerm remove && does postrm remove)" "$stops"
	checked=$((checked + 1))
done
[ $checked != 0 ] || fail "no packages in $debs"

shipped=$work/root/usr/share/doc/weft
[ ! -e "$shipped/README.md" ] || python3 tests/doc/links.py "$shipped"
# In /usr pkg-config leaves out the directories that compilers search anyway.
for pc in "$work"/root/usr/lib/*/pkgconfig/weft.pc; do
	[ -e "$pc" ] || continue
	flags=$(PKG_CONFIG_PATH=${pc%/*} pkg-config --cflags --libs weft | xargs)
	[ "$flags" = -lweft ] || fail "weft.pc: $flags"
done
echo "$checked packages leave units to the administrator"
