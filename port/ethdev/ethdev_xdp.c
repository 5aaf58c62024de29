/* SPDX-License-Identifier: BSD-3-Clause */
#include "ethdev_xdp.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <rte_ethdev.h>
#include <rte_ip.h>

#include "ethdev_dev.h"
#include "ethdev_frame.h"
#include "ethdev_priv.h"
#include "ethdev_xdp_program.h"
#include "weft/kernel_if.h"

enum {
	POOL_MIN = 4096, /* the driver's fill ring alone holds 2,048 */
	TAP_FRAME_BYTES = 1518,
	TAP_FRAMES = 32, /* at a time */
};

#define TAP_LOOK_NS WEFT_MS(1)

/* Bytes of the program that stand where the address belongs. */
static const char own_address[] = "weft own address";

static int refuse(struct weft_err *err, const char *why)
{
	return weft_err_set(err, -ENOTSUP, "%s", why);
}

/* Those that neither shape nor sort what we send. */
static bool qdisc_is_plain(const char *qdisc)
{
	static const char *const plain[] = {"noqueue", "mq", "pfifo_fast", "pfifo", "bfifo", "fq", "fq_codel"};
	for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
		if (strcmp(qdisc, plain[i]) == 0)
			return true;
	return false;
}

static int judge_kernel(const struct xdp_facts *f, struct weft_err *err)
{
	if (f->socket_error != 0)
		return weft_err_set(err, -ENOTSUP, "no AF_XDP socket: %s", strerror(f->socket_error));
	if (f->bpf_error != 0)
		return weft_err_set(err, -ENOTSUP, "no BPF program can be loaded: %s", strerror(f->bpf_error));
	if (f->is_taken)
		return refuse(err, "it has an XDP program already (ip link set dev INTERFACE xdp off removes it)");
	if (!qdisc_is_plain(f->qdisc))
		return weft_err_set(err, -ENOTSUP, "it would pass by the queueing discipline %s", f->qdisc);
	if (f->rx_queues > 1)
		return weft_err_set(err, -ENOTSUP, "it has %u receive queues (ethtool -L INTERFACE combined 1)",
				    f->rx_queues);
	return 0;
}

int xdp_judge(const struct xdp_facts *f, struct weft_err *err)
{
	if (!f->has_program)
		return refuse(err, "built without clang and libbpf's headers");
	if (f->is_switch)
		return refuse(err, "a switch takes packets to every address");
	if (f->has_vlan)
		return refuse(err, "the XDP program knows no VLAN tags");
	if (f->queues > 1)
		return refuse(err, "one queue can be had, more are wanted");
	if (f->pool_packets != 0 && f->pool_packets < POOL_MIN)
		return weft_err_set(err, -ENOTSUP, "its rings need a pool of %d packets, %u were asked for", POOL_MIN,
				    f->pool_packets);
	if (f->mtu_bytes > f->room_bytes)
		return weft_err_set(err, -ENOTSUP, "MTU %u, packet buffers of a page hold %u bytes", f->mtu_bytes,
				    f->room_bytes);
	return judge_kernel(f, err);
}

/* ---- what the kernel allows ---- */

static int socket_try(void)
{
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* libbpf is the driver's affair; this asks for no more than permission. */
static int bpf_try(void)
{
	union bpf_attr attr;
	memset(&attr, 0, sizeof attr);
	attr.map_type = BPF_MAP_TYPE_XSKMAP;
	attr.key_size = attr.value_size = sizeof(uint32_t);
	attr.max_entries = 1;
	long fd = syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof attr);
	if (fd < 0)
		return errno;
	close((int)fd);
	return 0;
}

int xdp_look(const struct weft_ethdev_conf *conf, struct weft_if *info, struct xdp_facts *facts, struct weft_err *err)
{
	int rc = weft_if_read(conf->dev, info, err);
	if (rc != 0)
		return rc;
	*facts = (struct xdp_facts){
		.has_program = sizeof xdp_program > sizeof own_address,
		.is_switch = weft_ip_is_any(&conf->ip),
		.has_vlan = conf->net.vlan != 0,
		.is_taken = info->has_xdp,
		.qdisc = info->qdisc,
		.socket_error = socket_try(),
		.bpf_error = bpf_try(),
		.queues = conf->queues != 0 ? conf->queues : (uint16_t)(conf->queue + 1),
		.rx_queues = info->rx_queues,
		.mtu_bytes = info->mtu_bytes,
		.room_bytes = ethdev_xdp_ip_bytes(),
		.pool_packets = conf->pool_pkts,
	};
	return 0;
}

int weft_ethdev_af_xdp(const char *iface, struct weft_err *err)
{
	const struct weft_ethdev_conf conf = {.dev = iface, .ip = weft_ip_v4(1)}; /* any address but none */
	struct xdp_facts facts;
	struct weft_if info;
	int rc = xdp_look(&conf, &info, &facts, err);
	return rc != 0 ? rc : xdp_judge(&facts, err);
}

/* ---- the program ---- */

int xdp_program_open(const struct weft_ip *ip, int *fd, struct weft_err *err)
{
	size_t bytes = sizeof xdp_program;
	const uint8_t *place = memmem(xdp_program, bytes, own_address, sizeof own_address - 1);
	if (place == NULL)
		return refuse(err, "built without clang and libbpf's headers");
	*fd = memfd_create("weft-xdp", MFD_CLOEXEC);
	bool done = *fd >= 0 && write(*fd, xdp_program, bytes) == (ssize_t)bytes &&
		    pwrite(*fd, ip->b, sizeof ip->b, place - xdp_program) == (ssize_t)sizeof ip->b;
	if (done)
		return 0;
	int rc = errno != 0 ? -errno : -EIO;
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
	return weft_err_set(err, rc, "no file in memory for the XDP program: %s", strerror(-rc));
}

void xdp_devargs(const char *iface, int program_fd, char *devargs, size_t size)
{
	snprintf(devargs, size, "net_af_xdp_%s,iface=%s,start_queue=0,queue_count=1,xdp_prog=/proc/self/fd/%d", iface,
		 iface, program_fd);
}

/* ---- ARP and neighbour discovery ---- */

static void tap_input(struct ethdev *d, const uint8_t *frame, size_t bytes)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(d->pool);
	if (m == NULL) {
		d->stats.rx_nombuf++;
		return;
	}
	char *to = rte_pktmbuf_append(m, (uint16_t)bytes);
	if (to == NULL) {
		frame_drop(d, m);
		return;
	}
	memcpy(to, frame, bytes);
	if (((const struct rte_ether_hdr *)frame)->ether_type == RTE_BE16(RTE_ETHER_TYPE_ARP))
		neigh_arp_input(d, m);
	else if (!neigh_nd_input(d, m))
		frame_drop(d, m);
}

void xdp_tap_poll(struct ethdev *d, weft_ns now)
{
	uint8_t frame[TAP_FRAME_BYTES];
	if (d->tap_fd < 0)
		return;
	for (int i = 0; i < TAP_FRAMES; i++) {
		ssize_t bytes = recv(d->tap_fd, frame, sizeof frame, MSG_DONTWAIT);
		if (bytes < (ssize_t)(RTE_ETHER_HDR_LEN + sizeof(struct rte_ipv4_hdr)))
			break;
		tap_input(d, frame, (size_t)bytes);
	}
	d->periodic_at = RTE_MIN(d->periodic_at, now + TAP_LOOK_NS);
}
