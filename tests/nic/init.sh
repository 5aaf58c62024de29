#!/bin/busybox sh
# SPDX-License-Identifier: BSD-3-Clause
# PID 1 of a guest: the host's root, read-only, under a tmpfs becomes the root. Then guest.py (its path is on the kernel's
# command line) takes over. When it ends the kernel panics, and QEMU exits.
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in virtio_pci 9pnet_virtio 9p overlay; do modprobe "$module"; done
for word in $(cat /proc/cmdline); do
	case $word in
	weft.probe) echo "guest is up" >/dev/ttyS1; poweroff -f ;;
	weft.script=*) script=${word#*=} ;;
	esac
done
nine=trans=virtio,version=9p2000.L,msize=262144
mount -t 9p -o "ro,cache=loose,$nine" root /lower || exit 1
mount -t tmpfs -o size=50% rw /rw
mkdir /rw/upper /rw/work
mount -t overlay -o lowerdir=/lower,upperdir=/rw/upper,workdir=/rw/work root /root || exit 1
rm -rf /root/lib/modules
mkdir -p /root/lib/modules /root/proc /root/sys /root/dev /root/run /root/tmp
cp -a /lib/modules/* /root/lib/modules/
for folder in proc sys dev; do mount -o move /$folder /root/$folder; done
exec switch_root /root /usr/bin/python3 -u "$script"
