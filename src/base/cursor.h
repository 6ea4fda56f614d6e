/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads untrusted bytes: a position that cannot pass its end. A read past the end returns zero and
 * marks the cursor bad; check once after a group of reads. Little-endian, like all supported
 * platforms.
 */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *at;
	const uint8_t *end;
	bool bad;
};

static inline struct cursor cursor_of(const void *bytes, size_t n)
{
	return (struct cursor){ .at = bytes, .end = (const uint8_t *)bytes + n };
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

/* n bytes; or NULL, and the cursor is bad. */
static inline const uint8_t *cursor_take(struct cursor *c, size_t n)
{
	const uint8_t *p = c->at;

	if (c->bad || n > cursor_left(c)) {
		c->bad = true;
		return NULL;
	}
	c->at += n;
	return p;
}

static inline void cursor_copy(struct cursor *c, void *to, size_t n)
{
	const uint8_t *p = cursor_take(c, n);

	if (p)
		memcpy(to, p, n);
	else
		memset(to, 0, n);
}

#define CURSOR_DEFINE(name, type)                                                                  \
	static inline type name(struct cursor *c)                                                  \
	{                                                                                          \
		type v;                                                                            \
		cursor_copy(c, &v, sizeof(v));                                                     \
		return v;                                                                          \
	}
CURSOR_DEFINE(cursor_u8, uint8_t)
CURSOR_DEFINE(cursor_u16, uint16_t)
CURSOR_DEFINE(cursor_u32, uint32_t)
CURSOR_DEFINE(cursor_u64, uint64_t)
CURSOR_DEFINE(cursor_s32, int32_t)
#undef CURSOR_DEFINE

/* A NUL-terminated string inside the cursor; or NULL, and the cursor is bad. */
static inline const char *cursor_str(struct cursor *c)
{
	const uint8_t *p = c->at;
	const uint8_t *nul = c->bad ? NULL : memchr(p, '\0', cursor_left(c));

	if (!nul) {
		c->bad = true;
		return NULL;
	}
	c->at = nul + 1;
	return (const char *)p;
}

#endif
