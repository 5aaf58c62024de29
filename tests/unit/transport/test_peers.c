/* SPDX-License-Identifier: BSD-3-Clause */
#include "cmocka_all.h"

#include <errno.h>

#include "inside.h"

static void add__same_address_same_id(void **state)
{
	struct duo d;
	open_default(&d);
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 1000; i++) {
			struct weft_addr addr = {weft_ip_v4(0x0a020000 + i / 4), (uint16_t)(1 + i % 4)};
			uint32_t id;
			assert_int_equal(weft_peer_add(d.e[0], &addr, &id), 0);
			assert_int_equal(id, 1 + i); /* 0 is the other side */
			assert_memory_equal(&weft_peer_addr(d.e[0], id)->ip, &addr.ip, sizeof addr.ip);
			assert_int_equal(weft_peer_addr(d.e[0], id)->port, addr.port);
		}
	assert_int_equal(d.e[0]->pds.remotes.count, 251);
	assert_null(weft_peer_addr(d.e[0], 1001));
	assert_null(weft_peer_addr(d.e[0], WEFT_PEER_ANY));
	duo_close(&d);
}

static void add__unknown_senders_get_ids(void **state)
{
	static const uint8_t payload[4];
	struct duo d;
	uint8_t in[4];
	open_default(&d);
	struct plain_pkt w = duo_syn(1, 4);
	w.ses.initiator = 0x4321;
	duo_inject_pkt(&d, 1, &w, payload);
	duo_recv(&d, 1, in, 4, 7, 0, in);
	duo_poll(&d, 1);
	uint32_t id = duo_expect(&d, 1, in, 0).peer;
	assert_int_equal(id, 1);
	assert_int_equal(weft_peer_addr(d.e[1], id)->port, 0x4321);
	assert_true(weft_ip_eq(&weft_peer_addr(d.e[1], id)->ip, &weft_peer_addr(d.e[1], d.peer[1])->ip));
	duo_close(&d);
}

static void add__without_memory(void **state)
{
	struct duo d;
	open_default(&d);
	for (uint32_t i = 0; i < 200; i++) {
		struct weft_addr addr = {weft_ip_v4(0x0a030000 + i), 1};
		uint32_t id;
		d.mem[0].fail_at = d.mem[0].calls + 1 + i % 4;
		while (weft_peer_add(d.e[0], &addr, &id))
			assert_int_equal(weft_peer_add(d.e[0], &addr, &id) | -ENOMEM, -ENOMEM);
		assert_int_equal(id, 1 + i);
	}
	duo_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(add__same_address_same_id),
		cmocka_unit_test(add__unknown_senders_get_ids),
		cmocka_unit_test(add__without_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
