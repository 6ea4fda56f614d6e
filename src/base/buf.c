/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#define BUF_FIRST_BYTES 256
#define BUF_READ_BYTES 65536

void buf_done(struct buf *b)
{
	free(b->data);
	*b = BUF_INIT(b->max);
}

void buf_clear(struct buf *b)
{
	b->len = 0;
}

int buf_reserve(struct buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : BUF_FIRST_BYTES;
	char *data;

	if (n > b->max || b->len > b->max - n)
		return -E2BIG;
	if (b->len + n <= b->cap)
		return 0;
	while (cap < b->len + n)
		cap *= 2;
	if (cap > b->max)
		cap = b->max;
	data = realloc(b->data, cap);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->cap = cap;
	return 0;
}

int buf_append(struct buf *b, const void *bytes, size_t n)
{
	int r = buf_reserve(b, n);

	if (r < 0)
		return r;
	if (n)
		memcpy(b->data + b->len, bytes, n);
	b->len += n;
	return 0;
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n, r;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return -EINVAL;
	r = buf_reserve(b, (size_t)n + 1); /* vsnprintf writes a NUL, which is not counted */
	if (r < 0)
		return r;
	va_start(ap, fmt);
	(void)vsnprintf(b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
	return 0;
}

int buf_read_fd(struct buf *b, int fd)
{
	for (;;) {
		ssize_t n;
		int r = buf_reserve(b, BUF_READ_BYTES);

		if (r < 0)
			return r;
		n = read(fd, b->data + b->len, BUF_READ_BYTES);
		if (n == 0)
			return 0;
		if (n > 0)
			b->len += (size_t)n;
		else if (errno != EINTR)
			return -errno;
	}
}
