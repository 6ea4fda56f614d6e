/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process of one fetch. libdebuginfod is loaded only here, so that the agent itself needs
 * neither it nor libcurl.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/cleanup.h"
#include "fetch/child.h"
#include "fetch/debuginfod_log.h"
#include "fetch/fetch_exit.h"
#include "fetch/fetch_main.h"

#define LIBRARY "libdebuginfod.so.1"
#define FULL_BYTES (1u << 20)

/* The part of its interface that is used, stable since elfutils 0.178. */
struct client;
struct library {
	struct client *(*begin)(void);
	int (*find_debuginfo)(struct client *c, const unsigned char *id, int id_bytes, char **path);
	void (*set_verbose_fd)(struct client *c, int fd); /* since 0.186 */
};

static void *symbol(void *handle, const char *name)
{
	return dlsym(handle, name);
}

static bool load_library(struct library *l)
{
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		return false;
	*(void **)&l->begin = symbol(handle, "debuginfod_begin");
	*(void **)&l->find_debuginfo = symbol(handle, "debuginfod_find_debuginfo");
	*(void **)&l->set_verbose_fd = symbol(handle, "debuginfod_set_verbose_fd");
	return l->begin && l->find_debuginfo;
}

/* libdebuginfod reports many server failures, and partial replies, as "not found". A version before
 * 0.186 has no log, and its result is taken as true; otherwise every run would request files again
 * that no server has. */
static bool is_unknown(const struct library *l)
{
	_cleanup_(freep) struct server_replies *a = NULL;

	if (!l->set_verbose_fd)
		return true;
	a = malloc(sizeof(*a));
	return a && debuginfod_log_read(AT_FDCWD, CHILD_LOG, a) == 0 &&
	       server_replies_are_unknown(a);
}

static bool is_disk_full(void)
{
	struct statvfs fs;

	return statvfs(".", &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < FULL_BYTES;
}

static enum fetch_result result_of(const struct library *l, int r)
{
	if (is_disk_full())
		return FETCH_NO_SPACE;
	switch (r) {
	case -ENOENT:
		return is_unknown(l) ? FETCH_NOT_FOUND : FETCH_SERVER_FAILED;
	case -ETIME:
	case -ETIMEDOUT:
		return FETCH_TIMEOUT;
	case -EFBIG:
		return FETCH_TOO_LARGE;
	case -ENOSPC:
		return FETCH_NO_SPACE;
	default:
		return FETCH_SERVER_FAILED;
	}
}

static bool is_hex(const char *text)
{
	size_t n = strspn(text, "0123456789abcdef");

	return n >= 4 && n < BUILD_ID_HEX_SIZE && !text[n];
}

/* Repeated after the exec: a program with file capabilities starts without it. */
static bool follows(const char *parent)
{
	size_t n = strspn(parent, "0123456789");

	return n > 0 && n < 10 && !parent[n] && child_follow((pid_t)strtol(parent, NULL, 10));
}

/* Each path of a list; an empty one is the current directory. */
static bool can_read_all(const char *list)
{
	_cleanup_(freep) char *copy = strdup(list);
	char *rest = copy, *path;

	while (rest && (path = strsep(&rest, ":")))
		if (*path && access(path, R_OK) < 0)
			return false;
	return copy;
}

/* As nobody: files that root configured may be readable by root only, and then root has to fetch.
 * */
static bool can_read_settings(void)
{
	static const char *const names[] = { "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
					     "DEBUGINFOD_HEADERS_FILE", "LD_LIBRARY_PATH" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && getuid() == CHILD_NOBODY; i++) {
		const char *list = getenv(names[i]);

		if (list && !can_read_all(list))
			return false;
	}
	return true;
}

static int fetch_file(const struct library *l, const char *hex)
{
	int fd, log_fd = open(CHILD_LOG, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			      0600);
	struct client *c = l->begin();
	char *path = NULL;

	if (c && l->set_verbose_fd && log_fd >= 0)
		l->set_verbose_fd(c, log_fd);
	/* Length 0: the ID is given in hex. */
	fd = c ? l->find_debuginfo(c, (const unsigned char *)hex, 0, &path) : -ENOMEM;
	if (fd >= 0 && path && rename(path, CHILD_RESULT) == 0)
		return 0;
	return EXIT_RESULT_BASE + (int)result_of(l, fd < 0 ? fd : -EIO);
}

int fetch_main(int argc, char *const argv[])
{
	struct library l = { 0 };

	/* Anyone who may execute the program can call this, with file capabilities and their own
	 * environment: it reads nothing that its caller could not read. */
	if (!capabilities_give_up())
		return EXIT_NO_PROGRAM;
	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* not traceable by the same user */
	if (argc != 4 || !follows(argv[3]))
		return EXIT_NO_PROGRAM;
	if (!is_hex(argv[2]) && strcmp(argv[2], FETCH_PROBE) != 0)
		return EXIT_NO_PROGRAM;
	if (!load_library(&l))
		return EXIT_RESULT_BASE + FETCH_NO_CLIENT;
	if (!is_hex(argv[2]))
		return can_read_settings() ? 0 : EXIT_NO_PROGRAM;
	(void)prctl(PR_SET_NAME, "perf-agent"); /* otherwise that of its descriptor */
	return fetch_file(&l, argv[2]);
}
