/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/blocked_iter.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collect/task_iter.h"

/* Reads all threads; one read() may end in the middle of a thread. */
static int read_threads(int fd, blocked_fn fn, void *ctx)
{
	struct pa_blocked b;
	size_t len = 0;

	for (;;) {
		ssize_t n = read(fd, (char *)&b + len, sizeof(b) - len);

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		len += (size_t)n;
		if (len < sizeof(b))
			continue;
		len = 0;
		fn(ctx, &b);
	}
}

int blocked_iter_read(const struct programs *p, blocked_fn fn, void *ctx)
{
	_cleanup_(closep) int fd = -1;
	int r = task_iter_open(p, "pa_blocked", &fd);

	return r < 0 ? r : read_threads(fd, fn, ctx);
}
