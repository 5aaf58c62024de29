/* SPDX-License-Identifier: BSD-3-Clause */
#include "address_pool.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 2 * INET6_ADDRSTRLEN };

int address_parse(const char *what, const char *text, struct weft_ip *ip, struct weft_err *err)
{
	struct in_addr v4;
	struct in6_addr v6;
	if (inet_pton(AF_INET, text, &v4) == 1)
		*ip = weft_ip_v4(ntohl(v4.s_addr));
	else if (inet_pton(AF_INET6, text, &v6) == 1)
		memcpy(ip->b, &v6, sizeof ip->b);
	else
		return weft_err_set(err, -EINVAL, "%s: '%.60s' is not an IPv4 or IPv6 address", what, text);
	if (weft_ip_is_any(ip))
		return weft_err_set(err, -EINVAL, "%s: '%.60s' is nobody's address", what, text);
	return 0;
}

static struct weft_ip with_low32(const struct weft_ip *ip, uint32_t low)
{
	struct weft_ip out = *ip;
	for (int i = 15; i >= 12; i--, low >>= 8)
		out.b[i] = (uint8_t)low;
	return out;
}

/* What is behind the mark: 0, or how many addresses there are. */
static int last_parse(const char *what, char mark, const char *text, const struct weft_ip *first, uint64_t *n,
		      struct weft_err *err)
{
	char *end;
	struct weft_ip last = {{0}};
	if (mark == '+') {
		*n = strtoul(text, &end, 10);
		return *text >= '0' && *text <= '9' && *end == '\0'
			       ? 0
			       : weft_err_set(err, -EINVAL, "%s: '%.60s' is no number", what, text);
	}
	int rc = address_parse(what, text, &last, err);
	if (rc != 0)
		return rc;
	*n = (uint64_t)weft_ip_low32(&last) - weft_ip_low32(first) + 1;
	return memcmp(first->b, last.b, 12) == 0 && weft_ip_low32(&last) >= weft_ip_low32(first)
		       ? 0
		       : weft_err_set(err, -EINVAL, "%s: '%.60s' does not follow the first one", what, text);
}

int address_pool_parse(const char *what, const char *text, struct weft_ip *out, uint32_t max, uint32_t *count,
		       struct weft_err *err)
{
	char copy[TEXT_BYTES];
	uint64_t n = 0;
	size_t len = strcspn(text, "-+");
	if (text[len] == '\0' || strlen(text) >= sizeof copy)
		return weft_err_set(err, -EINVAL, "%s: '%.60s' is not FIRST-LAST or FIRST+N", what, text);
	strcpy(copy, text);
	copy[len] = '\0';
	int rc = address_parse(what, copy, &out[0], err);
	if (rc == 0)
		rc = last_parse(what, text[len], text + len + 1, &out[0], &n, err);
	if (rc != 0)
		return rc;
	if (n < 1 || n > max || n - 1 > UINT32_MAX - weft_ip_low32(&out[0]))
		return weft_err_set(err, -EINVAL, "%s: '%.60s': there are 1 to %u ports", what, text, max);
	for (uint32_t i = 1; i < n; i++)
		out[i] = with_low32(&out[0], weft_ip_low32(&out[0]) + i);
	*count = (uint32_t)n;
	return 0;
}
