/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/signals.h"

#include <errno.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

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

int signals_read(const struct signals *s)
{
	struct signalfd_siginfo info;

	if (read(s->fd, &info, sizeof(info)) != sizeof(info))
		return 0;
	return (int)info.ssi_signo;
}
