/* SPDX-License-Identifier: Apache-2.0 */
#include "names/shared_names.h"

#include <errno.h>
#include <pthread.h>

#include "base/array.h"
#include "base/hash.h"

/* of sources and of names; the limit on bytes is reached long before */
#define MAX_NUMBER (1u << 26)

struct shared_names {
	struct shared_source *sources; /* owned */
	struct shared_name *names;     /* owned */
	struct symbol_reply_frame *frames;
	uint32_t nr_sources, cap_sources, nr_names, cap_names, nr_frames, cap_frames;
	struct idtable by_place;
	struct strtab strings;
	uint64_t seed; /* seed for hashes */
	uint64_t max_bytes;
	struct kernel_outcome kernel;

	pthread_mutex_t lock; /* protects the members below */
	uint32_t *by_file;    /* owned; number of the source plus 1; 0: none */
	uint32_t nr_files, cap_files;
	uint32_t kernel_source, vdso_source; /* numbers plus 1; 0: none */
};

int shared_names_new(struct shared_names **ret_names)
{
	struct shared_names *s = calloc(1, sizeof(*s));
	int r = s ? strtab_init(&s->strings) : -ENOMEM;

	if (r < 0) {
		free(s);
		return r;
	}
	s->seed = hash_new_seed(s);
	s->max_bytes = SHARED_NAMES_MAX_BYTES;
	pthread_mutex_init(&s->lock, NULL);
	*ret_names = s;
	return 0;
}

static void free_contents(struct shared_names *s)
{
	free(s->sources);
	free(s->names);
	free(s->frames);
	free(s->by_file);
	idtable_done(&s->by_place);
	strtab_done(&s->strings);
}

struct shared_names *shared_names_free(struct shared_names *s)
{
	if (!s)
		return NULL;
	free_contents(s);
	pthread_mutex_destroy(&s->lock);
	free(s);
	return NULL;
}

/* If there is no memory for an empty table of strings, the full one stays. */
void shared_names_clear(struct shared_names *s)
{
	struct strtab empty;

	if (!s->nr_sources || strtab_init(&empty) < 0)
		return;
	pthread_mutex_lock(&s->lock);
	free_contents(s);
	s->sources = NULL;
	s->names = NULL;
	s->frames = NULL;
	s->by_file = NULL;
	s->nr_sources = s->cap_sources = s->nr_names = s->cap_names = 0;
	s->nr_frames = s->cap_frames = s->nr_files = s->cap_files = 0;
	s->kernel_source = s->vdso_source = 0;
	s->by_place = (struct idtable){ 0 };
	s->strings = empty;
	pthread_mutex_unlock(&s->lock);
}

uint64_t shared_names_bytes(const struct shared_names *s)
{
	return s->strings.total_bytes + s->cap_sources * sizeof(*s->sources) +
	       s->cap_names * sizeof(*s->names) + s->cap_frames * sizeof(*s->frames) +
	       s->by_place.nr_slots * sizeof(*s->by_place.slots) +
	       s->cap_files * sizeof(*s->by_file);
}

uint32_t shared_names_nr(const struct shared_names *s)
{
	return s->nr_names;
}

bool shared_names_is_full(const struct shared_names *s)
{
	return shared_names_bytes(s) >= s->max_bytes;
}

void shared_names_limit(struct shared_names *s, uint64_t max_bytes)
{
	s->max_bytes = max_bytes;
}

/* ---- sources ---- */

/* Under the lock. Returns where the number of a mapping's source is stored; NULL if the mapping has
 * no such slot. */
static uint32_t *find_slot(struct shared_names *s, const struct profile_mapping *m)
{
	switch (m->kind) {
	case PROFILE_MAPPING_KERNEL:
		return &s->kernel_source;
	case PROFILE_MAPPING_VDSO:
		return &s->vdso_source;
	case PROFILE_MAPPING_FILE:
		return m->owner < s->nr_files ? &s->by_file[m->owner] : NULL;
	case PROFILE_MAPPING_JIT:
		break;
	}
	return NULL;
}

static int reserve_file(struct shared_names *s, const struct profile_mapping *m)
{
	uint32_t need = (uint32_t)m->owner + 1;
	int r = m->kind == PROFILE_MAPPING_FILE
			? ARRAY_RESERVE(s->by_file, s->cap_files, need, MAX_NUMBER)
			: 0;

	while (r == 0 && m->kind == PROFILE_MAPPING_FILE && s->nr_files < need)
		s->by_file[s->nr_files++] = 0;
	return r;
}

void shared_names_forget_file(struct shared_names *s, uint32_t file)
{
	pthread_mutex_lock(&s->lock);
	if (file < s->nr_files)
		s->by_file[file] = 0;
	pthread_mutex_unlock(&s->lock);
}

bool shared_names_find_source(struct shared_names *s, const struct profile_mapping *m,
			      uint32_t *ret_source)
{
	const uint32_t *slot;
	uint32_t found;

	pthread_mutex_lock(&s->lock);
	slot = find_slot(s, m);
	found = slot ? *slot : 0;
	pthread_mutex_unlock(&s->lock);
	if (found)
		*ret_source = found - 1;
	return found;
}

int shared_names_add_source(struct shared_names *s, const struct profile_mapping *m,
			    uint32_t *ret_source)
{
	uint32_t *slot;
	int r = shared_names_is_full(s)
			? -E2BIG
			: ARRAY_RESERVE(s->sources, s->cap_sources, s->nr_sources + 1, MAX_NUMBER);

	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	r = reserve_file(s, m);
	slot = r == 0 ? find_slot(s, m) : NULL;
	if (slot)
		*slot = s->nr_sources + 1;
	pthread_mutex_unlock(&s->lock);
	if (!slot)
		return r < 0 ? r : -EINVAL;
	s->sources[s->nr_sources] = (struct shared_source){ 0 };
	*ret_source = s->nr_sources++;
	return 0;
}

struct shared_source *shared_names_source(const struct shared_names *s, uint32_t source)
{
	return &s->sources[source];
}

struct kernel_outcome *shared_names_kernel(struct shared_names *s)
{
	return &s->kernel;
}

/* ---- answers ---- */

struct place {
	uint32_t source;
	uint64_t at;
};

static bool is_at(const void *owner, uint32_t id, const void *key)
{
	const struct shared_name *n = &((const struct shared_names *)owner)->names[id];
	const struct place *p = key;

	return n->source == p->source && n->place == p->at;
}

static uint64_t hash_place(const struct shared_names *s, const struct place *p)
{
	return hash_mix(hash_mix(s->seed, p->source), p->at);
}

bool shared_names_find(const struct shared_names *s, uint32_t source, uint64_t place,
		       uint32_t *ret_name)
{
	struct place p = { source, place };

	return idtable_find(&s->by_place, hash_place(s, &p), is_at, s, &p, ret_name);
}

static int add_frame(struct shared_names *s, const struct symbol_reply *reply,
		     const struct symbol_reply_frame *from, struct symbol_reply_frame *to)
{
	int r = strtab_intern(&s->strings, reply->strings + from->name, &to->name);

	if (r == 0)
		r = strtab_intern(&s->strings, reply->strings + from->system_name,
				  &to->system_name);
	if (r == 0)
		r = strtab_intern(&s->strings, reply->strings + from->filename, &to->filename);
	to->line = from->line;
	to->start_line = from->start_line;
	return r;
}

static int add_frames(struct shared_names *s, const struct symbol_reply *reply,
		      const struct symbol_answer *a)
{
	int r = ARRAY_RESERVE(s->frames, s->cap_frames, s->nr_frames + a->nr_frames, MAX_NUMBER);

	for (uint32_t i = 0; i < a->nr_frames && r == 0; i++)
		r = add_frame(s, reply, &reply->frames[a->first_frame + i],
			      &s->frames[s->nr_frames + i]);
	return r;
}

int shared_names_add(struct shared_names *s, uint32_t source, uint64_t place,
		     const struct symbol_reply *reply, const struct symbol_answer *a,
		     enum naming_failure failure)
{
	struct shared_name name = { .place = place,
				    .source = source,
				    .first_frame = s->nr_frames,
				    .nr_frames = (uint16_t)a->nr_frames,
				    .flags = (uint8_t)a->flags,
				    .failure = (uint8_t)failure };
	struct place p = { source, place };
	uint32_t found;
	int r;

	if (shared_names_find(s, source, place, &found))
		return 0;
	if (shared_names_is_full(s))
		return -E2BIG;
	r = ARRAY_RESERVE(s->names, s->cap_names, s->nr_names + 1, MAX_NUMBER);
	if (r == 0)
		r = idtable_reserve(&s->by_place);
	if (r == 0)
		r = add_frames(s, reply, a);
	if (r < 0)
		return r;
	s->nr_frames += a->nr_frames;
	idtable_insert(&s->by_place, hash_place(s, &p), s->nr_names);
	s->names[s->nr_names++] = name;
	return 0;
}

const struct shared_name *shared_names_get(const struct shared_names *s, uint32_t name)
{
	return &s->names[name];
}

const struct symbol_reply_frame *shared_names_frames(const struct shared_names *s,
						     const struct shared_name *name)
{
	return &s->frames[name->first_frame];
}

const struct strtab *shared_names_strings(const struct shared_names *s)
{
	return &s->strings;
}
