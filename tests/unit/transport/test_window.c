/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets that are numbered beyond the target's PSN window: they leave as soon as it has moved, though no ACK tells it.
 */
#include "cmocka_all.h"

#include <stdlib.h>

#include "inside.h"
#include "rma_duo.h"

enum { WINDOW = 128, BYTES = 2 << 20, ETHERNET = 1500 };

static void open_window(struct duo *d, uint32_t window_pkts, uint32_t payload_bytes, bool discovery)
{
	struct duo_conf conf;
	duo_conf_init(&conf);
	conf.tune.window_pkts = window_pkts;
	conf.tune.payload_bytes = payload_bytes;
	conf.tune.pmtu_discovery = discovery;
	conf.ring_entries = conf.cq_entries = 4 * WINDOW;
	duo_open(d, &conf);
}

static void submit(struct duo *d, uint32_t peer, uint8_t *byte)
{
	const struct weft_op op = {.kind = WEFT_OP_TSEND, .peer = peer, .buf = byte, .len = 1, .context = byte};
	assert_int_equal(weft_submit(d->ep[0], &op), 0);
}

static void take_all(struct duo *d, int side, unsigned n)
{
	struct weft_cqe cqe;
	for (; n; n--)
		assert_true(duo_cqe(d, side, &cqe));
	assert_false(duo_cqe(d, side, &cqe));
}

/* A burst that ends where the window does. Its first message is refused, so that CACK is behind until the refusal is
 * cleared, and the close is the next to be numbered. */
static void close__behind_a_full_window(void **state)
{
	for (unsigned n = WINDOW - 2; n <= WINDOW + 2; n++) {
		struct duo d;
		static uint8_t byte;
		uint32_t stranger;
		open_window(&d, WINDOW, 4096, false);
		struct weft_addr nobody = *weft_peer_addr(d.e[0], d.peer[0]);
		nobody.port = 999;
		assert_int_equal(weft_peer_add(d.e[0], &nobody, &stranger), 0);
		for (unsigned i = 1; i < n; i++)
			duo_recv(&d, 1, &byte, 1, 0, 0, &byte);
		submit(&d, stranger, &byte);
		for (unsigned i = 1; i < n; i++)
			submit(&d, d.peer[0], &byte);
		d.due[0] = d.due[1] = d.now;
		duo_run(&d, d.now + WEFT_S(2));
		take_all(&d, 0, n);
		take_all(&d, 1, n - 1);
		assert_int_equal(duo_stats(&d, 0)->pdc_closed, 1);
		duo_transfer(&d, 0, 10);
		assert_int_equal(duo_stats(&d, 0)->pdc_failed, 0);
		duo_close(&d);
	}
}

/* A path that a single PSN takes carries no large packets. */
struct hole {
	const struct duo *d;
	weft_ns from_ns;
	uint32_t psn;
	bool found;
};

static enum duo_fate hole_of_one(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	struct hole *h = arg;
	bool large = (uint32_t)w->header_bytes + w->payload_bytes > ETHERNET;
	if (from || !large || h->d->now < h->from_ns)
		return DUO_PASS;
	if (is_data(w) && !h->found) {
		h->found = true;
		h->psn = w->pds.psn;
	}
	return !is_data(w) || w->pds.psn == h->psn ? DUO_DROP : DUO_PASS;
}

/* The rest of a full window arrived, and the pieces of what did not are numbered beyond it. */
static void pieces__behind_a_full_window(void **state)
{
	struct duo d;
	uint8_t *out = duo_pattern(BYTES, 3), *in = calloc(1, BYTES);
	open_window(&d, WINDOW, 8192, true);
	duo_transfer(&d, 0, 100000);
	struct hole hole = {.d = &d, .from_ns = d.now + WEFT_US(20)};
	d.fate = hole_of_one;
	d.fate_arg = &hole;
	duo_recv(&d, 1, in, BYTES, 7, 0, in);
	duo_send(&d, 0, out, BYTES, 7, out);
	duo_run(&d, d.now + WEFT_MS(500));
	assert_true(hole.found);
	assert_int_equal(duo_stats(&d, 0)->pmtu_holes, 1);
	duo_expect(&d, 0, out, 0);
	duo_expect(&d, 1, in, 0);
	assert_memory_equal(in, out, BYTES);
	duo_close(&d);
	free(out);
	free(in);
}

/* Every packet of a window has to find room when it is numbered again in pieces. */
static void window__has_room_for_pieces(void **state)
{
	static const struct {
		uint32_t window_pkts, payload_bytes, pkts;
		bool discovery;
	} cases[] = {{8192, 8192, 4095, true},
		     {8192, 4096, 8191, true},
		     {4096, 4096, 4096, true},
		     {8192, 8192, 8192, false},
		     {32640, 1024, 32640, true}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct duo d;
		open_window(&d, cases[i].window_pkts, cases[i].payload_bytes, cases[i].discovery);
		duo_transfer(&d, 0, 10);
		assert_int_equal(first_tx(d.e[0])->window_pkts, cases[i].pkts);
		duo_close(&d);
	}
}

static enum duo_fate silent(void *arg, int from, const struct plain_pkt *w, uint64_t nth)
{
	return from == 0 && *(const bool *)arg ? DUO_DROP : DUO_PASS;
}

/* An initiator dies within a message, while its READ is answered: both directions end, and that is one connection. */
static void silence__is_one_failure(void **state)
{
	struct rma_duo r;
	struct duo_conf conf;
	bool dead = false;
	uint8_t *out = duo_pattern(BYTES, 3), *in = calloc(1, BYTES), *was = calloc(1, BYTES);
	duo_conf_init(&conf);
	conf.tune.peer_timeout_ns = WEFT_MS(200);
	rma_open(&r, &conf, BYTES, WEFT_MR_READ);
	r.d.fate = silent;
	r.d.fate_arg = &dead;
	const struct weft_op read = {.kind = WEFT_OP_READ, .buf = was, .len = BYTES, .rkey = RMA_KEY, .context = was};
	duo_recv(&r.d, 1, in, BYTES, 7, 0, in);
	rma_submit(&r.d, 0, &read);
	duo_send(&r.d, 0, out, BYTES, 7, out);
	duo_run(&r.d, r.d.now + WEFT_US(60));
	dead = true;
	duo_run(&r.d, r.d.now + WEFT_S(1));
	assert_int_equal(duo_stats(&r.d, 1)->pdc_accepted, 1);
	assert_int_equal(duo_stats(&r.d, 1)->pdc_failed, 1);
	rma_close(&r);
	free(out);
	free(in);
	free(was);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(close__behind_a_full_window),
		cmocka_unit_test(pieces__behind_a_full_window),
		cmocka_unit_test(window__has_room_for_pieces),
		cmocka_unit_test(silence__is_one_failure),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
