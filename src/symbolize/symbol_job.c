/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symbol_job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "elf/elf_image.h"
#include "elf/vdso.h"
#include "symbolize/symbol_reply.h"
#include "symbolize/symbolizer_elf.h"

#define NR_IMAGES 3 /* the code, its debug file, the supplementary file of dwz */

struct symbol_run {
	const struct symbol_job *job; /* borrowed */
	struct symbol_job_cancel cancel;
	struct elf_image *images[NR_IMAGES]; /* owned; NULL: none */
	struct symbolizer *symbolizer;       /* owned; NULL: no memory even for raw addresses */
	uint32_t next;                       /* the next item */
	struct symbol_reply_draft draft;
};

static bool is_about_size(int r)
{
	return r == -ENOMEM || r == -E2BIG;
}

/* ---- opening ---- */

static int open_image(struct symbol_run *run, int fd, struct elf_image **ret_image)
{
	int r = fd < 0 ? 0 : elf_image_open_fd(fd, ret_image);

	if (r == 0 && *ret_image)
		elf_image_limit(*ret_image, run->cancel.reading, run->job->symbols_cpu_ns);
	return r;
}

static int open_elf(struct symbol_run *run)
{
	const struct symbol_job *job = run->job;
	struct elf_sources src = { .image = run->images[0],
				   .debug = run->images[1],
				   .alt = run->images[2],
				   .has_split_files = job->has_split_files,
				   .cancel = run->cancel.lines,
				   .max_cpu_ns = job->lines_cpu_ns,
				   .lines_cpu_ns = &run->draft.head.lines_cpu_ns,
				   .label = job->label };

	return symbolizer_new_elf(&src, &run->symbolizer);
}

static int open_file(struct symbol_run *run)
{
	const int fds[NR_IMAGES] = { run->job->fd, run->job->debug_fd, run->job->alt_fd };
	int r = 0;

	for (size_t i = 0; i < NR_IMAGES && r == 0; i++)
		r = open_image(run, fds[i], &run->images[i]);
	return r < 0 ? r : open_elf(run);
}

static int open_vdso(struct symbol_run *run)
{
	int r = vdso_open(&run->images[0]);

	return r < 0 ? r : open_elf(run);
}

static int open_jit(struct symbol_run *run)
{
	const struct symbol_job *job = run->job;
	struct jit_sources src = { .nr_symbol_files = job->nr_symbol_files,
				   .addresses = job->addresses,
				   .nr_addresses = job->nr_addresses,
				   .cancel = run->cancel.reading };

	memcpy(src.symbol_files, job->symbol_files, sizeof(src.symbol_files));
	return symbolizer_new_jit(&src, &run->draft.head.jit_counts, &run->symbolizer);
}

static int open_source(struct symbol_run *run)
{
	switch (run->job->kind) {
	case SYMBOL_JOB_RAW:
		return symbolizer_new_raw(&run->symbolizer);
	case SYMBOL_JOB_FILE:
		return open_file(run);
	case SYMBOL_JOB_VDSO:
		return open_vdso(run);
	case SYMBOL_JOB_JIT:
		return open_jit(run);
	}
	return -EINVAL;
}

/* The images go after the symbolizer, which borrows them. */
static void close_source(struct symbol_run *run)
{
	run->symbolizer = symbolizer_free(run->symbolizer);
	for (size_t i = 0; i < NR_IMAGES; i++)
		run->images[i] = elf_image_free(run->images[i]);
}

/* Notes what the source knows, as far as it is part of the reply. */
static void note_source(struct symbol_run *run)
{
	const struct symbolizer *s = run->symbolizer;
	struct symbol_reply_head *head = &run->draft.head;

	if (!s || head->replaced)
		return;
	head->is_raw = symbolizer_is_raw(s);
	head->missing = s->missing;
	head->lines = s->lines;
	head->limit = s->limit;
}

/* Uses raw addresses instead, since it is out of memory or over a limit. */
static void replace_source(struct symbol_run *run, int r)
{
	note_source(run);
	close_source(run);
	run->draft.head.replaced = r == -ENOMEM ? WHY_NO_MEMORY : WHY_TOO_LARGE;
	(void)symbolizer_new_raw(&run->symbolizer);
}

static int run_new(const struct symbol_job *job, const struct symbol_job_cancel *cancel,
		   struct symbol_run **ret_run)
{
	_cleanup_(symbol_run_freep) struct symbol_run *run = calloc(1, sizeof(*run));
	int r;

	if (!run)
		return -ENOMEM;
	run->job = job;
	run->cancel = *cancel;
	r = symbol_reply_draft_init(&run->draft, job->nr_items);
	if (r < 0)
		return r;
	*ret_run = TAKE(run);
	return 0;
}

/* Uses raw addresses instead, since it was cancelled, and notes that as the reason. */
static int replace_cancelled(struct symbol_run *run)
{
	int r;

	if (cancel_is_asked(run->cancel.all))
		return -ECANCELED;
	close_source(run);
	r = symbolizer_new_raw(&run->symbolizer);
	if (r == 0)
		run->symbolizer->missing = WHY_CANCELLED;
	return r;
}

int symbol_run_new(const struct symbol_job *job, const struct symbol_job_cancel *cancel,
		   struct symbol_run **ret_run)
{
	_cleanup_(symbol_run_freep) struct symbol_run *run = NULL;
	int r = run_new(job, cancel, &run);

	if (r < 0)
		return r;
	r = open_source(run);
	if (r == -ECANCELED)
		r = replace_cancelled(run);
	if (is_about_size(r))
		replace_source(run, r);
	else if (r < 0)
		return r;
	*ret_run = TAKE(run);
	return 0;
}

int symbol_run_new_by(struct symbolizer *s, const struct symbol_job *job,
		      const struct symbol_job_cancel *cancel, struct symbol_run **ret_run)
{
	int r = run_new(job, cancel, ret_run);

	if (r < 0)
		symbolizer_free(s);
	else
		(*ret_run)->symbolizer = s;
	return r;
}

struct symbol_run *symbol_run_free(struct symbol_run *run)
{
	if (!run)
		return NULL;
	close_source(run);
	symbol_reply_draft_done(&run->draft);
	free(run);
	return NULL;
}

/* ---- resolving ---- */

static int add_outside(struct symbol_run *run, uint32_t i)
{
	char text[sizeof("0x") + 16];
	struct symbol_frame frame = { .name = text, .system_name = text };
	struct symbol_result res = { .frames = &frame, .nr_frames = 1, .is_raw = true };

	(void)snprintf(text, sizeof(text), "0x%" PRIx64, run->job->items[i].address);
	return symbol_reply_draft_add(&run->draft, i, &res, SYMBOL_IS_OUTSIDE);
}

/* Converts the address to one of the source. -ENOENT: the file has no code there. */
static int source_address(const struct symbol_run *run, const struct symbol_item *item,
			  uint64_t *ret_addr)
{
	if (run->images[0])
		return elf_image_vaddr_of(run->images[0], item->offset, ret_addr);
	*ret_addr = item->address;
	return 0;
}

static int resolve_item(struct symbol_run *run, uint32_t i)
{
	const struct symbol_item *item = &run->job->items[i];
	struct symbolizer *s = run->symbolizer;
	struct symbol_result res;
	uint64_t addr;
	int r;

	if (!s)
		return -ENOMEM;
	if (source_address(run, item, &addr) < 0)
		return add_outside(run, i);
	if (item->version && s->ops->resolve_version)
		r = s->ops->resolve_version(s, addr, item->version, &res);
	else
		r = s->ops->resolve(s, addr, &res);
	return r < 0 ? r
		     : symbol_reply_draft_add(&run->draft, i, &res,
					      run->draft.head.replaced ? SYMBOL_NO_ROOM : 0);
}

static int resolve_or_replace(struct symbol_run *run, uint32_t i)
{
	int r = resolve_item(run, i);

	if (!is_about_size(r))
		return r;
	replace_source(run, r);
	r = resolve_item(run, i);
	if (is_about_size(r)) {
		run->draft.answers[i].flags = SYMBOL_NO_ROOM;
		r = 0;
	}
	return r;
}

static int append_needed_path(const struct symbol_run *run, struct buf *to)
{
	const char *path = symbolizer_elf_needed_path(run->symbolizer);

	return path ? buf_append(to, path, strlen(path) + 1) : 0;
}

int symbol_run_step(struct symbol_run *run, struct buf *ret_bytes)
{
	int r = 0;

	ret_bytes->max = SYMBOL_REPLY_MAX_BYTES;
	while (run->next < run->job->nr_items && r == 0) {
		r = cancel_is_asked(run->cancel.all) ? -ECANCELED
						     : resolve_or_replace(run, run->next);
		run->next += r == 0;
	}
	if (r == -EAGAIN) {
		r = append_needed_path(run, ret_bytes);
		return r < 0 ? r : -EAGAIN;
	}
	if (r < 0)
		return r;
	note_source(run);
	close_source(run); /* frees its memory while the reply is written */
	return symbol_reply_write(&run->draft, ret_bytes);
}

void symbol_run_supply(struct symbol_run *run, int fd)
{
	symbolizer_elf_supply(run->symbolizer, fd);
}
