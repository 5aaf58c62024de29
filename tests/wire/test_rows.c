/* SPDX-License-Identifier: BSD-3-Clause */
/* Every row of the conformance matrix against an engine, in each encapsulation. */
#include "engine_io.h"

#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

static const struct link_kind {
	const char *name;
	bool v6;
	enum uet_encap encap;
	bool crc;
	bool taken; /* the engine has another connection with the row's first PDCID */
} kinds[] = {
	{"native IPv4", false, UET_NATIVE, false, false},         {"UDP IPv4", false, UET_UDP, false, false},
	{"native IPv6", true, UET_NATIVE, false, false},          {"UDP IPv6", true, UET_UDP, false, false},
	{"native IPv4, CRC", false, UET_NATIVE, true, false},     {"UDP IPv6, CRC", true, UET_UDP, true, false},
	{"PDCID of an earlier run", false, UET_UDP, false, true},
};

/* Leaves a connection open whose PDCID is that of the next one. */
static void take_pdcid(struct conform_peer *p)
{
	const uint32_t pdcid = p->pdcid;
	struct conform_pdc pdc;

	conform_open(p, &pdc, UET_RUD_REQ);
	struct uet_pkt pkt = conform_request(p, &pdc, UET_NO_OP, 0);
	assert_true(conform_ask(p, &pdc, &pkt));
	assert_int_not_equal(p->got.pkt.f[UET_TYPE], UET_NACK);
	p->pdcid = pdcid;
}

/* A row on an engine of its own. Returns 0 when it passes. */
static int run_row(const struct link_kind *kind, const struct conform_row *row, uint32_t *excused)
{
	struct engine_box *b = malloc(sizeof *b);
	struct conform_peer *p = malloc(sizeof *p);
	assert_true(b && p);
	box_open(b, kind->v6, kind->encap, kind->crc);
	box_peer(b, p);
	p->excused = *excused;
	if (kind->taken)
		take_pdcid(p);
	for (uint32_t i = 0; i < 4; i++)
		box_receive(b, i, i & 1);
	enum conform_result result = conform_run(p, row);
	*excused = p->excused;
	bool fine = result == CONFORM_PASS || (result == CONFORM_REFUSED && row->need >= CONFORM_HPC);
	if (!fine)
		print_message("%s, %s: %s%s%s\n", kind->name, row->name, conform_result_name(result),
			      *p->said ? ": " : "", p->said);
	box_close(b);
	free(b);
	free(p);
	return fine ? 0 : 1;
}

static void rows__pass(void **state)
{
	const struct link_kind *kind = *state;
	uint32_t excused = 0;
	int bad = 0;

	for (const struct conform_row *row = conform_rows; row->name; row++)
		bad += run_row(kind, row, &excused);
	assert_int_equal(bad, 0);
}

int main(void)
{
	enum { KINDS = sizeof kinds / sizeof kinds[0] };
	struct CMUnitTest tests[KINDS];

	for (uint32_t i = 0; i < KINDS; i++)
		tests[i] = (struct CMUnitTest){kinds[i].name, rows__pass, NULL, NULL, (void *)&kinds[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
