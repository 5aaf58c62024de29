#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# fabtests.sh [--net switch|memif|veth] BUILD FABTESTS [OPTION OF runfabtests.sh]...
# fabtests.sh [--net ...] BUILD FABTESTS -- TEST [ARGUMENT]...
# Runs libfabric's fabtests, installed below the directory FABTESTS, over two addresses: two hosts that are joined by
# `weft switch` with vhost-user ports (default), by a memif, or by a veth pair between two network namespaces. Without
# options it is the quick set without an exclude file; fi_ubertest combines what `-u FILE` says (configs/fabtests/). The
# second form runs one test and shows both sides' output.
# The outcome of all tests is written to BUILD/fabtests.log. Everything happens in namespaces of its own, because
# runfabtests.sh ends a test that hangs by killing every process with its name.
set -eu
if [ "${FABTESTS_INSIDE:-}" != yes ]; then
	[ "$(id -u)" = 0 ] && user= || user=--map-root-user
	FABTESTS_INSIDE=yes exec unshare $user --net --pid --mount --fork --mount-proc --kill-child "$0" "$@"
fi

net=switch
[ "$1" = --net ] && { net=$2; shift 2; }
build=$(realpath "$1") fabtests=$(realpath "$2")
shift 2
here=$(realpath "$(dirname "$0")/..")
server=10.99.0.1 client=10.99.1.1
# Not below $build: the path of a socket has at most 107 characters.
dir=$(mktemp -d /tmp/weft-fabtests.XXXXXX)
started=
cleanup() {
	for pid in $started; do kill "$pid" 2>/dev/null || true; done
	wait
	rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 1' INT TERM

# host ADDRESS NETNS_PID DEVICE: what a process on this host gets.
host() {
	printf 'FI_WEFT_ADDR=%s\nFI_WEFT_DEVICE=%s\n' "$1" "$3" >"$dir/${1%+*}.env"
	echo "$2" >"$dir/${1%+*}.netns"
}

local_addresses() {
	ip link set lo up
	ip address add $server/32 dev lo
	ip address add $client/32 dev lo
}

setup_switch() {
	local_addresses
	"$build/weft" switch --vhost "$dir/server:2" --vhost "$dir/client:3" >"$dir/switch.log" 2>&1 &
	started=$!
	# Some tests are several processes on one host.
	host $server+%n '' "net_virtio_user0,path=$dir/server%n"
	host $client+%n '' "net_virtio_user0,path=$dir/client%n"
}

setup_memif() {
	local_addresses
	host $server '' "net_memif0,role=server,id=0,socket=$dir/memif.sock,socket-abstract=no"
	host $client '' "net_memif0,role=client,id=0,socket=$dir/memif.sock,socket-abstract=no"
}

setup_veth() {
	unshare --net sleep infinity &
	started=$!
	while [ "$(readlink /proc/$started/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
	ip link add weft0 mtu 9000 type veth peer name weft1 mtu 9000 netns $started
	ip link set lo up
	ip link set weft0 up
	ip address add $server/16 dev weft0
	nsenter --net --target $started sh -c "ip link set lo up; ip link set weft1 up; ip address add $client/16 dev weft1"
	host $server '' "net_af_packet0,iface=weft0"
	host $client $started "net_af_packet0,iface=weft1"
}

# runfabtests.sh reaches its two hosts by ssh. This one runs the command here.
cat >"$dir/ssh" <<'END'
#!/bin/bash
while [ "${1#-}" != "$1" ]; do
	[ "$1" = -o ] && shift
	shift
done
host=$1
shift
set -a
. "$FABTESTS_DIR/$host.env"
netns=$(<"$FABTESTS_DIR/$host.netns")
# SIGINT as a real ssh leaves it: a background process of runfabtests.sh ignores it. The PSM library, which Debian's
# libfabric loads, would catch it and exit in its own way.
exec env --default-signal=INT IPATH_NO_BACKTRACE=1 ${netns:+nsenter --net --target $netns} bash -c "$*"
END
chmod +x "$dir/ssh"
export FABTESTS_DIR=$dir FI_PROVIDER_PATH=$build PATH=$dir:$PATH
"setup_$net"
cd "$dir"

# one TEST...: server and client with the output of both; unit tests have a server alone.
one() {
	local status=0
	timeout "${FABTESTS_TIMEOUT:-120}" ssh -n $server "$fabtests/bin/$* -p weft -s $server" 2>&1 | sed 's/^/server: /' &
	sleep 1
	timeout "${FABTESTS_TIMEOUT:-120}" ssh -n $client "$fabtests/bin/$* -p weft -s $client $server" 2>&1 |
		sed 's/^/client: /' || status=$?
	wait $! || status=$?
	echo "exit status $status"
	return $status
}

# tally LOG: a line for each test, and whether there are some and none failed. The results are lines of YAML; a name is followed by
# its time stamp, result and duration.
tally() {
	awk '/^- name:/ {name = $0; sub(/^- name: */, "", name); sub(/ *-p "weft"/, "", name)}
	     /^  result:/ {result = $2 " " $3; n[$2]++}
	     /^  time:/ {printf "%-62s %-14s %4s s\n", name, result, $2}
	     END {
		printf "# pass %d, notrun %d, fail %d\n", n["Pass"], n["Notrun"], n["Fail"]
		exit n["Fail"] > 0 || n["Pass"] == 0
	     }' "$1"
}

set -o pipefail
if [ "${1:-}" = -- ]; then
	shift
	one "$@"
	exit
fi
[ $# -gt 0 ] || set -- -t quick
log=$build/fabtests.log
: >empty.exclude
"$fabtests/bin/runfabtests.sh" -p "$fabtests/bin" -f empty.exclude -u "$here/configs/fabtests/weft.test" -vvv "$@" \
	weft $server $client >"$log" 2>&1 || true
tally "$log"
