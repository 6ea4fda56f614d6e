/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/process_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"

#define MAX_CANDIDATES (1u << 22) /* the kernel's highest PID */

/* A process that has one of the names. */
struct candidate {
	pid_t pid;
	uid_t user;
	uint32_t rank; /* candidates with the lowest rank are taken first */
};

struct search {
	const struct settings *settings;
	const struct procfs *procfs;
	const char *name;
	bool is_found;
	struct candidate *found; /* owned */
	uint32_t nr, cap;
};

static void search_done(struct search *s)
{
	free(s->found);
}

static bool is_listed(const struct settings *s, pid_t pid)
{
	for (size_t i = 0; i < s->o.nr_pids; i++)
		if (s->o.pids[i] == pid)
			return true;
	return false;
}

/* Compares names up to the length that the kernel stores. */
static bool has_name(const struct procfs *procfs, pid_t pid, const char *name)
{
	char comm[PROC_COMM_SIZE];

	return procfs_comm(procfs, pid, comm) == 0 && !strncmp(comm, name, PROC_COMM_SIZE - 1);
}

static int add_if_named(void *ctx, pid_t pid)
{
	struct search *s = ctx;
	struct proc_status status;
	int r;

	if (pid == getpid() || !has_name(s->procfs, pid, s->name) ||
	    procfs_status(s->procfs, pid, &status) < 0 || status.is_over)
		return 0;
	s->is_found = true;
	if (is_listed(s->settings, pid))
		return 0;
	r = ARRAY_RESERVE(s->found, s->cap, s->nr + 1, MAX_CANDIDATES);
	if (r < 0)
		return r;
	s->found[s->nr++] = (struct candidate){ .pid = pid, .user = status.euid };
	return 0;
}

static int find_name(struct search *s, const char *name, struct pa_error *err)
{
	int r;

	s->name = name;
	s->is_found = false;
	r = procfs_each_pid(s->procfs, add_if_named, s);
	if (r == 0 && !s->is_found)
		return error_set(err, ESRCH,
				 "pa_options.process_names '%s': no process has this name; see "
				 "the names with 'ps -e -o pid,comm'",
				 name);
	return r;
}

/* ---- limiting the number ---- */

static int by_user(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;

	if (a->user != b->user)
		return a->user < b->user ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static int by_rank(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* Anyone can start processes of any name: hence those of root and of our own user come first, then
 * one of every other user in turn. */
static void rank_by_user(struct candidate *c, uint32_t nr)
{
	qsort(c, nr, sizeof(*c), by_user);
	for (uint32_t i = 0; i < nr; i++) {
		if (c[i].user == 0 || c[i].user == geteuid())
			c[i].rank = 0;
		else
			c[i].rank = i && c[i - 1].user == c[i].user ? c[i - 1].rank + 1 : 1;
	}
	qsort(c, nr, sizeof(*c), by_rank);
}

static int take_candidates(struct settings *settings, struct search *s, const struct log *log)
{
	size_t room = SETTINGS_MAX_PIDS - settings->o.nr_pids;
	uint32_t nr = s->nr;
	int r = 0;

	if (nr > room) {
		rank_by_user(s->found, s->nr);
		nr = (uint32_t)room;
		log_warn(log,
			 "session: %u processes have the names of pa_options.process_names, %u of "
			 "them are "
			 "profiled: those of root and of your user, then as many of each other "
			 "user; profile a user, a cgroup or the whole machine to have all",
			 s->nr, nr);
	}
	for (uint32_t i = 0; i < nr && r == 0; i++)
		r = settings_add_pid(settings, s->found[i].pid);
	return r;
}

int process_names_find(struct settings *s, const struct procfs *procfs, const struct log *log,
		       struct pa_error *err)
{
	_cleanup_(search_done) struct search search = { .settings = s, .procfs = procfs };
	int r = 0;

	for (size_t i = 0; i < s->o.nr_process_names && r == 0; i++)
		r = find_name(&search, s->o.process_names[i], err);
	return r < 0 ? r : take_candidates(s, &search, log);
}

bool process_names_match(const struct settings *s, const struct procfs *procfs, pid_t pid)
{
	for (size_t i = 0; i < s->o.nr_process_names; i++)
		if (has_name(procfs, pid, s->o.process_names[i]))
			return true;
	return false;
}
