#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# purity.sh LIBRARY... - the core rooms keep no state outside their objects and ask the world nothing: a thousand engines
# share one process, in virtual time. Also: no include climbs out of its room.
set -u
world='clock_gettime|gettimeofday|time|rand|srand|random|srandom|rand_r|drand48|getrandom|getenv|rte_.*|open|read|write|socket'
output='v?f?printf|v?dprintf|puts|putchar|fputs|fputc|fwrite|fopen|perror'
heap='malloc|calloc|realloc|free|aligned_alloc|posix_memalign'
failed=0

fail() {
	echo "$1"
	failed=1
}

for lib in "$@"; do
	[ -s "$lib" ] || fail "$lib: no such library"
	grown=$(size -A "$lib" | awk '/:$|^[^ ]+ .*:$/ {next} $1 ~ /^\.(data|bss|tdata|tbss)(\.|$)/ && $1 !~ /^\.data\.rel\.ro/ && $2 > 0 {print $1, $2}')
	[ -z "$grown" ] || fail "$lib: writable globals: $grown"
	forbidden="$world|$output"
	case $lib in *weft_cc.a | *weft_lb.a) forbidden="$forbidden|$heap" ;; esac
	calls=$(nm -u "$lib" | awk '$1 == "U" {print $2}' | sort -u | grep -Ex "(__)?($forbidden)(_chk)?")
	[ -z "$calls" ] || fail "$lib: calls $(echo $calls)"
done

climbing=$(grep -rn --include='*.[ch]' '#include "\.\./' "$(dirname "$0")/.." --exclude-dir='build*')
[ -z "$climbing" ] || fail "$climbing"
[ $failed -eq 0 ] && echo "$# libraries are pure"
exit $failed
