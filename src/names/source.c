/* SPDX-License-Identifier: Apache-2.0 */
#include "names/source.h"

#include <errno.h>

#include "base/clock.h"
#include "elf/elf_image.h"

/* Limit on .dwo files that are opened for one job: a hostile file, or a helper process that it has
 * taken over, could otherwise make the agent open any number. A browser has 30,000. */
#define MAX_SPLIT_FILES (1u << 18)

#define MORE_SYMBOLS                                                                               \
	"install its debug package, or name a debuginfod server (pa_options.debuginfod_urls)"

static void close_symbol_files(struct symbol_job *job)
{
	for (uint32_t i = 0; i < job->nr_symbol_files; i++) {
		closep(&job->symbol_files[i].map_fd);
		closep(&job->symbol_files[i].dump_fd);
	}
	job->nr_symbol_files = 0;
}

void source_done(struct source *s)
{
	s->symbolizer = symbolizer_free(s->symbolizer);
	debug_set_done(&s->debug);
	s->image = elf_image_free(s->image);
	closep(&s->file.fd);
	s->file.fd = -1;
	close_symbol_files(&s->job);
	if (s->held_bytes)
		naming_budget_give(s->budget, s->held_bytes);
	s->held_bytes = 0;
}

void source_make_raw(struct source *s, const char *why, const char *advice)
{
	struct symbol_job raw = SYMBOL_JOB(SYMBOL_JOB_RAW);

	source_done(s);
	raw.items = s->job.items;
	raw.nr_items = s->job.nr_items;
	s->job = raw;
	s->note = (struct naming_note){ .why = why, .advice = advice };
}

void source_hold(struct source *s, const struct elf_sources *src)
{
	uint64_t began_ns = clock_mono_ns();

	if (!s->budget || s->held_bytes)
		return;
	s->held_bytes = symbolizer_elf_cost_bytes(src);
	if (s->held_bytes)
		naming_budget_take(s->budget, s->held_bytes);
	s->waited_ns += clock_mono_ns() - began_ns;
}

bool source_is_about_size(int r)
{
	return r == -ENOMEM || r == -E2BIG;
}

int source_prepare(struct naming_job *job, const struct profile_mapping *m, struct source *s)
{
	if (!m) {
		source_make_raw(s, "the address was in no known mapping", NULL);
		return 0;
	}
	switch (m->kind) {
	case PROFILE_MAPPING_FILE:
		return source_prepare_file(job, m, s);
	case PROFILE_MAPPING_KERNEL:
		return source_prepare_kernel(job, s);
	case PROFILE_MAPPING_VDSO:
		return source_prepare_vdso(s);
	case PROFILE_MAPPING_JIT:
		return source_prepare_jit(job, m, s);
	}
	return -EINVAL;
}

/* Opens the file that the job asks for, by a path with its NUL; empty: the .dwp. */
static int open_split_file(struct source *s, const struct buf *path)
{
	if (s->nr_split_files++ >= MAX_SPLIT_FILES)
		return -EMFILE;
	if (path->len && path->data[path->len - 1] != '\0')
		return -EBADMSG;
	return debug_search_split(&s->query, path->len ? path->data : NULL);
}

static int run_job(struct source *s, const struct symbol_job_cancel *cancel,
		   struct symbol_reply *ret_reply)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT(SYMBOL_REPLY_MAX_BYTES);
	_cleanup_(symbol_run_freep) struct symbol_run *run = NULL;
	int r = s->symbolizer ? symbol_run_new_by(TAKE(s->symbolizer), &s->job, cancel, &run)
			      : symbol_run_new(&s->job, cancel, &run);

	if (r < 0)
		return r;
	while ((r = symbol_run_step(run, &bytes)) == -EAGAIN) {
		symbol_run_supply(run, open_split_file(s, &bytes));
		buf_clear(&bytes);
	}
	return r < 0 ? r : symbol_reply_read(&bytes, s->job.nr_items, ret_reply);
}

int source_resolve(struct source *s, const struct symbol_job_cancel *cancel,
		   struct symbol_reply *ret_reply)
{
	int r = run_job(s, cancel, ret_reply);

	if (s->job.kind != SYMBOL_JOB_FILE || !source_drop_file(s, r))
		return r;
	if (r == 0)
		symbol_reply_done(ret_reply);
	return run_job(s, cancel, ret_reply);
}

/* The note for a file; debug files elsewhere may contain more than the file itself. */
static struct naming_note file_note(const struct source *s, struct symbol_why_text text)
{
	if (text.advice && s->debug.why)
		return (struct naming_note){ .why = s->debug.why, .advice = s->debug.advice };
	return (struct naming_note){ .why = text.why, .advice = text.advice ? MORE_SYMBOLS : NULL };
}

struct naming_note source_note(const struct source *s, const struct symbol_reply_head *head)
{
	struct symbol_why_text text = symbol_why_text(head->missing);

	if (head->is_raw && text.why)
		return (struct naming_note){ .why = text.why, .advice = text.advice };
	if (s->job.kind == SYMBOL_JOB_JIT)
		return source_jit_note(s, &head->jit_counts);
	if (s->job.kind == SYMBOL_JOB_FILE)
		return file_note(s, text);
	return s->note.why ? s->note
			   : (struct naming_note){ .why = text.why, .advice = text.advice };
}

int source_compare(const struct profile_mapping *a, const struct profile_mapping *b)
{
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return 0;
}
