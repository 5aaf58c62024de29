/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of what views of an engine show (weft/view.h), for everybody who prints them. */
#include <stddef.h>

#include "weft/ep.h"
#include "weft/view.h"

const char *weft_op_kind_name(uint8_t kind)
{
	static const char *const names[] = {
		[WEFT_OP_SEND] = "send",
		[WEFT_OP_TSEND] = "tsend",
		[WEFT_OP_RECV] = "recv",
		[WEFT_OP_TRECV] = "trecv",
		[WEFT_OP_PEEK] = "peek",
		[WEFT_OP_CANCEL] = "cancel",
		[WEFT_OP_WRITE] = "write",
		[WEFT_OP_READ] = "read",
		[WEFT_OP_ATOMIC] = "atomic",
		[WEFT_OP_FETCH_ATOMIC] = "fetch_atomic",
		[WEFT_OP_DGRAM] = "dgram",
		[WEFT_OP_RELEASE] = "release",
		[WEFT_OP_REMOTE_WRITE] = "remote_write",
		[WEFT_OP_REMOTE_READ] = "remote_read",
	};
	return kind < sizeof names / sizeof *names ? names[kind] : NULL;
}

const char *weft_op_wait_name(uint8_t wait)
{
	static const char *const names[WEFT_WAITS] = {
		[WEFT_WAIT_PORT] = "port",       [WEFT_WAIT_TURN] = "turn",           [WEFT_WAIT_FENCE] = "fence",
		[WEFT_WAIT_CWND] = "cwnd",       [WEFT_WAIT_PACE] = "pace",           [WEFT_WAIT_WINDOW] = "window",
		[WEFT_WAIT_CREDIT] = "credit",   [WEFT_WAIT_RESOURCES] = "resources", [WEFT_WAIT_CLOSE] = "close",
		[WEFT_WAIT_ACK] = "ack",         [WEFT_WAIT_ADDRESS] = "address",     [WEFT_WAIT_ROUTE] = "route",
		[WEFT_WAIT_ANSWER] = "answer",   [WEFT_WAIT_RECEIVE] = "receive",     [WEFT_WAIT_FETCH] = "fetch",
		[WEFT_WAIT_MESSAGE] = "message", [WEFT_WAIT_DATA] = "data",           [WEFT_WAIT_MATCH] = "match",
	};
	return wait < WEFT_WAITS ? names[wait] : NULL;
}
