/* SPDX-License-Identifier: Apache-2.0 */
/* The open files. Over the limit, the user who has most of them loses the least recently used one:
 * a user who keeps mapping new files loses his own, not those of others. */
#include <errno.h>

#include "base/cleanup.h"
#include "proc/filestore_internal.h"

static void queue_remove(struct filestore *s, struct entry *e)
{
	struct fd_queue *q = &s->fds[e->account];

	if (e->lru_prev != NO_FILE)
		s->entries[e->lru_prev]->lru_next = e->lru_next;
	else
		q->oldest = e->lru_next;
	if (e->lru_next != NO_FILE)
		s->entries[e->lru_next]->lru_prev = e->lru_prev;
	else
		q->newest = e->lru_prev;
	q->nr--;
}

static void queue_append(struct filestore *s, struct entry *e)
{
	struct fd_queue *q = &s->fds[e->account];

	e->lru_prev = q->newest;
	e->lru_next = NO_FILE;
	if (q->newest != NO_FILE)
		s->entries[q->newest]->lru_next = e->file.id;
	else
		q->oldest = e->file.id;
	q->newest = e->file.id;
	q->nr++;
}

void entry_touch_fd(struct filestore *s, struct entry *e)
{
	queue_remove(s, e);
	queue_append(s, e);
}

void entry_close_fd(struct filestore *s, struct entry *e)
{
	queue_remove(s, e);
	closep(&e->file.fd);
	e->file.fd = -1;
	s->nr_fds--;
}

static struct fd_queue *longest_queue(struct filestore *s)
{
	struct fd_queue *longest = &s->fds[0];

	for (uint32_t i = 1; i < s->accounts.nr; i++)
		if (s->fds[i].nr > longest->nr)
			longest = &s->fds[i];
	return longest;
}

static void close_over_limit(struct filestore *s)
{
	while (s->nr_fds > s->max_fds) {
		struct entry *e = s->entries[longest_queue(s)->oldest];

		entry_close_fd(s, e);
		e->file.open_error = EMFILE;
		entry_update_views(s, e);
		s->stats.nr_closed_over_limit++;
	}
}

void entry_hold_fd(struct filestore *s, struct entry *e, const struct reader_file *f)
{
	e->file.fd = f->fd;
	e->file.is_copy = f->is_copy;
	e->file.open_error = 0;
	entry_update_views(s, e);
	s->nr_fds++;
	queue_append(s, e);
	close_over_limit(s);
}
