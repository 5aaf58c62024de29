/* SPDX-License-Identifier: BSD-3-Clause */
#include "capture_file.h"

#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_HEADER_BYTES = 24, ETHERNET_BYTES = 14, IP4_ADDRESSES = 12, IP6_ADDRESSES = 8 };

static void decode(struct capture_packet *p)
{
	struct uet_link link = {.crc = true, .v6 = p->ip[0] >> 4 == 6};
	size_t at = link.v6 ? IP6_ADDRESSES : IP4_ADDRESSES, bytes = link.v6 ? 16 : 4;

	memcpy(link.remote, p->ip + at, bytes);
	memcpy(link.local, p->ip + at + bytes, bytes);
	p->from_first = p->ip[at + bytes - 1] == 1;
	p->uet = uet_unwrap(&link, p->ip, p->len, &p->frame);
}

static FILE *open_file(const char *name)
{
	static const char in_vectors[] = "vectors/";
	char path[512];
	bool vector = strncmp(name, in_vectors, strlen(in_vectors)) == 0;

	snprintf(path, sizeof path, "%s/%s", vector ? VECTOR_DIR : CAPTURE_DIR,
		 name + (vector ? strlen(in_vectors) : 0));
	FILE *file = fopen(path, "rb");
	if (!file)
		fail_msg("%s: cannot be opened", path);
	return file;
}

void capture_load(struct capture *c, const char *name)
{
	uint8_t header[FILE_HEADER_BYTES], frame[UET_PACKET_MAX];
	uint32_t record[4]; /* seconds, microseconds, captured bytes, original bytes */
	FILE *file = open_file(name);

	c->count = 0;
	assert_int_equal(fread(header, sizeof header, 1, file), 1);
	while (fread(record, sizeof record, 1, file) == 1) {
		assert_in_range(record[2], ETHERNET_BYTES + 1, sizeof frame);
		assert_int_equal(fread(frame, record[2], 1, file), 1);
		assert_true(c->count < CAPTURE_MAX);
		struct capture_packet *p = &c->packets[c->count++];
		*p = (struct capture_packet){.len = record[2] - ETHERNET_BYTES, .ip = malloc(record[2])};
		assert_non_null(p->ip);
		memcpy(p->ip, frame + ETHERNET_BYTES, p->len);
		decode(p);
	}
	fclose(file);
	assert_true(c->count > 0);
}

void capture_free(struct capture *c)
{
	while (c->count)
		free(c->packets[--c->count].ip);
}
