/* SPDX-License-Identifier: BSD-3-Clause */
#include "capture.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"

/* Numbers of the pcapng format (draft-ietf-opsawg-pcapng). */
enum {
	BLOCK_SECTION = 0x0a0d0d0a,
	BLOCK_INTERFACE = 1,
	BLOCK_PACKET = 6,
	BYTE_ORDER_MAGIC = 0x1a2b3c4d,
	LINKTYPE_IPV4 = 228,
	OPT_END = 0,
	OPT_COMMENT = 1,
	OPT_SHB_APPLICATION = 4,
	OPT_IF_NAME = 2,
	OPT_IF_SPEED = 8,
	OPT_IF_TSRESOL = 9,
	OPT_PACKET_FLAGS = 2,
};

enum { SNAP_BYTES = 256, NAME_MAX_CHARS = 63, COMMENT_MAX_CHARS = 127, BLOCK_MAX = 512 };

struct capture {
	FILE *file;
	char *path; /* for messages */
	uint32_t ports;
};

/* A block under construction, in the order of bytes of this machine; the section header says which. */
struct block {
	uint8_t bytes[BLOCK_MAX];
	uint32_t used;
};

static void put(struct block *b, const void *data, uint32_t len)
{
	memcpy(b->bytes + b->used, data, len);
	b->used += len;
}

static void put32(struct block *b, uint32_t value)
{
	put(b, &value, sizeof value);
}

/* Two fields of 16 bits. */
static void put16(struct block *b, uint16_t first, uint16_t second)
{
	put(b, &first, sizeof first);
	put(b, &second, sizeof second);
}

static void pad(struct block *b)
{
	while (b->used % 4)
		b->bytes[b->used++] = 0;
}

static struct block begin(uint32_t type)
{
	struct block b = {.used = 0};
	put32(&b, type);
	put32(&b, 0);
	return b;
}

static void option(struct block *b, uint16_t code, const void *value, size_t len)
{
	put16(b, code, (uint16_t)len);
	put(b, value, (uint32_t)len);
	pad(b);
}

/* The length stands in front and behind, for readers that go backwards. */
static void end(struct capture *c, struct block *b)
{
	put16(b, OPT_END, 0);
	uint32_t len = b->used + 4;
	memcpy(b->bytes + 4, &len, sizeof len);
	put32(b, len);
	fwrite(b->bytes, b->used, 1, c->file);
}

static void write_section(struct capture *c)
{
	static const char application[] = "weft";
	struct block b = begin(BLOCK_SECTION);
	put32(&b, BYTE_ORDER_MAGIC);
	put16(&b, 1, 0);
	put32(&b, UINT32_MAX); /* the section's length, 64 bits: unknown */
	put32(&b, UINT32_MAX);
	option(&b, OPT_SHB_APPLICATION, application, strlen(application));
	end(c, &b);
}

int capture_open(const char *path, struct capture **out, struct weft_err *err)
{
	struct capture *c = calloc(1, sizeof *c);
	if (c)
		c->path = strdup(path);
	if (!c || !c->path) {
		free(c);
		return weft_err_set(err, -ENOMEM, "no memory");
	}
	c->file = file_create(path, err);
	if (!c->file) {
		capture_close(c, NULL);
		return -EIO;
	}
	write_section(c);
	*out = c;
	return 0;
}

uint32_t capture_port(struct capture *c, const char *name, uint64_t bps)
{
	static const uint8_t nanoseconds = 9;
	struct block b = begin(BLOCK_INTERFACE);
	put16(&b, LINKTYPE_IPV4, 0);
	put32(&b, SNAP_BYTES);
	option(&b, OPT_IF_NAME, name, strnlen(name, NAME_MAX_CHARS));
	if (bps)
		option(&b, OPT_IF_SPEED, &bps, sizeof bps);
	option(&b, OPT_IF_TSRESOL, &nanoseconds, sizeof nanoseconds);
	end(c, &b);
	return c->ports++;
}

/* The first SNAP_BYTES of the packet, as far as its bytes are there at all. */
static uint32_t put_snap(struct block *b, const struct weft_pkt *pkt)
{
	uint32_t head = pkt->head_len < SNAP_BYTES ? pkt->head_len : SNAP_BYTES;
	uint32_t rest = SNAP_BYTES - head < pkt->payload_len ? SNAP_BYTES - head : pkt->payload_len;
	put(b, pkt->head, head);
	if (!pkt->payload)
		rest = 0;
	else
		put(b, pkt->payload, rest);
	uint32_t trailer = htole32(pkt->trailer);
	bool whole = rest == pkt->payload_len && head == pkt->head_len;
	if (pkt->flags & WEFT_PKT_TRAILER && whole && head + rest + sizeof trailer <= SNAP_BYTES) {
		put(b, &trailer, sizeof trailer);
		rest += sizeof trailer;
	}
	pad(b);
	return head + rest;
}

void capture_pkt(struct capture *c, uint32_t port, enum capture_direction direction, const struct weft_pkt *pkt,
		 weft_ns now, const char *comment)
{
	enum { CAPTURED_AT = 20 };
	uint32_t flags = direction, trailer = pkt->flags & WEFT_PKT_TRAILER ? 4 : 0;
	struct block b = begin(BLOCK_PACKET);
	put32(&b, port);
	put32(&b, (uint32_t)(now >> 32));
	put32(&b, (uint32_t)now);
	put32(&b, 0);
	put32(&b, (uint32_t)pkt->head_len + pkt->payload_len + trailer);
	uint32_t captured = put_snap(&b, pkt);
	memcpy(b.bytes + CAPTURED_AT, &captured, sizeof captured);
	option(&b, OPT_PACKET_FLAGS, &flags, sizeof flags);
	if (comment)
		option(&b, OPT_COMMENT, comment, strnlen(comment, COMMENT_MAX_CHARS));
	end(c, &b);
}

int capture_check(const struct capture *c, struct weft_err *err)
{
	return file_check(c->file, c->path, err);
}

int capture_close(struct capture *c, struct weft_err *err)
{
	if (!c)
		return 0;
	int rc = c->file ? file_finish(c->file, c->path, err) : 0;
	free(c->path);
	free(c);
	return rc;
}
