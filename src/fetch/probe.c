/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/probe.h"
#include "fetch/fetch_main.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "fetch/child.h"

#define PROBE_MS 10000 /* to load a library on a busy machine */

/* Its process cannot write anywhere. */
static enum fetch_result try_client(const char *program, char *const env[], bool as_nobody)
{
	_cleanup_(closep) int root_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct child_setup setup = { .program = program,
				     .env = env,
				     .what = FETCH_PROBE,
				     .dir_fd = root_fd,
				     .as_nobody = as_nobody };
	enum fetch_result result;
	struct pollfd fd;
	struct child c;
	int r;

	if (root_fd < 0 || child_start(&setup, &c) < 0)
		return FETCH_UNAVAILABLE;
	fd = (struct pollfd){ .fd = c.pidfd, .events = POLLIN };
	while ((r = poll(&fd, 1, PROBE_MS)) < 0 && errno == EINTR)
		;
	result = child_finish(&c, r <= 0);
	return result == FETCH_FETCHED || result == FETCH_NO_CLIENT ? result : FETCH_UNAVAILABLE;
}

enum fetch_result probe_client(const char *program, char *const env[], bool wants_nobody,
			       bool *ret_as_nobody)
{
	*ret_as_nobody = wants_nobody && geteuid() == 0 &&
			 try_client(program, env, true) == FETCH_FETCHED;
	return *ret_as_nobody ? FETCH_FETCHED : try_client(program, env, false);
}

enum fetch_result fetch_probe(const char *program)
{
	static const struct fetcher_config none = { .urls = "" };
	_cleanup_(freep) char **env = NULL;
	bool as_nobody;

	if (child_environment(&none, &env) < 0)
		return FETCH_UNAVAILABLE;
	return probe_client(program, env, true, &as_nobody);
}
