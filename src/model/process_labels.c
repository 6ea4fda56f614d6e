/* SPDX-License-Identifier: Apache-2.0 */
#include "model/process_labels.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "model/model.h"
#include "proc/tracker.h"

#define DEFAULT_MAX_BYTES (32u << 20)
#define DEFAULT_MAX_PROCESSES (1u << 18)
#define MAX_SETS (1u << 20)
#define FEW_ASKED 64
#define LATE_SAMPLE_NS (60 * NS_PER_S) /* a process that is gone has no sample after this time */

/* One program of one process. */
struct asked {
	uint64_t id, program; /* see model_process_of() */
	uint64_t used_ns;     /* time of the last sample */
	pid_t pid;
	bool is_followed;                    /* the tracker knows when it is gone */
	const struct label_changes *changes; /* one of sets[], or &no_changes */
};

struct process_labels {
	struct process_labels_config cfg;
	struct strtab strings;       /* equal texts are equal pointers */
	struct label_changes **sets; /* owned, as each of them; equal ones are stored once */
	uint32_t nr_sets, cap_sets;
	size_t sets_bytes;
	struct idtable set_index;
	struct asked *asked; /* owned */
	uint32_t nr_asked, cap_asked;
	uint32_t nr_asked_needed; /* kept by the last forget_gone() */
	struct idtable asked_index;
	struct process_labels_stats stats;
};

static const struct label_changes no_changes;

/* ---- the draft ---- */

static void draft_done(struct process_labels_draft *d)
{
	for (uint32_t i = 0; i < d->nr_added; i++) {
		free((char *)(uintptr_t)d->added[i].key);
		free((char *)(uintptr_t)d->added[i].value);
	}
	d->nr_added = 0;
}

static struct process_label *find_added(struct process_labels_draft *d, const char *key)
{
	for (uint32_t i = 0; i < d->nr_added; i++)
		if (strcmp(d->added[i].key, key) == 0)
			return &d->added[i];
	return NULL;
}

static int check_texts(const char *key, const char *value)
{
	if (!key || !key[0] || !value || !value[0])
		return -EINVAL;
	if (strnlen(key, PROCESS_LABELS_KEY_BYTES + 1) > PROCESS_LABELS_KEY_BYTES ||
	    strnlen(value, PROCESS_LABELS_VALUE_BYTES + 1) > PROCESS_LABELS_VALUE_BYTES)
		return -ENAMETOOLONG;
	return 0;
}

static int add_to_draft(struct process_labels_draft *d, const char *key, const char *value)
{
	_cleanup_(freep) char *own_value = strdup(value), *own_key = NULL;
	struct process_label *l = find_added(d, key);

	if (!l && d->nr_added == PROCESS_LABELS_MAX)
		return -ENOSPC;
	if (!l)
		own_key = strdup(key);
	if (!own_value || (!l && !own_key))
		return -ENOMEM;
	if (l)
		free((char *)(uintptr_t)l->value);
	else
		(l = &d->added[d->nr_added++])->key = TAKE(own_key);
	l->value = TAKE(own_value);
	return 0;
}

int process_labels_set(struct process_labels_draft *d, const char *key, const char *value)
{
	uint32_t bit = 0;
	int r = check_texts(key, value), use;

	if (r < 0)
		return r;
	use = model_label_use(key, &bit);
	if (use >= 0 && !(use & MODEL_LABEL_SETTABLE))
		return -EPERM;
	r = add_to_draft(d, key, value);
	if (r == 0)
		d->dropped |= bit; /* by the one that was added */
	return r;
}

int process_labels_drop(struct process_labels_draft *d, const char *key)
{
	struct process_label *l;
	uint32_t bit = 0;
	int use;

	if (!key)
		return -EINVAL;
	use = model_label_use(key, &bit);
	if (use >= 0 && !(use & MODEL_LABEL_DROPPABLE))
		return -EPERM;
	l = find_added(d, key);
	if (!l && use < 0)
		return -ENOENT;
	d->dropped |= bit;
	if (l) {
		free((char *)(uintptr_t)l->key);
		free((char *)(uintptr_t)l->value);
		*l = d->added[--d->nr_added];
	}
	return 0;
}

/* ---- what is kept ---- */

struct process_labels *process_labels_free(struct process_labels *l)
{
	if (!l)
		return NULL;
	for (uint32_t i = 0; i < l->nr_sets; i++)
		free(l->sets[i]);
	free(l->sets);
	idtable_done(&l->set_index);
	free(l->asked);
	idtable_done(&l->asked_index);
	strtab_done(&l->strings);
	free(l);
	return NULL;
}

int process_labels_new(const struct process_labels_config *cfg, struct process_labels **ret_labels)
{
	_cleanup_(process_labels_freep) struct process_labels *l = calloc(1, sizeof(*l));
	int r = l ? strtab_init(&l->strings) : -ENOMEM;

	if (r < 0)
		return r;
	l->cfg = *cfg;
	if (!l->cfg.max_bytes)
		l->cfg.max_bytes = DEFAULT_MAX_BYTES;
	if (!l->cfg.max_processes)
		l->cfg.max_processes = DEFAULT_MAX_PROCESSES;
	*ret_labels = TAKE(l);
	return 0;
}

struct process_labels_stats process_labels_stats(const struct process_labels *l)
{
	return l ? l->stats : (struct process_labels_stats){ 0 };
}

/* Whether so many bytes more are within the limit. */
static bool has_room(const struct process_labels *l, size_t more)
{
	size_t used = l->strings.total_bytes + l->sets_bytes;

	return used <= l->cfg.max_bytes && more <= l->cfg.max_bytes - used;
}

static size_t changes_bytes(const struct label_changes *c)
{
	return sizeof(*c) + c->nr_added * sizeof(c->added[0]);
}

static bool is_set(const void *owner, uint32_t id, const void *key)
{
	const struct label_changes *a = ((const struct process_labels *)owner)->sets[id], *b = key;

	return a->nr_added == b->nr_added && memcmp(a, b, changes_bytes(a)) == 0;
}

static int add_set(struct process_labels *l, uint64_t hash, const struct label_changes *c,
		   const struct label_changes **ret_changes)
{
	size_t bytes = changes_bytes(c);
	struct label_changes *copy;
	int r = has_room(l, bytes) ? idtable_reserve(&l->set_index) : -E2BIG;

	if (r == 0)
		r = ARRAY_RESERVE(l->sets, l->cap_sets, l->nr_sets + 1, MAX_SETS);
	if (r < 0)
		return r;
	copy = malloc(bytes);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, c, bytes);
	l->sets_bytes += bytes + 4 * sizeof(copy); /* with its places in the list and the index */
	l->sets[l->nr_sets] = copy;
	idtable_insert(&l->set_index, hash, l->nr_sets++);
	*ret_changes = copy;
	return 0;
}

static int keep_text(struct process_labels *l, const char *text, const char **ret_text)
{
	uint32_t id;
	int r = has_room(l, strlen(text) + 1) ? strtab_intern(&l->strings, text, &id) : -E2BIG;

	if (r == 0)
		*ret_text = strtab_get(&l->strings, id);
	return r;
}

/* The changes of a draft, with texts of our own. */
static int keep_draft(struct process_labels *l, const struct process_labels_draft *d,
		      const struct label_changes **ret_changes)
{
	_cleanup_(freep) struct label_changes *c =
		calloc(1, sizeof(*c) + sizeof(c->added[0]) * PROCESS_LABELS_MAX);
	uint64_t hash;
	uint32_t id;
	int r = c ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < d->nr_added && r == 0; i++, c->nr_added = i) {
		r = keep_text(l, d->added[i].key, &c->added[i].key);
		if (r == 0)
			r = keep_text(l, d->added[i].value, &c->added[i].value);
	}
	if (r < 0)
		return r;
	c->dropped = d->dropped;
	hash = hash_bytes(c, changes_bytes(c));
	if (!idtable_find(&l->set_index, hash, is_set, l, c, &id))
		return add_set(l, hash, c, ret_changes);
	*ret_changes = l->sets[id];
	return 0;
}

/* ---- processes ---- */

static uint64_t asked_hash(uint64_t id, uint64_t program)
{
	return hash_mix(hash_mix(0, id), program);
}

static bool is_asked(const void *owner, uint32_t id, const void *key)
{
	const struct asked *a = &((const struct process_labels *)owner)->asked[id], *b = key;

	return a->id == b->id && a->program == b->program;
}

static bool may_have_samples(const struct process_labels *l, const struct asked *a, uint64_t now_ns)
{
	const struct process *now;

	if (!a->is_followed || a->used_ns + LATE_SAMPLE_NS > now_ns)
		return true;
	now = tracker_find(l->cfg.tracker, a->pid, UINT64_MAX);
	return now && process_id(now) == a->id && process_program(now, UINT64_MAX) == a->program;
}

static void forget_gone(struct process_labels *l, uint64_t now_ns)
{
	uint32_t kept = 0;

	if (l->nr_asked < 2 * l->nr_asked_needed + FEW_ASKED)
		return; /* not worth the work */
	idtable_clear(&l->asked_index);
	for (uint32_t i = 0; i < l->nr_asked; i++) {
		if (!may_have_samples(l, &l->asked[i], now_ns))
			continue;
		l->asked[kept] = l->asked[i];
		idtable_insert(&l->asked_index,
			       asked_hash(l->asked[kept].id, l->asked[kept].program), kept);
		kept++;
	}
	l->nr_asked = l->nr_asked_needed = kept;
}

/* Without changes so far. */
static int add_asked(struct process_labels *l, const struct asked *a, struct asked **ret_asked)
{
	int r = ARRAY_RESERVE(l->asked, l->cap_asked, l->nr_asked + 1, l->cfg.max_processes);

	if (r == 0)
		r = idtable_reserve(&l->asked_index);
	if (r < 0)
		return r;
	l->asked[l->nr_asked] = *a;
	*ret_asked = &l->asked[l->nr_asked];
	idtable_insert(&l->asked_index, asked_hash(a->id, a->program), l->nr_asked++);
	return 0;
}

static const struct label_changes *ask(struct process_labels *l, const struct sample *s)
{
	struct process_labels_draft d = { .sample = s };
	struct model_label_texts texts;
	const struct label_changes *changes = &no_changes;

	model_list_labels(s, &texts, &d);
	l->stats.nr_asked++;
	if (l->cfg.ask(l->cfg.ctx, &d) < 0)
		l->stats.nr_failed++;
	else if ((d.dropped || d.nr_added) && keep_draft(l, &d, &changes) < 0)
		l->stats.nr_no_room++;
	draft_done(&d);
	return changes;
}

const struct label_changes *process_labels_find(struct process_labels *l, const struct sample *s)
{
	struct asked key = { .id = model_process_of(s),
			     .program = s->program,
			     .pid = s->pid,
			     .is_followed = s->process != NULL,
			     .changes = &no_changes };
	struct asked *known;
	uint32_t at;

	if (!l)
		return &no_changes;
	if (idtable_find(&l->asked_index, asked_hash(key.id, key.program), is_asked, l, &key,
			 &at)) {
		known = &l->asked[at];
	} else {
		forget_gone(l, s->time_ns);
		if (add_asked(l, &key, &known) < 0) {
			l->stats.nr_no_room++;
			return &no_changes;
		}
		known->changes = ask(l, s);
	}
	if (s->time_ns > known->used_ns)
		known->used_ns = s->time_ns;
	return known->changes;
}
