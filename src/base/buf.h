/* SPDX-License-Identifier: Apache-2.0 */
/* A byte buffer that grows up to a maximum given at initialization. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data; /* owned; NULL while empty */
	size_t len;
	size_t cap;
	size_t max; /* maximum size; growing beyond it is -E2BIG */
};

#define BUF_INIT(max_bytes) ((struct buf){ .max = (max_bytes) })

void buf_done(struct buf *b);

/* Empties the buffer and keeps its memory. */
void buf_clear(struct buf *b);

/* Makes room for n more bytes. -E2BIG beyond the maximum, -ENOMEM. */
int buf_reserve(struct buf *b, size_t n);

int buf_append(struct buf *b, const void *bytes, size_t n);
int buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Reads fd from its current position to its end. */
int buf_read_fd(struct buf *b, int fd);

#endif
