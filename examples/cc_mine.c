/* SPDX-License-Identifier: BSD-3-Clause */
/* A congestion control of one's own as a plug-in: AIMD. The window grows by a packet per round trip and is cut once per
 * round trip in which a mark or a loss came.
 *
 *	cc -O2 -shared -fPIC cc_mine.c $(pkg-config --cflags weft) -o cc_mine.so
 *	weft sim --plugin ./cc_mine.so --cc mine --set mine_cut_pct=30 --matrix incast:8:1MiB */
#include <stddef.h>

#include <weft/spi/plugin.h>

struct mine_tune {
	uint32_t cut_pct;
};

struct mine {
	weft_ns cut_at; /* of the last cut */
	weft_ns brtt_ns;
};
_Static_assert(sizeof(struct mine) <= WEFT_CC_STATE_MAX, "fits the connection");

static struct mine *state(struct weft_cc *cc)
{
	return (struct mine *)cc->state;
}

/* Begins with a bandwidth-delay product. */
static void init(struct weft_cc *cc, weft_ns now)
{
	uint64_t bdp_bytes = cc->params->link_bps / 8000 * cc->params->brtt_ns / 1000000;

	*state(cc) = (struct mine){.cut_at = now, .brtt_ns = cc->params->brtt_ns};
	cc->pace = 0;
	cc->cwnd_bytes = bdp_bytes < cc->params->mtu_bytes ? cc->params->mtu_bytes
			 : bdp_bytes < 1 << 30             ? (uint32_t)bdp_bytes
							   : 1 << 30;
}

static void cut(struct weft_cc *cc, weft_ns now)
{
	const struct mine_tune *tune = cc->params->tune;
	struct mine *s = state(cc);

	if (now - s->cut_at < s->brtt_ns)
		return;
	s->cut_at = now;
	cc->cwnd_bytes -= (uint32_t)((uint64_t)cc->cwnd_bytes * tune->cut_pct / 100);
	if (cc->cwnd_bytes < cc->params->mtu_bytes)
		cc->cwnd_bytes = cc->params->mtu_bytes;
}

static void on_ack(struct weft_cc *cc, const struct weft_cc_ack *ev, weft_ns now)
{
	state(cc)->brtt_ns = ev->brtt_ns;
	if (ev->ce)
		cut(cc, now);
	else if (cc->cwnd_bytes < 1 << 30)
		cc->cwnd_bytes += (uint32_t)((uint64_t)cc->params->mtu_bytes * ev->bytes / cc->cwnd_bytes);
}

static void on_loss(struct weft_cc *cc, const struct weft_cc_loss *ev, weft_ns now)
{
	(void)ev;
	cut(cc, now);
}

static const struct weft_param tunes[] = {
	{"mine_cut_pct", "what a mark or a loss costs, percent of the window", 50, 1, 99,
	 offsetof(struct mine_tune, cut_pct), WEFT_PARAM_U32},
	{NULL, NULL, 0, 0, 0, 0, 0},
};

static const struct weft_cc_ops mine = {
	.name = "mine",
	.help = "AIMD: a packet more per round trip, a cut for marks and losses",
	.tunes = tunes,
	.tune_size = sizeof(struct mine_tune),
	.state_size = sizeof(struct mine),
	.init = init,
	.on_ack = on_ack,
	.on_loss = on_loss,
};

static const struct weft_cc_ops *const ccs[] = {&mine, NULL};

WEFT_PLUGIN = {.abi = WEFT_PLUGIN_ABI, .cc = ccs};
