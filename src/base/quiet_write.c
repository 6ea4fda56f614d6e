/* SPDX-License-Identifier: Apache-2.0 */
#include "base/quiet_write.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

/* Consumes a signal that our own write() raised while it was blocked. */
static void consume_signal(int signal)
{
	const struct timespec now = { 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signal);
	while (sigtimedwait(&set, NULL, &now) < 0 && errno == EINTR)
		;
}

ssize_t write_quietly(int fd, const void *bytes, size_t n)
{
	sigset_t ours, old, pending;
	ssize_t done;
	int code;

	sigemptyset(&ours);
	sigaddset(&ours, SIGPIPE);
	sigaddset(&ours, SIGXFSZ);
	(void)pthread_sigmask(SIG_BLOCK, &ours, &old); /* fails only for invalid arguments */
	sigpending(&pending);
	done = write(fd, bytes, n);
	code = errno;
	if (done < 0 && code == EPIPE && !sigismember(&pending, SIGPIPE))
		consume_signal(SIGPIPE);
	if (done < 0 && code == EFBIG && !sigismember(&pending, SIGXFSZ))
		consume_signal(SIGXFSZ);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = code;
	return done;
}
