/* SPDX-License-Identifier: BSD-3-Clause */
#include "choices.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void choices_first(struct choices *c, uint32_t unusual_max)
{
	*c = (struct choices){.unusual_max = unusual_max};
}

void choices_again(struct choices *c)
{
	c->count = c->unusual = 0;
}

static uint32_t unusual_before(const struct choices *c, uint32_t at)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < at; i++)
		n += c->made[i] != 0;
	return n;
}

/* The last choice that can be another one. */
bool choices_next(struct choices *c)
{
	for (uint32_t i = c->count; i-- > 0;) {
		if (c->made[i] + 1 >= c->of[i] || unusual_before(c, i) >= c->unusual_max)
			continue;
		c->made[i]++;
		c->fixed = i + 1;
		choices_again(c);
		return true;
	}
	return false;
}

unsigned choose(struct choices *c, unsigned n)
{
	assert(n > 0 && n < 256);
	if (c->count == CHOICES_MAX)
		return 0;
	uint32_t at = c->count++;
	if (at >= c->fixed)
		c->made[at] = 0;
	c->of[at] = (uint8_t)n;
	assert(c->made[at] < n);
	c->unusual += c->made[at] != 0;
	return c->made[at];
}

void choices_print(const struct choices *c)
{
	for (uint32_t i = 0; i < c->fixed; i++)
		if (c->made[i])
			printf(" %u=%u", i, c->made[i]);
}

bool choices_read(struct choices *c, char *text)
{
	char *end;
	unsigned long at = strtoul(text, &end, 10), what = *end == '=' ? strtoul(end + 1, &end, 10) : 0;
	if (*end || !what || at >= CHOICES_MAX || what > UINT8_MAX)
		return false;
	c->made[at] = (uint8_t)what;
	c->fixed = c->fixed > at ? c->fixed : (uint32_t)at + 1;
	return true;
}
