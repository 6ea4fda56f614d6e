/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/signals.h"

#include <errno.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "cli/duration.h"

#define COPY_NS NS_PER_S          /* sudo on a busy machine takes a while to pass a signal on */
#define REPEAT_NS (NS_PER_S / 10) /* but then it passes on at once what came meanwhile */

int signals_init(struct signals *s)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, standard = { .sa_handler = SIG_DFL };

	s->fd = -1;
	if (pthread_sigmask(SIG_SETMASK, NULL, &s->mask) != 0)
		return -EINVAL;
	if (sigaction(SIGPIPE, &ignore, &s->pipe) < 0 ||
	    sigaction(SIGXFSZ, &ignore, &s->file_size) < 0 ||
	    sigaction(SIGCHLD, &standard, &s->child) < 0 || sigaction(SIGHUP, NULL, &s->hangup) < 0)
		return -errno;
	return 0;
}

int signals_block(struct signals *s)
{
	sigset_t set;

	(void)sigemptyset(&set); /* these fail only for invalid signal numbers */
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGCHLD);
	if (s->hangup.sa_handler != SIG_IGN)
		(void)sigaddset(&set, SIGHUP);
	if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0)
		return -EINVAL;
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return s->fd < 0 ? -errno : 0;
}

void signals_done(struct signals *s)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}

void signals_restore(const struct signals *s)
{
	(void)sigaction(SIGPIPE, &s->pipe, NULL);
	(void)sigaction(SIGXFSZ, &s->file_size, NULL);
	(void)sigaction(SIGCHLD, &s->child, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &s->mask, NULL);
}

/* How long after a signal the same one may be a copy. */
static uint64_t copies_ns(const struct signals *s, uint32_t sender)
{
	if (!sender) /* the kernel: Ctrl-C */
		return 0;
	return s->has_copies || sender != s->last_sender ? COPY_NS : REPEAT_NS;
}

bool signals_is_copy(struct signals *s, int signal_nr, uint32_t sender, uint64_t now_ns)
{
	if (signal_nr == s->last && now_ns - s->last_ns < copies_ns(s, sender)) {
		s->has_copies = true;
		return true;
	}
	s->last = signal_nr;
	s->last_sender = sender;
	s->last_ns = now_ns;
	s->has_copies = false;
	return false;
}

static uint64_t clock_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

int signals_read(struct signals *s)
{
	struct signalfd_siginfo info;

	do {
		if (read(s->fd, &info, sizeof(info)) != sizeof(info))
			return 0;
	} while (info.ssi_signo != SIGCHLD &&
		 signals_is_copy(s, (int)info.ssi_signo, info.ssi_pid, clock_ns()));
	return (int)info.ssi_signo;
}
