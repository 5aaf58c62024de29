/* SPDX-License-Identifier: BSD-3-Clause */
#include "outputs.h"

#include <errno.h>
#include <stdlib.h>

#include "capture.h"
#include "name_match.h"
#include "series.h"

enum { NOT_CAPTURED = UINT32_MAX };

struct outputs {
	struct lab *lab;
	struct capture *capture; /* NULL: none */
	uint32_t *interfaces;    /* per port of the fabric, its number in the capture */
	struct series *series;   /* NULL: none */
};

static int on_pkt(void *arg, uint32_t port, enum weft_tap_event event, const struct weft_pkt *pkt, weft_ps now,
		  struct weft_err *err)
{
	struct outputs *o = arg;
	const char *comment = event == WEFT_TAP_DROPPED ? "dropped here" : NULL;
	capture_pkt(o->capture, o->interfaces[port], event == WEFT_TAP_DELIVERED ? CAPTURE_IN : CAPTURE_OUT, pkt,
		    now / 1000, comment);
	return capture_check(o->capture, err);
}

static int on_sample(void *arg, weft_ps now, bool *active, struct weft_err *err)
{
	const struct outputs *o = arg;
	return series_sample(o->series, now, active, err);
}

static void on_skip(void *arg, weft_ps until)
{
	const struct outputs *o = arg;
	series_skip(o->series, until);
}

static const struct lab_taps taps = {on_pkt, on_sample, on_skip};

/* Which ports are captured, before a file is written. Without patterns: the hosts' NICs. */
static int choose_ports(struct outputs *o, const char *patterns, struct weft_err *err)
{
	const struct weft_net *net = lab_net(o->lab);
	uint32_t ports = weft_net_port_count(net), chosen = 0;
	for (uint32_t id = 0; id < ports; id++) {
		struct weft_port_info info;
		weft_net_port_info(net, id, &info);
		bool wanted = patterns ? match_any(patterns, info.name) : info.dir == WEFT_PORT_NIC;
		o->interfaces[id] = wanted ? 0 : NOT_CAPTURED;
		chosen += wanted;
	}
	return chosen ? 0 : weft_err_set(err, -EINVAL, "pcap-port: no port is called '%.80s'", patterns);
}

/* The chosen ports' interfaces in the file. */
static void tap_ports(struct outputs *o)
{
	struct weft_net *net = lab_net(o->lab);
	for (uint32_t id = 0; id < weft_net_port_count(net); id++) {
		struct weft_port_info info;
		if (o->interfaces[id] == NOT_CAPTURED)
			continue;
		weft_net_port_info(net, id, &info);
		o->interfaces[id] = capture_port(o->capture, info.name, info.bps);
		weft_net_tap_port(net, id);
	}
}

static int open_capture(struct outputs *o, const struct outputs_conf *conf, struct weft_err *err)
{
	if (!conf->pcap && conf->pcap_ports)
		return weft_err_set(err, -EINVAL, "pcap-port: needs a file to write to, --pcap FILE");
	if (!conf->pcap)
		return 0;
	o->interfaces = calloc(weft_net_port_count(lab_net(o->lab)), sizeof *o->interfaces);
	if (!o->interfaces)
		return weft_err_set(err, -ENOMEM, "no memory");
	int rc = choose_ports(o, conf->pcap_ports, err);
	if (!rc)
		rc = capture_open(conf->pcap, &o->capture, err);
	if (!rc)
		tap_ports(o);
	return rc;
}

static int open_series(struct outputs *o, const struct outputs_conf *conf, struct weft_err *err)
{
	if (conf->series_ns && !conf->dir)
		return weft_err_set(err, -EINVAL, "series: needs a directory to write to, --out DIR");
	if (conf->series_ports && !conf->series_ns)
		return weft_err_set(err, -EINVAL, "series-ports: needs the time between two samples, --series TIME");
	return conf->dir ? series_open(o->lab, conf, &o->series, err) : 0;
}

int outputs_open(struct lab *lab, const struct outputs_conf *conf, struct outputs **out, struct weft_err *err)
{
	struct outputs *o = calloc(1, sizeof *o);
	*out = NULL;
	if (!o)
		return weft_err_set(err, -ENOMEM, "no memory");
	o->lab = lab;
	if (conf->pcap || conf->series_ns)
		lab_tap(lab, &taps, o, conf->series_ns); /* before ports are chosen */
	int rc = open_series(o, conf, err);
	if (!rc)
		rc = open_capture(o, conf, err);
	if (rc) {
		outputs_close(o, false, NULL);
		return rc;
	}
	*out = o;
	return 0;
}

int outputs_close(struct outputs *o, bool whole, struct weft_err *err)
{
	if (!o)
		return 0;
	lab_tap(o->lab, NULL, NULL, 0);
	int captured = capture_close(o->capture, err);
	int sampled = series_close(o->series, lab_now(o->lab), whole, captured ? NULL : err);
	free(o->interfaces);
	free(o);
	return captured ? captured : sampled;
}

int outputs_run(struct outputs *o, struct lab *lab, struct weft_err *err)
{
	int rc = lab_run(lab, err);
	int written = outputs_close(o, !rc || rc == -ETIMEDOUT, rc ? NULL : err);
	return rc ? rc : written;
}
