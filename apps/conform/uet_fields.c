/* SPDX-License-Identifier: BSD-3-Clause */
/* Bit positions of every field, as the specification counts them: bit 0 is the first on the wire. */
#include "uet.h"

#include <string.h>

/* Layouts a field is part of: PDS by type, SES by next header. */
#define PDS(type) (1u << (type))
#define SES(next) (1u << (16 + (next)))

enum {
	REQUESTS = PDS(2) | PDS(3) | PDS(13) | PDS(14),
	ACKS = PDS(7) | PDS(8) | PDS(9),
	ACKS_CC = PDS(8) | PDS(9),
	NACKS = PDS(10) | PDS(12),
	CONTROL = PDS(11),
	RUDI = PDS(4) | PDS(5),
	ALL_PDS = REQUESTS | ACKS | NACKS | CONTROL | RUDI | PDS(6),
	OPERATIONS = SES(1) | SES(2) | SES(3),
	RESPONSES = SES(4) | SES(5) | SES(6),
};

static const struct row {
	uint32_t layouts;
	uint16_t field, bit, bits;
} rows[] = {
	{ALL_PDS, UET_TYPE, 0, 5},
	{ALL_PDS, UET_NEXT, 5, 4},
	{ALL_PDS, UET_FLAGS, 9, 7},
	{REQUESTS, UET_CLEAR_OFFSET, 16, 16},
	{REQUESTS | NACKS | CONTROL | RUDI, UET_PSN, 32, 32},
	{ACKS, UET_ACK_OFFSET, 16, 16},
	{ACKS, UET_CACK, 32, 32},
	{REQUESTS | ACKS | NACKS | CONTROL, UET_SPDCID, 64, 16},
	{REQUESTS | ACKS | NACKS | CONTROL, UET_DPDCID, 80, 16},
	{NACKS, UET_NACK_CODE, 16, 8},
	{NACKS, UET_NACK_VENDOR, 24, 8},
	{NACKS, UET_NACK_PAYLOAD, 96, 32},
	{CONTROL, UET_OPAQUE, 16, 16},
	{CONTROL, UET_CP_PAYLOAD, 96, 32},
	{ACKS_CC, UET_CC_TYPE, 96, 4},
	{ACKS_CC, UET_CC_FLAGS, 100, 4},
	{ACKS_CC, UET_MPR, 104, 8},
	{ACKS_CC, UET_SACK_OFFSET, 112, 16},
	{ACKS_CC, UET_SACK, 128, 64},
	{ACKS_CC, UET_CC_STATE, 192, 64},
	{PDS(13) | PDS(14), UET_CCC_ID, 96, 8},
	{PDS(13) | PDS(14), UET_CREDIT, 104, 24},
	{OPERATIONS, UET_OPCODE, 2, 6},
	{OPERATIONS | RESPONSES, UET_VERSION, 8, 2},
	{OPERATIONS, UET_SES_FLAGS, 10, 6},
	{SES(3) | SES(4) | SES(5), UET_MESSAGE, 16, 16},
	{SES(1) | SES(2) | SES(6), UET_SHORT_LENGTH, 18, 14},
	{OPERATIONS | SES(4), UET_GENERATION, 32, 8},
	{OPERATIONS | RESPONSES, UET_JOB, 40, 24},
	{OPERATIONS, UET_PID, 68, 12},
	{OPERATIONS, UET_INDEX, 84, 12},
	{OPERATIONS, UET_BUFFER_OFFSET, 96, 64},
	{SES(2) | SES(3), UET_INITIATOR, 160, 32},
	{SES(2) | SES(3), UET_MATCH, 192, 64},
	{SES(3), UET_HEADER_DATA, 256, 64},
	{SES(3), UET_PAYLOAD_LENGTH, 274, 14},
	{SES(3), UET_MESSAGE_OFFSET, 288, 32},
	{SES(3), UET_REQUEST_LENGTH, 320, 32},
	{RESPONSES, UET_LIST, 0, 2},
	{RESPONSES, UET_RSP_OPCODE, 2, 6},
	{RESPONSES, UET_RETURN_CODE, 10, 6},
	{SES(4), UET_MODIFIED_LENGTH, 64, 32},
	{SES(5), UET_READ_MESSAGE, 64, 16},
	{SES(5), UET_PAYLOAD_LENGTH, 82, 14},
	{SES(5), UET_MODIFIED_LENGTH, 96, 32},
	{SES(5), UET_MESSAGE_OFFSET, 128, 32},
	{SES(6), UET_ORIGINAL_PSN, 64, 32},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static const char *const names[UET_FIELDS] = {
	[UET_TYPE] = "type",
	[UET_NEXT] = "next_hdr",
	[UET_FLAGS] = "flags",
	[UET_CLEAR_OFFSET] = "clear_psn_offset",
	[UET_PSN] = "psn",
	[UET_ACK_OFFSET] = "ack_psn_offset",
	[UET_CACK] = "cack_psn",
	[UET_SPDCID] = "spdcid",
	[UET_DPDCID] = "dpdcid",
	[UET_NACK_CODE] = "nack_code",
	[UET_NACK_VENDOR] = "vendor_code",
	[UET_NACK_PAYLOAD] = "nack payload",
	[UET_OPAQUE] = "probe_opaque",
	[UET_CP_PAYLOAD] = "control payload",
	[UET_CC_TYPE] = "cc_type",
	[UET_CC_FLAGS] = "cc_flags",
	[UET_MPR] = "mpr",
	[UET_SACK_OFFSET] = "sack_psn_offset",
	[UET_SACK] = "sack_bitmap",
	[UET_CC_STATE] = "ack_cc_state",
	[UET_CCC_ID] = "ccc_id",
	[UET_CREDIT] = "credit_target",
	[UET_OPCODE] = "opcode",
	[UET_VERSION] = "version",
	[UET_SES_FLAGS] = "SES flags",
	[UET_MESSAGE] = "message_id",
	[UET_SHORT_LENGTH] = "length of a short header",
	[UET_GENERATION] = "ri_generation",
	[UET_JOB] = "job_id",
	[UET_PID] = "pid_on_fep",
	[UET_INDEX] = "resource_index",
	[UET_BUFFER_OFFSET] = "buffer_offset",
	[UET_INITIATOR] = "initiator",
	[UET_MATCH] = "match bits or key",
	[UET_HEADER_DATA] = "header_data",
	[UET_PAYLOAD_LENGTH] = "payload_length",
	[UET_MESSAGE_OFFSET] = "message_offset",
	[UET_REQUEST_LENGTH] = "request_length",
	[UET_LIST] = "list",
	[UET_RSP_OPCODE] = "response opcode",
	[UET_RETURN_CODE] = "return_code",
	[UET_MODIFIED_LENGTH] = "modified_length",
	[UET_READ_MESSAGE] = "read_request_message_id",
	[UET_ORIGINAL_PSN] = "original_request_psn",
};

static const uint8_t pds_bytes[32] = {[2] = 12, [3] = 12,  [4] = 8,   [5] = 8,   [6] = 4,   [7] = 12, [8] = 32,
				      [9] = 40, [10] = 16, [11] = 16, [12] = 32, [13] = 16, [14] = 16};
static const uint8_t ses_bytes[16] = {[1] = 20, [2] = 32, [3] = 44, [4] = 12, [5] = 20, [6] = 12};

const char *uet_field_name(enum uet_field field)
{
	return field < UET_FIELDS ? names[field] : "nothing";
}

static size_t pds_size(const struct uet_pkt *pkt)
{
	return pds_bytes[pkt->f[UET_TYPE] & 31];
}

static size_t ses_size(const struct uet_pkt *pkt)
{
	return pkt->f[UET_TYPE] == UET_CP ? 0 : ses_bytes[pkt->f[UET_NEXT] & 15];
}

size_t uet_header_bytes(const struct uet_pkt *pkt)
{
	bool unknown = pkt->f[UET_TYPE] != UET_CP && pkt->f[UET_NEXT] > UET_RSP_SMALL;
	return pds_size(pkt) == 0 || unknown ? 0 : pds_size(pkt) + ses_size(pkt);
}

static void put_bits(uint8_t *out, uint32_t bit, uint32_t bits, uint64_t value)
{
	for (uint32_t i = 0; i < bits; i++)
		out[(bit + i) / 8] |= (uint8_t)((value >> (bits - 1 - i) & 1) << (7 - (bit + i) % 8));
}

static uint64_t get_bits(const uint8_t *in, uint32_t bit, uint32_t bits)
{
	uint64_t value = 0;
	for (uint32_t i = 0; i < bits; i++)
		value = value << 1 | (in[(bit + i) / 8] >> (7 - (bit + i) % 8) & 1);
	return value;
}

/* Where the header that has this field begins, in bits; -1: the packet has no such header. */
static int header_bit(const struct row *row, const struct uet_pkt *pkt)
{
	if (row->layouts & PDS(pkt->f[UET_TYPE] & 15))
		return 0;
	if (ses_size(pkt) && row->layouts & SES(pkt->f[UET_NEXT]))
		return (int)pds_size(pkt) * 8;
	return -1;
}

size_t uet_write(const struct uet_pkt *pkt, uint8_t *out)
{
	size_t bytes = uet_header_bytes(pkt);

	memset(out, 0, bytes);
	for (const struct row *row = rows; bytes && row < rows + ROWS; row++) {
		int begin = header_bit(row, pkt);
		if (begin >= 0)
			put_bits(out, (uint32_t)begin + row->bit, row->bits, pkt->f[row->field]);
	}
	if (bytes && pkt->payload_bytes)
		memcpy(out + bytes, pkt->payload, pkt->payload_bytes);
	return bytes ? bytes + pkt->payload_bytes : 0;
}

bool uet_read(const uint8_t *bytes, size_t len, struct uet_pkt *pkt)
{
	*pkt = (struct uet_pkt){.payload = NULL};
	if (len < 4)
		return false;
	pkt->f[UET_TYPE] = get_bits(bytes, 0, 5);
	pkt->f[UET_NEXT] = get_bits(bytes, 5, 4);
	size_t headers = uet_header_bytes(pkt);
	if (!headers || len < headers)
		return false;
	for (const struct row *row = rows; row < rows + ROWS; row++) {
		int begin = header_bit(row, pkt);
		if (begin >= 0)
			pkt->f[row->field] = get_bits(bytes, (uint32_t)begin + row->bit, row->bits);
	}
	pkt->payload = bytes + headers;
	pkt->payload_bytes = (uint32_t)(len - headers);
	return true;
}

bool uet_reserved_clear(const struct uet_pkt *pkt, const uint8_t *bytes)
{
	uint8_t again[UET_HEADERS_MAX];
	struct uet_pkt headers = *pkt;

	headers.payload_bytes = 0;
	size_t n = uet_write(&headers, again);
	/* The vendor's part of the longest forms has no fields here. */
	size_t known = pkt->f[UET_TYPE] == UET_ACK_CCX ? 32 : pkt->f[UET_TYPE] == UET_NACK_CCX ? 16 : n;
	return memcmp(again, bytes, known) == 0;
}

enum uet_field uet_difference(const struct uet_pkt *a, const struct uet_pkt *b, uint64_t ignored)
{
	for (uint32_t i = 0; i < UET_FIELDS; i++)
		if (!(ignored >> i & 1) && a->f[i] != b->f[i])
			return (enum uet_field)i;
	return UET_FIELDS;
}

int32_t uet_signed(const struct uet_pkt *pkt, enum uet_field field)
{
	return (int16_t)(uint16_t)pkt->f[field];
}
