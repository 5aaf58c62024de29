/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets into a pcapng file: IPv4 without frames, nanoseconds, an interface per port, headers and the start of the
 * payload. */
#ifndef WEFT_CAPTURE_H
#define WEFT_CAPTURE_H

#include "weft/err.h"
#include "weft/spi/pkt.h"

struct capture;

/* As in the flags of a packet block. */
enum capture_direction { CAPTURE_IN = 1, CAPTURE_OUT = 2 };

/* -EIO with a message when the file can't be written, -ENOMEM. */
int capture_open(const char *path, struct capture **out, struct weft_err *err);

/* Adds an interface and returns its number, counting from 0. `name` up to 63 characters; `bps` is its rate in bits per
 * second, 0: not told. Errors show in capture_close. */
uint32_t capture_port(struct capture *c, const char *name, uint64_t bps);

/* A packet that enters or leaves `port`, a number from capture_port. Payload that travels as a length only is recorded
 * as cut off. `comment` up to 127 characters, NULL: none. Errors show in capture_check and capture_close. */
void capture_pkt(struct capture *c, uint32_t port, enum capture_direction direction, const struct weft_pkt *pkt,
		 weft_ns now, const char *comment);

/* -EIO with a message when a packet could not be written. What is still buffered shows later. */
int capture_check(const struct capture *c, struct weft_err *err);

/* NULL is fine. -EIO with a message when not everything could be written. */
int capture_close(struct capture *c, struct weft_err *err);

#endif
