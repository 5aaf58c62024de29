/* SPDX-License-Identifier: BSD-3-Clause */
/* Header fields as a table (wire_fields.h), for those who show or compare all there are. */
#ifndef WEFT_WIRE_FIELD_H
#define WEFT_WIRE_FIELD_H

#include "wire_check.h"

/* Fields that packets carry together. */
#define WIRE_NOTHING(...)
#define WIRE_GROUP_ENUM(group) WIRE_GROUP_##group,
enum wire_group {
	WIRE_FIELDS_PDS(WIRE_NOTHING, WIRE_NOTHING, WIRE_NOTHING, WIRE_GROUP_ENUM)
		WIRE_FIELDS_SES(WIRE_NOTHING, WIRE_NOTHING, WIRE_NOTHING, WIRE_GROUP_ENUM) WIRE_GROUPS
};
#undef WIRE_GROUP_ENUM
#undef WIRE_NOTHING

enum wire_show { WIRE_SHOW_DEC, WIRE_SHOW_HEX, WIRE_SHOW_SIGNED, WIRE_SHOW_BOOL, WIRE_SHOW_BYTES };

/* Whose names the values have. */
enum wire_names {
	WIRE_NAMES_NONE,
	WIRE_NAMES_TYPES,     /* wire_pds_name */
	WIRE_NAMES_FORMS,     /* none, but those of the dissector */
	WIRE_NAMES_CONTROLS,  /* wire_ctl_name */
	WIRE_NAMES_NACKS,     /* wire_nack_name */
	WIRE_NAMES_CC_TYPES,  /* as FORMS */
	WIRE_NAMES_OPCODES,   /* wire_op_name */
	WIRE_NAMES_RESPONSES, /* wire_rsp_name */
	WIRE_NAMES_CODES,     /* wire_rc_name */
};

struct wire_field {
	const char *name; /* in filters and JSON */
	const char *text; /* what it is; "": an entry of the same name says it */
	uint8_t group;    /* enum wire_group */
	uint8_t at;       /* first byte that has bits of it, from the beginning of the header */
	uint8_t bytes;    /* how many bytes have */
	uint8_t shift;    /* of its lowest bit in these bytes, read as one number */
	uint8_t bits;     /* its width; more than 64: bytes that are no number */
	uint8_t show;     /* enum wire_show */
	uint8_t names;    /* enum wire_names */
};

/* By group; the last has no name. */
extern const struct wire_field wire_fields[];

/* Of the header that begins at `header`; SIGNED ones: extended to 64 bits. */
uint64_t wire_field_value(const struct wire_field *f, const uint8_t *header);

/* The groups a packet has, and where the header begins whose fields they are. */
struct wire_part {
	enum wire_group group;
	const uint8_t *header;
};
enum { WIRE_PARTS_MAX = 13 }; /* an ACK_CC with a standard SES header, an atomic and its operands */
uint32_t wire_parts(const struct wire_view *v, struct wire_part parts[WIRE_PARTS_MAX]);

#endif
