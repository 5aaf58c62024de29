/* SPDX-License-Identifier: BSD-3-Clause */
#include "yamldoc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

uint32_t yamldoc_line(const yaml_node_t *node)
{
	return (uint32_t)node->start_mark.line + 1;
}

static int refuse_line(const struct yamldoc *y, size_t line, const char *reason)
{
	return weft_err_set(y->err, -EINVAL, "%s:%zu: %.200s", y->path, line + 1, reason);
}

int yamldoc_refuse(const struct yamldoc *y, const yaml_node_t *at, const char *key, const char *fmt, ...)
{
	char reason[200], line[256];
	va_list args;
	va_start(args, fmt);
	vsnprintf(reason, sizeof reason, fmt, args);
	va_end(args);
	snprintf(line, sizeof line, "%.50s%s%s", key ? key : "", key ? ": " : "", reason);
	return refuse_line(y, at->start_mark.line, line);
}

/* The first document, and that there is no second one. */
static int load(struct yamldoc *y, yaml_parser_t *parser)
{
	yaml_document_t second;
	if (!yaml_parser_load(parser, &y->doc))
		return refuse_line(y, parser->problem_mark.line, parser->problem ? parser->problem : "not YAML");
	y->root = yaml_document_get_root_node(&y->doc);
	if (!y->root)
		return 0;
	if (!yaml_parser_load(parser, &second)) {
		yaml_document_delete(&y->doc);
		return refuse_line(y, parser->problem_mark.line, parser->problem ? parser->problem : "not YAML");
	}
	const yaml_node_t *more = yaml_document_get_root_node(&second);
	int rc = more ? yamldoc_refuse(y, more, NULL, "a second document") : 0;
	yaml_document_delete(&second);
	if (rc)
		yaml_document_delete(&y->doc);
	return rc;
}

int yamldoc_open(struct yamldoc *y, const char *path, struct weft_err *err)
{
	yaml_parser_t parser;
	*y = (struct yamldoc){.path = path, .err = err};
	FILE *f = fopen(path, "r");
	if (!f)
		return weft_err_set(err, -errno, "%s: %s", path, strerror(errno));
	int rc = -ENOMEM;
	errno = 0;
	if (yaml_parser_initialize(&parser)) {
		yaml_parser_set_input_file(&parser, f);
		rc = load(y, &parser);
		if (rc && ferror(f))
			weft_err_set(err, rc, "%s: %s", path, strerror(errno ? errno : EIO));
		yaml_parser_delete(&parser);
	}
	fclose(f);
	return rc;
}

void yamldoc_close(struct yamldoc *y)
{
	yaml_document_delete(&y->doc);
}

int yamldoc_scalar(const struct yamldoc *y, const yaml_node_t *node, const char *key, const char **text)
{
	if (node->type != YAML_SCALAR_NODE)
		return yamldoc_refuse(y, node, key, "a single value is expected here");
	*text = (const char *)node->data.scalar.value;
	if (strlen(*text) != node->data.scalar.length)
		return yamldoc_refuse(y, node, key, "a zero byte");
	return 0;
}

static int check_twice(struct yamldoc *y, const yaml_node_t *map, const yaml_node_pair_t *pair, const char *name)
{
	for (const yaml_node_pair_t *p = map->data.mapping.pairs.start; p < pair; p++) {
		const yaml_node_t *earlier = yaml_document_get_node(&y->doc, p->key);
		if (!strcmp((const char *)earlier->data.scalar.value, name))
			return yamldoc_refuse(y, yaml_document_get_node(&y->doc, pair->key), name,
					      "given twice, first in line %u", yamldoc_line(earlier));
	}
	return 0;
}

int yamldoc_pairs(struct yamldoc *y, const yaml_node_t *node, const char *key,
		  int (*fn)(void *arg, const char *name, const yaml_node_t *value), void *arg)
{
	if (node->type != YAML_MAPPING_NODE)
		return yamldoc_refuse(y, node, key, "a mapping of names to values is expected here");
	for (const yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top; p++) {
		const yaml_node_t *left = yaml_document_get_node(&y->doc, p->key);
		const char *name;
		if (left->type != YAML_SCALAR_NODE)
			return yamldoc_refuse(y, left, key, "a name is expected here");
		int rc = yamldoc_scalar(y, left, key, &name);
		if (!rc)
			rc = check_twice(y, node, p, name);
		if (!rc)
			rc = fn(arg, name, yaml_document_get_node(&y->doc, p->value));
		if (rc)
			return rc;
	}
	return 0;
}

int yamldoc_items(struct yamldoc *y, const yaml_node_t *node, const char *key,
		  int (*fn)(void *arg, const yaml_node_t *item), void *arg)
{
	if (node->type != YAML_SEQUENCE_NODE)
		return yamldoc_refuse(y, node, key, "a list is expected here");
	for (const yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top; i++) {
		int rc = fn(arg, yaml_document_get_node(&y->doc, *i));
		if (rc)
			return rc;
	}
	return 0;
}
