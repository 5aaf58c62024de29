/* SPDX-License-Identifier: BSD-3-Clause */
/* A flight recorder: an engine writes what happens to its packets into a buffer that its owner gives it, the newest
 * events over the oldest. The buffer may be memory that is shared with a file, so that it outlives the process; others
 * may read it while the engine writes. Its bytes are in the order of the host. */
#ifndef WEFT_RECORDER_H
#define WEFT_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#include "weft/addr.h"
#include "weft/decl.h"
#include "weft/time.h"

WEFT_BEGIN_DECLS

struct weft_engine;

enum {
	WEFT_RECORDER_HEAD_BYTES = 256,      /* what a buffer begins with; the position is part of it */
	WEFT_RECORDER_EVENTS_MIN = 64,       /* least number of events that a buffer keeps */
	WEFT_RECORDER_EVENTS_MAX = 16777216, /* largest */
	WEFT_RECORDER_NAME_BYTES = 48,       /* of names, with the 0 that ends them */
};

/* Where the provider keeps the buffer of each device, a file whose name is the prefix, the process's id, a dot and a
 * number. While the process lives it has a write lock on the file (fcntl). */
#define WEFT_RECORDER_DIR    "/dev/shm"
#define WEFT_RECORDER_PREFIX "weft-trace."

/* What happened, and what `detail` is. */
enum weft_event_kind {
	WEFT_EVENT_NONE,
	WEFT_EVENT_SENT,          /* data, for the first time */
	WEFT_EVENT_SENT_AGAIN,    /* the same, or a control packet with a PSN: how often it had been sent before */
	WEFT_EVENT_RECEIVED,      /* new data, after the event of its ACK; none where every packet has one at once */
	WEFT_EVENT_DUPLICATE,     /* data that had arrived before */
	WEFT_EVENT_TRIMMED,       /* data that lost its payload on the way arrived */
	WEFT_EVENT_ACK_SENT,      /* the PSN is that of the packet that it answers */
	WEFT_EVENT_ACK_RECEIVED,  /* likewise */
	WEFT_EVENT_ACK_MARKED,    /* received, with news of a congestion mark */
	WEFT_EVENT_NACK_SENT,     /* code, UE 1.0 sec. 3.5 */
	WEFT_EVENT_NACK_RECEIVED, /* code */
	WEFT_EVENT_LOST,          /* declared lost: enum weft_cc_loss_kind */
	WEFT_EVENT_OPENED,        /* a connection: 0: ours, 1: a peer's */
	WEFT_EVENT_CLOSED,        /* a connection of ours: 0, or the errno that its operations failed with */
	WEFT_EVENT_CONTROL,       /* a control packet was received: its type */
	WEFT_EVENT_KINDS,
};

struct weft_event {
	uint64_t time_ns; /* of the poll, by the engine's clock */
	uint8_t kind;     /* enum weft_event_kind */
	uint8_t detail;   /* see there */
	uint16_t conn;    /* our PDCID; 0: no connection */
	uint32_t psn;
	uint32_t cwnd_bytes;     /* congestion window then; 0 where we receive */
	uint32_t inflight_bytes; /* sent, neither acknowledged nor declared lost, low 32 bits; 0 where we receive and of
				  * ACKs received */
	uint32_t rtt_ns;         /* of ACKs received: round trip, low 32 bits; 0: not known */
	uint16_t ev;             /* entropy of the packet; of an ACK sent, that of the data that it answers */
	uint16_t bytes;          /* of data that is sent or lost: wire bytes; else 0 */
};

/* Whose buffer it is; the owner's, who may fill it in with weft_recorder_sign. */
struct weft_recorder_owner {
	uint32_t pid;
	uint32_t reserved;
	int64_t utc_ns;                         /* time of day (ns since 1970) minus the engine's clock */
	char program[WEFT_RECORDER_NAME_BYTES]; /* printable, ends with 0 */
	char device[WEFT_RECORDER_NAME_BYTES];  /* likewise */
};

/* What a buffer says of itself. */
struct weft_recording {
	struct weft_recorder_owner owner;
	struct weft_ip ip;    /* the engine's */
	uint64_t events;      /* so far */
	uint64_t lost_events; /* of these, those that were overwritten, or not whole when the buffer was copied */
	uint32_t capacity;    /* events kept */
};

/* Size of a buffer for so many events (rounded up to a power of two, within the bounds above), bytes. */
size_t weft_recorder_bytes(uint32_t events);

/* From now on the engine records into `buffer`, which is aligned to 64 bytes, erased, and stays the caller's; it must
 * outlive the engine, or the recording: NULL ends it. What does not fill a power of two of events is unused. -EINVAL
 * when it is too small or not aligned. Not from inside another call of the engine. */
int weft_engine_record(struct weft_engine *e, void *buffer, size_t bytes);

/* Says whose buffer it is, once an engine records into it. */
void weft_recorder_sign(void *buffer, const struct weft_recorder_owner *owner);

/* Calls `fn` (NULL: nobody) for each event of `copy`, the oldest first; `peer` is NULL when it is not known. `later`:
 * the first WEFT_RECORDER_HEAD_BYTES of the buffer, copied after the rest: what the engine may have overwritten while
 * it was copied is left out, and so is every event that is not whole. The same as `copy` when nobody wrote meanwhile.
 * Any bytes may be in `copy`: -EINVAL when it is no recording. */
int weft_recorder_read(const void *copy, size_t bytes, const void *later, struct weft_recording *out,
		       void (*fn)(void *arg, const struct weft_event *event, const struct weft_ip *peer), void *arg);

/* "sent", "received" ... ; NULL: there is no such kind. */
const char *weft_event_name(uint8_t kind);

WEFT_END_DECLS

#endif
