/* SPDX-License-Identifier: BSD-3-Clause */
/* Doubly linked ring lists with the links inside the elements. */
#ifndef WEFT_LIST_H
#define WEFT_LIST_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next, *prev;
};

#define list_entry(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

/* Whether the neighbours of `l` point back: never otherwise. */
static inline bool list_linked(const struct list *l)
{
	return l->next->prev == l && l->prev->next == l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

/* Puts `n`, which is in no list, before `l`: at the end of the list whose head is `l`. */
static inline void list_add_tail(struct list *l, struct list *n)
{
	assert(n != l && list_linked(l));
	n->prev = l->prev;
	n->next = l;
	l->prev->next = n;
	l->prev = n;
}

/* Also leaves `n` as an empty list of its own, so removing twice is harmless. */
static inline void list_del(struct list *n)
{
	assert(list_linked(n));
	n->prev->next = n->next;
	n->next->prev = n->prev;
	list_init(n);
}

#define list_for_each(pos, head) for (struct list *pos = (head)->next; pos != (head); pos = pos->next)
#define list_for_each_safe(pos, head)                                                                                  \
	for (struct list *pos = (head)->next, *pos##_next = pos->next; pos != (head);                                  \
	     pos = pos##_next, pos##_next = pos->next)

#endif
