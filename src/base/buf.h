/* SPDX-License-Identifier: Apache-2.0 */
/* A byte buffer that grows up to a maximum given when it is made, and never past it. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data; /* owned; NULL while empty */
	size_t len;
	size_t cap;
	size_t max; /* bytes; growing past it is -E2BIG */
};

#define BUF_INIT(max_bytes) ((struct buf){ .max = (max_bytes) })

void buf_done(struct buf *b);

/* Forgets the contents, keeps the memory. */
void buf_clear(struct buf *b);

/* Makes room for n more bytes. -E2BIG past the maximum, -ENOMEM. */
int buf_reserve(struct buf *b, size_t n);

int buf_append(struct buf *b, const void *bytes, size_t n);
int buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Reads fd from its position to its end. */
int buf_read_fd(struct buf *b, int fd);

#endif
