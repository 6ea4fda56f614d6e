/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/unanswered.h"

#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* A place for one more among UNANSWERED_MAX, the oldest one's if need be. */
static uint32_t next_place(uint32_t *nr)
{
	return (*nr)++ % UNANSWERED_MAX;
}

static uint32_t nr_places(uint32_t nr)
{
	return nr < UNANSWERED_MAX ? nr : UNANSWERED_MAX;
}

static void add_item(struct unanswered *u, pid_t pid, const char *what)
{
	size_t len = strlen(what), max = UNANSWERED_TEXT_SIZE - 1;
	struct unanswered_item *item;

	u->nr++;
	if (u->nr_items == UNANSWERED_MAX_ITEMS)
		return;
	item = &u->items[u->nr_items++];
	item->pid = pid;
	if (len > max)
		what += len - max;
	memcpy(item->what, what, len > max ? max + 1 : len + 1);
}

/* ---- processes and users ---- */

static bool has_exited(const struct unanswered_pid *p)
{
	struct pollfd poll_for = { .fd = p->pidfd, .events = POLLIN };

	return p->pidfd >= 0 && poll(&poll_for, 1, 0) > 0;
}

static bool has_user(const struct unanswered *u, uid_t uid)
{
	for (uint32_t i = 0; uid && i < nr_places(u->nr_users); i++)
		if (u->users[i].uid == uid)
			return u->users[i].nr >= UNANSWERED_USER_TIMES;
	return false;
}

bool unanswered_has_pid(struct unanswered *u, pid_t pid, uid_t uid)
{
	bool has;

	pthread_mutex_lock(&u->lock);
	has = has_user(u, uid);
	for (uint32_t i = 0; !has && i < nr_places(u->nr_pids); i++)
		has = u->pids[i].pid == pid && !has_exited(&u->pids[i]);
	pthread_mutex_unlock(&u->lock);
	return has;
}

static void note_user(struct unanswered *u, uid_t uid)
{
	for (uint32_t i = 0; i < nr_places(u->nr_users); i++)
		if (u->users[i].uid == uid) {
			u->users[i].nr++;
			return;
		}
	u->users[next_place(&u->nr_users)] = (struct unanswered_user){ uid, 1 };
}

void unanswered_note_pid(struct unanswered *u, pid_t pid, uid_t uid, const char *what)
{
	struct unanswered_pid *p;

	pthread_mutex_lock(&u->lock);
	add_item(u, pid, what);
	note_user(u, uid);
	if (u->nr_pids >= UNANSWERED_MAX)
		close_pidfd(&u->pids[u->nr_pids % UNANSWERED_MAX]);
	p = &u->pids[next_place(&u->nr_pids)];
	p->pid = pid;
	p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0); /* since 5.3; sets close-on-exec */
	pthread_mutex_unlock(&u->lock);
}

/* ---- paths ---- */

static uint64_t folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return hash_bytes(path, slash ? (size_t)(slash - path) : 0);
}

bool unanswered_has_path(struct unanswered *u, int root_fd, const char *path)
{
	bool has = false;

	pthread_mutex_lock(&u->lock);
	for (uint32_t i = 0; root_fd >= 0 && !has && i < nr_places(u->nr_roots); i++)
		has = u->roots[i] == root_fd;
	if (root_fd < 0 && u->nr_folders) {
		uint64_t folder = folder_of(path);

		for (uint32_t i = 0; !has && i < nr_places(u->nr_folders); i++)
			has = u->folders[i] == folder;
	}
	pthread_mutex_unlock(&u->lock);
	return has;
}

void unanswered_note_path(struct unanswered *u, int root_fd, const char *path)
{
	pthread_mutex_lock(&u->lock);
	add_item(u, 0, path);
	if (root_fd >= 0)
		u->roots[next_place(&u->nr_roots)] = root_fd;
	else
		u->folders[next_place(&u->nr_folders)] = folder_of(path);
	pthread_mutex_unlock(&u->lock);
}
