/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "lab_int.h"
#include "name_match.h"

enum { NOT_CAPTURED = UINT32_MAX };

static void tap(void *arg, uint32_t port, enum weft_tap_event event, const struct weft_pkt *pkt, weft_ps now)
{
	struct lab *lab = arg;
	const char *comment = event == WEFT_TAP_DROPPED ? "dropped here" : NULL;
	capture_pkt(lab->capture, lab->interfaces[port], event == WEFT_TAP_DELIVERED ? CAPTURE_IN : CAPTURE_OUT, pkt,
		    now / 1000, comment);
	if (!lab->broken.msg[0])
		lab->broken_rc = capture_check(lab->capture, &lab->broken);
}

/* The ports' interfaces in the file. Without patterns: the hosts' NICs. */
static int choose_ports(struct lab *lab, struct weft_err *err)
{
	const char *patterns = lab->o->pcap_ports;
	uint32_t ports = weft_net_port_count(lab->net), chosen = 0;
	for (uint32_t id = 0; id < ports; id++) {
		struct weft_port_info info;
		weft_net_port_info(lab->net, id, &info);
		lab->interfaces[id] = NOT_CAPTURED;
		if (patterns ? !match_any(patterns, info.name) : info.dir != WEFT_PORT_NIC)
			continue;
		lab->interfaces[id] = capture_port(lab->capture, info.name, info.bps);
		weft_net_tap_port(lab->net, id);
		chosen++;
	}
	return chosen ? 0 : weft_err_set(err, -EINVAL, "pcap-port: no port is called '%.80s'", patterns);
}

int lab_capture_start(struct lab *lab, struct weft_err *err)
{
	if (!lab->o->pcap && lab->o->pcap_ports)
		return weft_err_set(err, -EINVAL, "pcap-port: needs a file to write to, --pcap FILE");
	if (!lab->o->pcap)
		return 0;
	lab->interfaces = calloc(weft_net_port_count(lab->net), sizeof *lab->interfaces);
	if (!lab->interfaces)
		return weft_err_set(err, -ENOMEM, "no memory");
	int rc = capture_open(lab->o->pcap, &lab->capture, err);
	if (rc)
		return rc;
	weft_net_tap(lab->net, tap, lab);
	return choose_ports(lab, err);
}

int lab_capture_stop(struct lab *lab, struct weft_err *err)
{
	if (lab->capture)
		weft_net_tap(lab->net, NULL, NULL);
	int rc = capture_close(lab->capture, err);
	lab->capture = NULL;
	free(lab->interfaces);
	lab->interfaces = NULL;
	return rc;
}
