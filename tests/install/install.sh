#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# install.sh BUILD SOURCE - installs into a temporary DESTDIR and uses nothing but what lies there: every header from C
# and C++, the examples by pkg-config, shared and static, plug-ins in the command and the provider, configurations after
# the installation was moved, the dissector, manual pages and completion.
set -eu -o pipefail
build=$(cd "$1" && pwd) source=$(cd "$2" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/stage clean=$work/clean
mkdir "$clean"

fail() {
	echo "FAIL $*"
	exit 1
}

# says TEXT COMMAND...: the command fails and its message has the text.
says() {
	local text=$1 said
	shift
	said=$("$@" 2>&1) && fail "$* succeeds"
	[[ $said == *"$text"* ]] || fail "$*: no '$text' in: $said"
}

DESTDIR=$stage meson install -C "$build" --no-rebuild --quiet
pc=$(find "$stage" -name weft.pc)
export PKG_CONFIG_PATH=${pc%/*}
libdir=${pc%/pkgconfig/weft.pc}
weft=$(find "$stage" -path '*/bin/weft')
prefix=${weft%/bin/weft}
include=$prefix/include
# That of /usr says so, and bears no DESTDIR: from here on it is as all others.
[ "${prefix#"$stage"}" != /usr ] ||
	sed -i "s#^prefix=/usr\$#prefix=\${pcfiledir}/$(realpath --relative-to="$PKG_CONFIG_PATH" "$prefix")#" "$pc"
cd "$clean"

[ "$(pkg-config --modversion weft)" = "$("$weft" --version | awk '{print $2}')" ] || fail "weft.pc: another version"
for header in $(cd "$include" && find weft -name '*.h'); do
	for language in 'c -std=c11' 'c++ -std=c++17'; do
		# shellcheck disable=SC2046,SC2086
		echo "#include <$header>" | cc -x $language -Wall -Wextra -Werror -fsyntax-only $(pkg-config --cflags weft) - ||
			fail "$header: $language"
	done
done
diff <(cd "$source/include" && find weft -name '*.h' | sort) <(cd "$include" && find weft -name '*.h' | sort) ||
	fail "other headers than the sources have"

cp "$source"/examples/* .
make --silent CFLAGS='-O2 -Wall -Wextra -Werror'
./pingpong
# shellcheck disable=SC2046
cc pingpong.c -o static $(pkg-config --cflags weft) "$libdir/libweft.a" $(pkg-config --libs --static weft | sed 's/-lweft//')
./static

run=(sim --topology leafspine:2:2:4 --matrix incast:4:256KiB)
"$weft" "${run[@]}" --plugin ./cc_mine.so --plugin ./lb_mine.so --cc mine --lb turns --set mine_cut_pct=30 \
	--set turns_evs=16 >table
grep -q '^digest' table || fail "the run has no result"
"$weft" sim --plugin ./cc_mine.so --help | grep '^  mine  *AIMD' >/dev/null || fail "--help does not list the plug-in's algorithm"
"$weft" sim --plugin lb_mine.so --help-params | grep turns_evs >/dev/null || fail "--help-params: no parameter of the plug-in"
says "unknown cc 'mine'" "$weft" "${run[@]}" --cc mine
says 'absent.so' "$weft" "${run[@]}" --plugin ./absent.so

# plugin NAME TEXT: a plug-in with this definition.
plugin() {
	printf '#include <weft/spi/plugin.h>\n%s\n' "$2" >"$1.c"
	# shellcheck disable=SC2046
	cc -shared -fPIC $(pkg-config --cflags weft) "$1.c" -o "$1.so"
}
plugin empty 'int nothing;'
says 'empty.so: no symbol weft_plugin' "$weft" "${run[@]}" --plugin ./empty.so
plugin old 'WEFT_PLUGIN = {.abi = WEFT_PLUGIN_ABI - 1};'
abi=$(sed -n 's/.*WEFT_PLUGIN_ABI = \([0-9]*\).*/\1/p' "$source/include/weft/spi/plugin.h")
says "old.so: made for plug-in ABI $((abi - 1)), this is $abi" "$weft" "${run[@]}" --plugin ./old.so
plugin bare 'static const struct weft_cc_ops o = {.name = "bare", .help = "none"};
static const struct weft_cc_ops *const t[] = {&o, NULL}; WEFT_PLUGIN = {.abi = WEFT_PLUGIN_ABI, .cc = t};'
says "bare.so: congestion control bare: a function is missing" "$weft" "${run[@]}" --plugin ./bare.so
plugin lone 'static int f; /* never called */
static const struct weft_rcc_ops o = {.name = "lone", .help = "none", .limits = (void *)&f, .init = (void *)&f,
	.on_demand = (void *)&f, .next_credit = (void *)&f, .sender = "nobody"};
static const struct weft_rcc_ops *const t[] = {&o, NULL}; WEFT_PLUGIN = {.abi = WEFT_PLUGIN_ABI, .rcc = t};'
says 'lone.so: lone: there is no congestion control nobody for its senders' "$weft" "${run[@]}" --plugin ./lone.so
tuned='static const struct weft_param big[] = {{"big", "eight bytes", 1, 0, 9, 0, WEFT_PARAM_U64}, {0}};'
sed "s/\.name = \"mine\"/.name = \"tiny\"/; s/\.tune_size = [^,]*,/.tune_size = 4,/; s/\.tunes = [^,]*,/.tunes = big,/" cc_mine.c |
	sed "/^static const struct weft_cc_ops mine = /i $tuned" >tiny.c
# shellcheck disable=SC2046
cc -shared -fPIC $(pkg-config --cflags weft) tiny.c -o tiny.so
says 'tiny.so: tiny: parameter big lies outside its 4 bytes' "$weft" "${run[@]}" --plugin ./tiny.so
twin='static const struct weft_param pair[] = {{"one", "of two", 1, 0, 9, 0, WEFT_PARAM_U32}, {"one", "of two", 1, 0, 9, 0, WEFT_PARAM_U32}, {0}};'
sed "s/\.name = \"mine\"/.name = \"twin\"/; s/\.tunes = [^,]*,/.tunes = pair,/" cc_mine.c |
	sed "/^static const struct weft_cc_ops mine = /i $twin" >twin.c
# shellcheck disable=SC2046
cc -shared -fPIC $(pkg-config --cflags weft) twin.c -o twin.so
says 'twin.so: twin: two parameters are called one' "$weft" "${run[@]}" --plugin ./twin.so
sed 's/"mine_cut_pct"/"ack_every"/' cc_mine.c >shared.c
# shellcheck disable=SC2046
cc -shared -fPIC $(pkg-config --cflags weft) shared.c -o shared.so
says "two parts of this run have a parameter 'ack_every'" "$weft" "${run[@]}" --plugin ./shared.so --cc mine --set ack_every=2
sed 's/\.name = "mine"/.name = "smartt"/' cc_mine.c >twice.c
# shellcheck disable=SC2046
cc -shared -fPIC $(pkg-config --cflags weft) twice.c -o twice.so
says 'twice.so: there is a congestion control smartt already' "$weft" "${run[@]}" --plugin ./twice.so

FI_PROVIDER_PATH=$libdir/libfabric "$weft" bench --local --plugin cc_mine.so --cc mine --matrix permutation:4:64KiB \
	>table
grep -q '^run' table || fail "the benchmark has no result"

"$weft" reproduce prime --list >figures
mkdir moved && mv "$prefix" moved/weft
moved/weft/bin/weft reproduce prime --list | cmp - figures || fail "moved, it finds other figures"
[ -s figures ] || fail "no figures"
printf 'topology: star:4\nmatrix: permutation:4:16KiB\n' >one.yaml
moved/weft/bin/weft sweep one.yaml --quiet >table || fail "moved, it runs no sweep"
moved/weft/bin/weft report weft-out/one >table || fail "moved, it makes no page"
export PKG_CONFIG_PATH=$PWD/moved/weft${PKG_CONFIG_PATH#"$prefix"}
make --silent clean
make --silent
./pingpong
diff -r "$source/configs" moved/weft/share/weft/configs || fail "other configurations than the sources have"
cmp "$source/doc/wireshark/weft.lua" moved/weft/share/weft/wireshark/weft.lua || fail "no dissector, or another one"
for page in man1/weft.1 man3/libweft.3 man7/fi_weft.7; do
	[ -s "moved/weft/share/man/$page" ] || [ -s "moved/weft/man/$page" ] || fail "no $page"
done

# Units start what was installed, and systemd understands them.
mkdir units
for unit in moved/weft/lib/systemd/system/*; do
	grep '^ExecStart=' "$unit" | grep -v "^ExecStart=${weft#"$stage"} " && fail "$unit starts another program"
	sed "s#^ExecStart=[^ ]*#ExecStart=$PWD/moved/weft/bin/weft#" "$unit" >"units/${unit##*/}"
done
[ "$(find units -type f | wc -l)" = 4 ] || fail "not the four units"
# `weft top` and `weft metrics` look where the units' processes tell, and the unit of metrics sees /tmp, where those of
# batch jobs do.
tell=0
looked=$(sed -n 's/.*add_sockets(shot, "\([^%]*\)%s", "".*/\1/p' "$source/apps/top/top_snapshot.c")
for unit in units/*; do
	telling=$(sed -n 's/^Environment=XDG_RUNTIME_DIR=//p' "$unit" | sed 's/%i/instance/')
	[ -n "$telling" ] || continue
	tell=$((tell + 1))
	found=
	while read -r pattern; do
		# shellcheck disable=SC2053
		[[ $telling == $pattern ]] && found=1
	done <<<"$looked"
	[ -n "$found" ] || fail "weft top does not look into $telling of $unit"
done
[ "$tell" = 2 ] || fail "not the two units tell where weft top looks: $tell"
grep '^PrivateTmp' units/weft-metrics.service && fail "metrics would not see processes that tell in /tmp"
if command -v systemd-analyze >/dev/null; then
	SYSTEMD_UNIT_PATH=$PWD/units: systemd-analyze verify --man=no weft-host.service weft-host.socket weft-metrics.service \
		weft-switch@x.service >said 2>&1 || fail "systemd refuses a unit: $(cat said)"
	grep weft said && fail "systemd does not understand all of a unit" # it only warns of unknown keys
else
	echo "no systemd-analyze: units were not verified"
fi

# shellcheck disable=SC1091
source moved/weft/share/bash-completion/completions/weft

# completes EXPECTED WORD...: the last word, into these in the order of the alphabet.
completes() {
	local expected=$1 got
	shift
	COMP_WORDS=(moved/weft/bin/weft "$@") COMP_CWORD=$#
	_weft
	got=$(printf '%s\n' "${COMPREPLY[@]}" | sort | xargs)
	[ "$got" = "$expected" ] || fail "completion of $*: $got"
}
completes 'report reproduce' rep
completes swift sim --cc sw
completes swift sim --cc = sw
completes ops bench --lb = o
completes 'eqds+smartt eqds+smartt2 eqds+smartt3' sim --cc eqds+sm
completes eqds+newreno sim --cc = eqds+n
completes '' sim --cc eqds+au
completes "$(moved/weft/bin/weft sim --help | sed -n '/^switches. choice/,/^$/s/^  \([a-z_]*\) .*/\1/p' | sort | xargs)" sim --route =
completes prime reproduce pri
completes prime reproduce --list pri
completes '' reproduce --out pri
echo "installed, used and moved"
