/* SPDX-License-Identifier: BSD-3-Clause */
/* The key file: lines "key ID HEX" and one "current ID". */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lines.h"
#include "weft/tss.h"

enum {
	FILE_BYTES_MAX = 16384,
	SECRET_DIGITS = 2 * WEFT_TSS_SECRET_BYTES,
};

/* The caller's or root's, and nobody else's to read or write. */
static int file_check(const char *path, int fd, struct weft_err *err)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return weft_err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return weft_err_set(err, -EINVAL, "%s: not a file", path);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return weft_err_set(err, -EACCES, "%s: belongs to user %u; its owner must be user %u or root", path,
				    (unsigned)st.st_uid, (unsigned)geteuid());
	if (st.st_mode & 077)
		return weft_err_set(err, -EACCES, "%s: others may use it (mode %04o); 'chmod 600 %s'", path,
				    (unsigned)st.st_mode & 07777, path);
	return 0;
}

/* Returns the number of bytes, which is below `size`. */
static ssize_t file_read(const char *path, char *text, size_t size, struct weft_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t len = 0;
	ssize_t n = 1;

	if (fd < 0)
		return weft_err_set(err, -errno, "%s: %s", path, strerror(errno));
	int rc = file_check(path, fd, err);
	while (!rc && n > 0 && len < size) {
		n = read(fd, text + len, size - len);
		if (n < 0)
			rc = weft_err_set(err, -errno, "%s: %s", path, strerror(errno));
		len += n > 0 ? (size_t)n : 0;
	}
	close(fd);
	if (!rc && len == size)
		rc = weft_err_set(err, -EINVAL, "%s: longer than %zu bytes", path, size - 1);
	return rc ? rc : (ssize_t)len;
}

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static bool hex_read(struct token t, uint8_t *out)
{
	if (t.len != SECRET_DIGITS)
		return false;
	for (size_t i = 0; i < t.len; i += 2) {
		int high = hex_digit(t.s[i]), low = hex_digit(t.s[i + 1]);
		if (high < 0 || low < 0)
			return false;
		out[i / 2] = (uint8_t)(high << 4 | low);
	}
	return true;
}

/* Index of the key, or `count`. */
static uint32_t key_find(const struct weft_tss_keys *keys, uint32_t id)
{
	uint32_t i = 0;

	while (i < keys->count && keys->key[i].id != id)
		i++;
	return i;
}

static int key_line(struct lines *l, struct weft_tss_keys *keys)
{
	struct weft_tss_key key;

	if (l->count != 3)
		return lines_error(l, "a key is 'key ID HEX'");
	int rc = lines_u32(l, 1, "key id", 0, WEFT_TSS_ID_MAX, &key.id);
	if (rc)
		return rc;
	if (!hex_read(l->tok[2], key.secret))
		return lines_error(l, "key %u is not %d hexadecimal digits", key.id, SECRET_DIGITS);
	if (key_find(keys, key.id) < keys->count)
		return lines_error(l, "key %u stands there twice", key.id);
	if (keys->count == WEFT_TSS_KEYS_MAX)
		return lines_error(l, "more than %d keys", WEFT_TSS_KEYS_MAX);
	keys->key[keys->count++] = key;
	explicit_bzero(&key, sizeof key);
	return 0;
}

/* `current`: id, or beyond WEFT_TSS_ID_MAX while there was none. */
static int line_read(struct lines *l, struct weft_tss_keys *keys, uint32_t *current)
{
	if (lines_is(l, 0, "key"))
		return key_line(l, keys);
	if (!lines_is(l, 0, "current") || l->count != 2)
		return lines_error(l, "neither 'key ID HEX' nor 'current ID'");
	if (*current <= WEFT_TSS_ID_MAX)
		return lines_error(l, "a second 'current'");
	return lines_u32(l, 1, "current", 0, WEFT_TSS_ID_MAX, current);
}

static int text_read(const char *path, const char *text, size_t len, struct weft_tss_keys *keys, struct weft_err *err)
{
	uint32_t current = UINT32_MAX;
	struct lines l;
	int rc;

	lines_init(&l, text, len, path, err);
	while ((rc = lines_next(&l)) > 0)
		if ((rc = line_read(&l, keys, &current)) < 0)
			break;
	if (rc < 0)
		return rc;
	if (!keys->count)
		return weft_err_set(err, -EINVAL, "%s: no key", path);
	if (current > WEFT_TSS_ID_MAX)
		return weft_err_set(err, -EINVAL, "%s: no line 'current ID' says which key seals", path);
	keys->current = key_find(keys, current);
	if (keys->current == keys->count)
		return weft_err_set(err, -EINVAL, "%s: there is no key %u, which is to be the current one", path,
				    current);
	return 0;
}

int weft_tss_keys_read(const char *path, struct weft_tss_keys *keys, struct weft_err *err)
{
	char text[FILE_BYTES_MAX];
	ssize_t len = file_read(path, text, sizeof text, err);
	struct weft_tss_keys found = {.count = 0};
	int rc = len < 0 ? (int)len : text_read(path, text, (size_t)len, &found, err);

	if (!rc)
		*keys = found;
	explicit_bzero(text, sizeof text);
	explicit_bzero(&found, sizeof found);
	return rc;
}
