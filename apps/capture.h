/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets into a pcap file: raw IP, nanoseconds, headers and the start of the payload. */
#ifndef WEFT_CAPTURE_H
#define WEFT_CAPTURE_H

#include "weft/err.h"
#include "weft/pkt.h"

struct capture;

/* -EIO with a message when the file can't be written, -ENOMEM. */
int capture_open(const char *path, struct capture **out, struct weft_err *err);
void capture_pkt(struct capture *c, const struct weft_pkt *pkt, weft_ns now);
/* NULL is fine. -EIO with a message when not everything could be written. */
int capture_close(struct capture *c, struct weft_err *err);

#endif
