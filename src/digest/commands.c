/* SPDX-License-Identifier: Apache-2.0 */
#include "digest/commands.h"

#include <errno.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/idtable.h"
#include "digest/labels.h"
#include "digest/sums.h"

struct process_list {
	const struct profile *p;
	uint32_t *of_set; /* owned: by set of labels */
	struct process_share *shares;
	uint32_t nr, cap;
	struct idtable index;
};

static void process_list_done(struct process_list *l)
{
	free(l->of_set);
	free(l->shares);
	idtable_done(&l->index);
}

static bool process_eq(const void *owner, uint32_t id, const void *key)
{
	const struct process_share *a = &((const struct process_list *)owner)->shares[id], *b = key;

	return a->pid == b->pid && a->comm == b->comm;
}

static int process_intern(struct process_list *l, const struct process_share *s, uint32_t *ret_id)
{
	uint64_t h = hash_mix(hash_mix(l->p->hash_seed, (uint64_t)s->pid), s->comm);
	int r;

	if (idtable_find(&l->index, h, process_eq, l, s, ret_id))
		return 0;
	r = ARRAY_RESERVE(l->shares, l->cap, l->nr + 1, PROFILE_MAX_THINGS);
	if (r == 0)
		r = idtable_reserve(&l->index);
	if (r < 0)
		return r;
	idtable_insert(&l->index, h, l->nr);
	l->shares[l->nr] = *s;
	*ret_id = l->nr++;
	return 0;
}

static int find_processes(struct process_list *l)
{
	uint32_t pid_key = label_key(l->p, "pid"), comm_key = label_key(l->p, "comm");
	int r = 0;

	l->of_set = calloc((size_t)l->p->nr_label_sets + 1, sizeof(*l->of_set));
	if (!l->of_set)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->p->nr_label_sets && r == 0; i++) {
		const struct profile_label *pid = label_find(l->p, i, pid_key);
		struct process_share s = { .pid = pid ? pid->num : 0,
					   .comm = label_text(l->p, i, comm_key) };

		r = process_intern(l, &s, &l->of_set[i]);
		if (r == 0)
			l->shares[l->of_set[i]].in_kernel = add_saturated(
				l->shares[l->of_set[i]].in_kernel, l->p->in_kernel[i]);
	}
	return r;
}

static int compare_counts(int64_t a, int64_t b)
{
	return a > b ? -1 : a < b;
}

static int by_count(const void *left, const void *right, void *profile)
{
	const struct process_share *a = left, *b = right;
	int c = compare_counts(a->count, b->count);

	if (c == 0)
		c = strcmp(profile_str(profile, a->comm), profile_str(profile, b->comm));
	return c ? c : a->pid < b->pid ? -1 : a->pid > b->pid;
}

/* Drops processes without samples: their label sets may have lost all of them. */
static uint32_t keep_counted(struct process_share *shares, uint32_t nr)
{
	uint32_t to = 0;

	for (uint32_t i = 0; i < nr; i++) {
		if (!shares[i].count)
			continue;
		shares[to] = shares[i];
		if (shares[to].in_kernel > shares[to].count)
			shares[to].in_kernel = shares[to].count;
		to++;
	}
	return to;
}

int digest_processes(const struct profile *p, struct process_share **ret_processes,
		     uint32_t *ret_nr)
{
	_cleanup_(process_list_done) struct process_list l = { .p = p };
	int r = find_processes(&l);

	if (r == 0) /* an empty profile gives an empty array, not NULL */
		r = ARRAY_RESERVE(l.shares, l.cap, 1, PROFILE_MAX_THINGS);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < p->nr_samples; i++) {
		struct process_share *s = &l.shares[l.of_set[p->samples[i].labels]];

		s->count = add_saturated(s->count, profile_count(p, i));
	}
	*ret_nr = keep_counted(l.shares, l.nr);
	qsort_r(l.shares, *ret_nr, sizeof(*l.shares), by_count, (void *)(uintptr_t)p);
	*ret_processes = TAKE(l.shares);
	return 0;
}

static int by_comm(const void *left, const void *right)
{
	const struct command_share *a = left, *b = right;

	return a->comm < b->comm ? -1 : a->comm > b->comm;
}

static int by_command_count(const void *left, const void *right, void *profile)
{
	const struct command_share *a = left, *b = right;
	int c = compare_counts(a->count, b->count);

	return c ? c : strcmp(profile_str(profile, a->comm), profile_str(profile, b->comm));
}

static void add_command(void *left, const void *right)
{
	struct command_share *to = left;
	const struct command_share *more = right;

	to->nr_processes += more->nr_processes;
	to->count = add_saturated(to->count, more->count);
	to->in_kernel = add_saturated(to->in_kernel, more->in_kernel);
}

int digest_commands(const struct profile *p, const struct process_share *processes,
		    uint32_t nr_processes, struct command_share **ret_commands, uint32_t *ret_nr)
{
	struct command_share *commands = calloc((size_t)nr_processes + 1, sizeof(*commands));

	if (!commands)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr_processes; i++)
		commands[i] = (struct command_share){ processes[i].comm, 1, processes[i].count,
						      processes[i].in_kernel };
	*ret_nr = array_merge(commands, nr_processes, sizeof(*commands), by_comm, add_command);
	qsort_r(commands, *ret_nr, sizeof(*commands), by_command_count, (void *)(uintptr_t)p);
	*ret_commands = commands;
	return 0;
}
