/* SPDX-License-Identifier: Apache-2.0 */
#include "names/naming_known.h"

#include <errno.h>

#include "base/hash.h"
#include "names/kernel_key.h"

/* ---- what answers depend on besides the contents of their source ---- */

static uint64_t hash_ranges(const struct kernel_ranges *k)
{
	uint64_t h = hash_bytes(k->names.data, k->names.len);

	for (uint32_t i = 0; i < k->nr; i++) {
		h = hash_mix(h, k->ranges[i].start);
		h = hash_mix(h, k->ranges[i].end);
		h = hash_mix(h, k->ranges[i].name);
	}
	return h;
}

/* The state of the kernel's code, which changes with modules and BPF programs. */
static bool kernel_state(const struct naming_job *job, uint64_t *ret_state)
{
	struct kernel_key key = { 0 };

	if (kernel_key_read(job->procfs, &key) < 0)
		return false;
	*ret_state = hash_mix(hash_ranges(&job->kernel_ranges), key.modules);
	return true;
}

/* The state of a file, which changes when the file is written to. False if it cannot be
 * examined. */
static bool file_state(const struct naming_job *job, uint32_t number, uint64_t *ret_state)
{
	struct file f;
	bool is_unchanged;

	filestore_take(job->files, number, &f);
	is_unchanged = file_is_unchanged(&f);
	closep(&f.fd);
	*ret_state = hash_mix(hash_mix(hash_mix(f.dev, f.ino), f.mtime_ns), f.size);
	return is_unchanged;
}

/* False: answers of this source cannot be used for other models. */
static bool find_state(const struct naming_job *job, const struct naming_part *part,
		       uint64_t *ret_state)
{
	*ret_state = 0;
	if (!part->has_mapping)
		return false;
	switch (part->mapping.kind) {
	case PROFILE_MAPPING_FILE:
		return file_state(job, (uint32_t)part->mapping.owner, ret_state);
	case PROFILE_MAPPING_KERNEL:
		return kernel_state(job, ret_state);
	case PROFILE_MAPPING_VDSO:
		return true;
	case PROFILE_MAPPING_JIT:
		break;
	}
	return false;
}

/* ---- finding ---- */

/* What identifies an address in its source, independent of the mapping. */
static uint64_t place_of(const struct naming_part *part, const struct naming_item *item)
{
	if (part->mapping.kind == PROFILE_MAPPING_KERNEL)
		return item->address;
	return item->address - part->mapping.start + part->mapping.file_offset;
}

static void find_items(const struct shared_names *names, struct naming_batch *b,
		       struct naming_part *part)
{
	for (uint32_t i = 0; i < part->nr_items; i++) {
		struct naming_item *item = &part->items[i];
		uint32_t name;

		if (item->version ||
		    !shared_names_find(names, b->source, place_of(part, item), &name))
			continue;
		item->known = name + 1;
		part->nr_asked--;
		b->nr_asked--;
	}
}

static void find_in_batch(struct naming_env *env, struct naming_batch *b)
{
	struct shared_names *names = env->job->shared;
	const struct naming_part *first = &b->parts[0];

	b->is_shared = find_state(env->job, first, &b->state);
	if (!b->is_shared || !shared_names_find_source(names, &first->mapping, &b->source))
		return;
	b->has_source = shared_names_source(names, b->source)->state == b->state;
	for (uint32_t i = 0; b->has_source && i < b->nr_parts; i++)
		find_items(names, b, &b->parts[i]);
	if (!b->nr_asked && first->mapping.kind == PROFILE_MAPPING_KERNEL)
		env->job->kernel = *shared_names_kernel(names);
}

void naming_known_find(struct naming_env *env, struct naming_plan *plan)
{
	struct shared_names *names = env->job->shared;

	if (!names)
		return;
	if (shared_names_is_full(names))
		shared_names_clear(names);
	if (env->job->is_last && !shared_names_nr(names))
		return; /* nothing is known, and nothing will be added */
	for (uint32_t i = 0; i < plan->nr_batches; i++)
		find_in_batch(env, &plan->batches[i]);
}

/* ---- keeping answers ---- */

/* True if the reason is temporary and not due to the source: the next attempt may know more. */
static bool may_pass(enum symbol_why why)
{
	switch (why) {
	case WHY_NO_MEMORY:
	case WHY_TOO_LARGE:
	case WHY_CANCELLED:
	case WHY_LINES_CANCELLED:
	case WHY_LINES_TOO_LARGE:
	case WHY_LINES_NO_MEMORY:
	case WHY_SOME_LINES_CANCELLED:
	case WHY_SOME_LINES_TOO_LARGE:
	case WHY_LINES_COST:
	case WHY_FILE_COST:
		return true;
	default:
		return false;
	}
}

static bool is_worth_keeping(const struct naming_env *env, const struct naming_batch *b)
{
	const struct symbol_reply_head *head = b->reply.head;

	return b->is_shared && head && !head->is_raw && !env->job->is_last &&
	       !may_pass(head->replaced) && !may_pass(head->missing) && !may_pass(head->lines) &&
	       !may_pass(head->limit) && !naming_deadline_is_set(env->job->deadline);
}

static int keep_source(struct naming_env *env, struct naming_batch *b)
{
	struct shared_names *names = env->job->shared;
	struct shared_source *source;
	int r = b->has_source ? 0
			      : shared_names_add_source(names, &b->parts[0].mapping, &b->source);

	if (r < 0)
		return r;
	b->has_source = true;
	source = shared_names_source(names, b->source);
	source->state = b->state;
	source->note = b->parts[0].note;
	if (b->parts[0].mapping.kind == PROFILE_MAPPING_KERNEL)
		*shared_names_kernel(names) = env->job->kernel;
	return 0;
}

static enum naming_failure why_unnamed(const struct naming_batch *b, const struct symbol_answer *a)
{
	return a->flags & SYMBOL_IS_REUSED ? NAMING_REUSED : b->unnamed;
}

/* True unless the answer depends on the process: an address without code in the file is shown as an
 * address in the process. */
static bool is_of_source(const struct naming_item *item, const struct symbol_answer *a)
{
	return a->nr_frames && !item->version && !(a->flags & (SYMBOL_NO_ROOM | SYMBOL_IS_OUTSIDE));
}

static int keep_part(struct naming_env *env, const struct naming_batch *b,
		     const struct naming_part *part, const struct symbol_answer **a)
{
	int r = 0;

	for (uint32_t i = 0; i < part->nr_items && r == 0; i++) {
		const struct naming_item *item = &part->items[i];

		if (item->known)
			continue;
		if (is_of_source(item, *a))
			r = shared_names_add(env->job->shared, b->source, place_of(part, item),
					     &b->reply, *a, why_unnamed(b, *a));
		(*a)++;
	}
	return r;
}

void naming_known_keep(struct naming_env *env, struct naming_batch *b)
{
	const struct symbol_answer *a = b->reply.answers;
	int r;

	if (!env->job->shared || !is_worth_keeping(env, b))
		return;
	r = keep_source(env, b);
	for (uint32_t i = 0; i < b->nr_parts && r == 0; i++)
		/* answers that do not fit are resolved again */
		r = keep_part(env, b, &b->parts[i], &a);
}

void naming_known_end(struct naming_env *env)
{
	if (env->job->shared && env->job->is_last)
		shared_names_clear(env->job->shared);
}
