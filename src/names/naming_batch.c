/* SPDX-License-Identifier: Apache-2.0 */
#include "names/naming_batch.h"

#include <errno.h>

#include "base/clock.h"
#include "names/source.h"

void naming_batch_clear(struct naming_batch *b)
{
	symbol_reply_done(&b->reply);
}

bool naming_is_over(const struct naming_env *env)
{
	return atomic_load_explicit(&env->is_over, memory_order_relaxed) ||
	       (env->job->cancel && atomic_load_explicit(env->job->cancel, memory_order_relaxed));
}

bool naming_is_over_cb(const void *env)
{
	return naming_is_over(env);
}

bool naming_is_over_or_late(const void *naming_env)
{
	const struct naming_env *env = naming_env;

	return naming_is_over(env) || naming_deadline_is_over(env->job->deadline);
}

/* Who asks for the end while lines are read gets the names that are left, not the lines. */
bool naming_lines_are_over(const void *naming_env)
{
	const struct naming_env *env = naming_env;

	if (env->puts_off_lines || naming_is_over_or_late(env))
		return true;
	return !env->is_hasty && naming_deadline_is_set(env->job->deadline);
}

bool naming_batch_lacks_lines(const struct naming_batch *b)
{
	return b->reply.head && (b->reply.head->lines == WHY_LINES_CANCELLED ||
				 b->reply.head->lines == WHY_SOME_LINES_CANCELLED);
}

static const struct profile_mapping *mapping_of(const struct naming_part *part)
{
	return part->has_mapping ? &part->mapping : NULL;
}

/* ---- the job's items ---- */

static void add_items(const struct naming_part *part, struct symbol_item *to)
{
	for (uint32_t i = 0; i < part->nr_items; i++) {
		const struct naming_item *from = &part->items[i];

		if (from->known)
			continue;
		*to++ = (struct symbol_item){
			.address = from->address,
			.offset = from->address - part->mapping.start + part->mapping.file_offset,
			.version = from->version,
		};
	}
}

/* The caller frees them; NULL: out of memory. */
static struct symbol_item *items_of(const struct naming_batch *b)
{
	struct symbol_item *items = calloc((size_t)b->nr_asked + 1, sizeof(*items)), *to = items;

	for (uint32_t i = 0; items && i < b->nr_parts; i++) {
		add_items(&b->parts[i], to);
		to += b->parts[i].nr_asked;
	}
	return items;
}

/* ---- the reply ---- */

static enum naming_failure failure_of(const struct source *s, const struct profile_mapping *m,
				      bool is_raw, bool is_interrupted)
{
	if (s->is_replaced)
		return NAMING_NO_ROOM;
	if (!m)
		return NAMING_NO_MAPPING;
	if (is_interrupted)
		return NAMING_INTERRUPTED;
	switch (m->kind) {
	case PROFILE_MAPPING_KERNEL:
		return is_raw ? NAMING_NO_KERNEL_LIST : NAMING_NO_KERNEL_SYMBOL;
	case PROFILE_MAPPING_JIT:
		return NAMING_NO_JIT_MAP;
	case PROFILE_MAPPING_FILE:
	case PROFILE_MAPPING_VDSO:
		break;
	}
	return is_raw ? NAMING_NO_FILE : NAMING_NO_SYMBOL;
}

static bool has_no_room(const struct symbol_answer *answers, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		if (answers[i].flags & SYMBOL_NO_ROOM)
			return true;
	return false;
}

static void note_parts(struct naming_batch *b, const struct source *s)
{
	const struct symbol_reply_head *head = b->reply.head;
	const struct symbol_answer *answers = b->reply.answers;
	struct naming_note note = source_note(s, head);
	struct naming_note no_room = { .why = symbol_why_text(head->replaced).why };

	note.limit = no_room.limit = symbol_why_text(head->limit).why;
	for (uint32_t i = 0; i < b->nr_parts; i++) {
		uint32_t nr = b->parts[i].nr_asked;

		b->parts[i].note = head->replaced && has_no_room(answers, nr) ? no_room : note;
		answers += nr;
	}
}

static void note_reply(struct naming_batch *b, const struct source *s)
{
	const struct profile_mapping *m = mapping_of(&b->parts[0]);
	const struct symbol_reply_head *head = b->reply.head;

	note_parts(b, s);
	b->is_interrupted = s->is_interrupted || head->missing == WHY_CANCELLED;
	b->unnamed = failure_of(s, m, head->is_raw, b->is_interrupted);
	b->is_fallback = s->is_fallback || s->is_replaced || head->replaced ||
			 (m && m->kind != PROFILE_MAPPING_JIT && head->is_raw);
}

static void give_up(struct naming_batch *b)
{
	naming_batch_clear(b);
	for (uint32_t i = 0; i < b->nr_parts; i++)
		b->parts[i].note.why = symbol_why_text(WHY_NO_MEMORY).why;
	b->is_fallback = true;
}

static void charge_owner(struct naming_env *env, const struct naming_batch *b,
			 const struct source *s, uint64_t cpu_ns)
{
	uint64_t lines_ns = b->reply.head ? b->reply.head->lines_cpu_ns : 0;

	if (lines_ns > cpu_ns)
		lines_ns = cpu_ns;
	naming_owners_charge(&env->owners, NAMING_LINES, s->root, s->user, lines_ns);
	naming_owners_charge(&env->owners, NAMING_SYMBOLS, s->root, s->user, cpu_ns - lines_ns);
}

/* ---- running ---- */

/* Prepares the source; one that cannot be prepared, or not in time, gives raw addresses. */
static int prepare_somehow(struct naming_env *env, const struct naming_batch *b, struct source *s)
{
	int r = cancel_is_asked(s->cancel) ? -ECANCELED
					   : source_prepare(env->job, mapping_of(&b->parts[0]), s);

	if (r == -ECANCELED && !naming_is_over(env)) {
		source_make_raw(s, symbol_why_text(WHY_CANCELLED).why, NULL);
		s->is_interrupted = true;
		return 0;
	}
	if (!source_is_about_size(r))
		return r;
	source_make_raw(s, symbol_why_text(r == -ENOMEM ? WHY_NO_MEMORY : WHY_TOO_LARGE).why, NULL);
	s->is_replaced = true;
	return 0;
}

/* Takes the reply, unless an earlier one knows more. */
static void take_reply(struct naming_batch *b, const struct source *s, struct symbol_reply *reply)
{
	const struct symbol_reply_head *old = b->reply.head, *head = reply->head;

	if (old && (head->replaced || (head->is_raw && !old->is_raw))) {
		symbol_reply_done(reply);
		return;
	}
	symbol_reply_done(&b->reply);
	b->reply = *reply;
	note_reply(b, s);
}

static int resolve_items(struct naming_env *env, struct naming_batch *b,
			 const struct symbol_item *items, struct source *s)
{
	struct cancel all = { naming_is_over_cb, env };
	struct symbol_job_cancel cancel = { .reading = s->cancel,
					    .lines = s->lines_cancel,
					    .all = &all };
	struct symbol_reply reply = { 0 };
	int r = prepare_somehow(env, b, s);

	if (r < 0)
		return r;
	s->job.items = items;
	s->job.nr_items = b->nr_asked;
	r = source_resolve(s, &cancel, &reply);
	if (r == 0)
		take_reply(b, s, &reply);
	else if (source_is_about_size(r) && !b->reply.head)
		give_up(b);
	return source_is_about_size(r) ? 0 : r;
}

static int run_with_items(struct naming_env *env, struct naming_batch *b,
			  const struct symbol_item *items)
{
	struct cancel cancel = { naming_is_over_or_late, env };
	struct cancel lines_cancel = { naming_lines_are_over, env };
	uint64_t began_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct source s = SOURCE_NONE;
	int r;

	s.budget = &env->budget;
	s.cancel = &cancel;
	s.lines_cancel = &lines_cancel;
	s.owners = &env->owners;
	r = resolve_items(env, b, items, &s);
	if (s.is_foreign)
		charge_owner(env, b, &s, clock_ns(CLOCK_THREAD_CPUTIME_ID) - began_cpu_ns);
	b->waited_ns += s.waited_ns;
	source_done(&s);
	return r;
}

void naming_batch_run(struct naming_env *env, struct naming_batch *b)
{
	_cleanup_(freep) struct symbol_item *items = NULL;
	uint64_t began_ns = clock_mono_ns(), waited_ns = b->waited_ns;

	if (naming_is_over(env)) {
		b->result = -ECANCELED;
		return;
	}
	if (!b->nr_asked)
		return; /* all answers are known */
	items = items_of(b);
	if (items)
		b->result = run_with_items(env, b, items);
	else
		give_up(b);
	b->took_ns += clock_mono_ns() - began_ns - (b->waited_ns - waited_ns);
}
