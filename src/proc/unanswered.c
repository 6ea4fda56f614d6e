/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/unanswered.h"

#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"

void unanswered_init(struct unanswered *u)
{
	*u = (struct unanswered){ .own_root_fd = -1 };
	pthread_mutex_init(&u->lock, NULL);
}

static void close_pidfd(struct unanswered_pid *p)
{
	if (p->pidfd >= 0)
		close(p->pidfd);
	p->pidfd = -1;
}

void unanswered_done(struct unanswered *u)
{
	for (uint32_t i = 0; i < u->nr_pids && i < UNANSWERED_MAX; i++)
		close_pidfd(&u->pids[i]);
	pthread_mutex_destroy(&u->lock);
}

/* A slot for another item among UNANSWERED_MAX, if necessary that of the oldest. */
static uint32_t next_place(uint32_t *nr)
{
	return (*nr)++ % UNANSWERED_MAX;
}

static uint32_t nr_places(uint32_t nr)
{
	return nr < UNANSWERED_MAX ? nr : UNANSWERED_MAX;
}

static bool has_item(const struct unanswered *u, pid_t pid, const char *what)
{
	for (uint32_t i = 0; i < u->nr_items; i++)
		if (u->items[i].pid == pid && strcmp(u->items[i].what, what) == 0)
			return true;
	return false;
}

static void add_item(struct unanswered *u, pid_t pid, const char *what)
{
	size_t len = strlen(what), max = UNANSWERED_TEXT_SIZE - 1;
	struct unanswered_item *item;

	if (len > max)
		what += len - max;
	if (has_item(u, pid, what))
		return; /* it was tried again, without success */
	u->nr++;
	if (u->nr_items == UNANSWERED_MAX_ITEMS)
		return;
	item = &u->items[u->nr_items++];
	item->pid = pid;
	memcpy(item->what, what, len > max ? max + 1 : len + 1);
}

/* ---- processes ---- */

static bool has_exited(const struct unanswered_pid *p)
{
	struct pollfd poll_for = { .fd = p->pidfd, .events = POLLIN };

	return p->pidfd >= 0 && poll(&poll_for, 1, 0) > 0;
}

bool unanswered_has_pid(struct unanswered *u, pid_t pid)
{
	uint64_t now_ns = clock_mono_ns();
	bool has = false;

	pthread_mutex_lock(&u->lock);
	for (uint32_t i = 0; !has && i < nr_places(u->nr_pids); i++)
		has = u->pids[i].pid == pid && now_ns < u->pids[i].until_ns &&
		      !has_exited(&u->pids[i]);
	pthread_mutex_unlock(&u->lock);
	return has;
}

void unanswered_note_pid(struct unanswered *u, pid_t pid, const char *what)
{
	struct unanswered_pid *p;

	pthread_mutex_lock(&u->lock);
	add_item(u, pid, what);
	if (u->nr_pids >= UNANSWERED_MAX)
		close_pidfd(&u->pids[u->nr_pids % UNANSWERED_MAX]);
	p = &u->pids[next_place(&u->nr_pids)];
	p->pid = pid;
	p->until_ns = clock_mono_ns() + UNANSWERED_NS;
	p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0); /* since 5.3; sets close-on-exec */
	pthread_mutex_unlock(&u->lock);
}

void unanswered_report(struct unanswered *u, pid_t pid, const char *what)
{
	pthread_mutex_lock(&u->lock);
	add_item(u, pid, what);
	pthread_mutex_unlock(&u->lock);
}

/* ---- paths ---- */

static uint64_t folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return hash_bytes(path, slash ? (size_t)(slash - path) : 0);
}

static bool has_place(const struct unanswered_place *places, uint32_t nr, uint64_t key)
{
	uint64_t now_ns = clock_mono_ns();

	for (uint32_t i = 0; i < nr_places(nr); i++)
		if (places[i].key == key && now_ns < places[i].until_ns)
			return true;
	return false;
}

static void add_place(struct unanswered_place *places, uint32_t *nr, uint64_t key)
{
	places[next_place(nr)] =
		(struct unanswered_place){ .key = key,
					   .until_ns = clock_mono_ns() + UNANSWERED_NS };
}

bool unanswered_has_path(struct unanswered *u, int root_fd, const char *path)
{
	bool has;

	pthread_mutex_lock(&u->lock);
	if (root_fd >= 0)
		has = has_place(u->roots, u->nr_roots, (uint64_t)root_fd);
	else
		has = u->nr_folders && has_place(u->folders, u->nr_folders, folder_of(path));
	pthread_mutex_unlock(&u->lock);
	return has;
}

void unanswered_note_path(struct unanswered *u, int root_fd, const char *path)
{
	pthread_mutex_lock(&u->lock);
	add_item(u, 0, path);
	if (root_fd >= 0)
		add_place(u->roots, &u->nr_roots, (uint64_t)root_fd);
	else
		add_place(u->folders, &u->nr_folders, folder_of(path));
	pthread_mutex_unlock(&u->lock);
}
