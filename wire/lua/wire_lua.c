/* SPDX-License-Identifier: BSD-3-Clause */
/* wire_lua - writes the part of the Wireshark dissector that follows from the list of fields: names of values, fields,
 * and for each group what of a header belongs to it. scripts/dissector.py puts it into its place. */
#include <stdio.h>

#include "wire_build.h"
#include "wire_field.h"

struct names {
	const char *lua;
	const char *(*of)(uint8_t value);
};

/* FORMS and CC_TYPES are the dissector's own. */
static const struct names names[] = {
	[WIRE_NAMES_TYPES] = {"TYPES", wire_pds_name},
	[WIRE_NAMES_FORMS] = {"NEXT", NULL},
	[WIRE_NAMES_CONTROLS] = {"CONTROLS", wire_ctl_name},
	[WIRE_NAMES_NACKS] = {"NACKS", wire_nack_name},
	[WIRE_NAMES_CC_TYPES] = {"CC_TYPES", NULL},
	[WIRE_NAMES_OPCODES] = {"OPCODES", wire_op_name},
	[WIRE_NAMES_RESPONSES] = {"RESPONSES", wire_rsp_name},
	[WIRE_NAMES_CODES] = {"CODES", wire_rc_name},
};
enum { NAMES = sizeof names / sizeof names[0] };

#define NOTHING(...)
#define GROUP_NAME(group) #group,
static const char *const groups[] = {WIRE_FIELDS(NOTHING, NOTHING, NOTHING, GROUP_NAME)};

static void print_names(const struct names *n)
{
	printf("local %s = {\n", n->lua);
	for (unsigned value = 0; value < 256; value++)
		if (strcmp(n->of((uint8_t)value), "unknown") != 0)
			printf("\t[%u] = \"%s\",\n", value, n->of((uint8_t)value));
	printf("}\n");
}

static bool is_first(const struct wire_field *f)
{
	for (const struct wire_field *other = wire_fields; other < f; other++)
		if (other->name && strcmp(other->name, f->name) == 0)
			return false;
	return true;
}

/* What kind of ProtoField, how it is shown, and which bits it has. */
static void print_field(const struct wire_field *f)
{
	uint64_t mask = f->bits > 64 ? 0 : WIRE_ONES(f->bits) << f->shift;
	bool whole = f->bits == 8 * f->bytes;

	if (f->show == WIRE_SHOW_BYTES) {
		printf("field(\"bytes\", \"%s\", \"%s\")\n", f->name, f->text);
		return;
	}
	if (f->show == WIRE_SHOW_BOOL) {
		printf("field(\"bool\", \"%s\", \"%s\", %u, nil, 0x%llx)\n", f->name, f->text, 8U * f->bytes,
		       (unsigned long long)mask);
		return;
	}
	printf("field(\"%s%u\", \"%s\", \"%s\", base.%s, %s, %s", f->show == WIRE_SHOW_SIGNED ? "int" : "uint",
	       8U * f->bytes, f->name, f->text, f->show == WIRE_SHOW_HEX ? "HEX" : "DEC",
	       f->names ? names[f->names].lua : "nil", whole ? "nil" : "");
	if (!whole)
		printf("0x%llx", (unsigned long long)mask);
	printf(")\n");
}

/* Flags with the number of their bit. */
static void print_entry(const struct wire_field *f)
{
	printf("{\"%s\", %u, %u", f->name, f->at, f->bytes);
	if (f->show == WIRE_SHOW_BOOL)
		printf(", %u", f->shift);
	printf("}%s", f[1].name ? ", " : "");
}

static void print_groups(void)
{
	const struct wire_field *f = wire_fields;

	printf("local G = {\n");
	for (uint32_t group = 0; group < WIRE_GROUPS; group++) {
		printf("\t%s = {", groups[group]);
		for (f++; f->name; f++)
			print_entry(f);
		printf("},\n");
	}
	printf("}\n");
}

static void print_sizes(const char *lua, uint32_t (*bytes)(uint8_t), unsigned end)
{
	printf("local %s = {", lua);
	for (unsigned i = 0, n = 0; i < end; i++)
		if (bytes((uint8_t)i))
			printf("%s[%u] = %u", n++ ? ", " : "", i, bytes((uint8_t)i));
	printf("}\n");
}

int main(void)
{
	for (unsigned i = 0; i < NAMES; i++)
		if (names[i].of)
			print_names(&names[i]);
	for (const struct wire_field *f = wire_fields; f->name || f->group != WIRE_GROUPS; f++)
		if (f->name && is_first(f))
			print_field(f);
	print_groups();
	print_sizes("PDS_BYTES", wire_pds_bytes, 32);
	print_sizes("SES_BYTES", wire_ses_bytes, 16);
	return 0;
}
