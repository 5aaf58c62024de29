/* SPDX-License-Identifier: BSD-3-Clause */
/* A YAML file of one document, with complaints that name file and line. */
#ifndef WEFT_YAMLDOC_H
#define WEFT_YAMLDOC_H

#include <stdint.h>
#include <yaml.h>

#include "weft/err.h"

struct yamldoc {
	const char *path; /* the caller's, outlives the document */
	yaml_document_t doc;
	yaml_node_t *root; /* NULL: nothing but comments */
	struct weft_err *err;
};

/* Reads the file. `err` takes this and all later complaints. An errno of opening it, -EINVAL, -ENOMEM; nothing to close
 * then. */
int yamldoc_open(struct yamldoc *y, const char *path, struct weft_err *err);
void yamldoc_close(struct yamldoc *y);

/* Line of a node, from 1. */
uint32_t yamldoc_line(const yaml_node_t *node);

/* Sets "path:line: reason" or, with a key, "path:line: key: reason". Returns -EINVAL. */
int yamldoc_refuse(const struct yamldoc *y, const yaml_node_t *at, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* The text of a scalar in *text, which lives as long as the document. -EINVAL: something else stands there. */
int yamldoc_scalar(const struct yamldoc *y, const yaml_node_t *node, const char *key, const char **text);

/* Calls fn for every pair until one call returns not 0, which is returned. -EINVAL: `node` is no mapping, a key no
 * scalar, or there twice. `key` names the mapping in complaints; NULL: the whole file. */
int yamldoc_pairs(struct yamldoc *y, const yaml_node_t *node, const char *key,
		  int (*fn)(void *arg, const char *name, const yaml_node_t *value), void *arg);

/* The same for the items of a sequence. */
int yamldoc_items(struct yamldoc *y, const yaml_node_t *node, const char *key,
		  int (*fn)(void *arg, const yaml_node_t *item), void *arg);

#endif
