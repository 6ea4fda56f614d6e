/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/compile_job.h"

#include <errno.h>

#include "stacks/debug_frame.h"
#include "unwind/trampoline.h"

#define MAX_RESULT_BYTES (512u << 20) /* more than a table of UNWIND_MAX_ROWS needs */
#define MAX_LOADS ELF_MAX_PHDRS

/* Followed by loads, roots, the words of rules, and the arrays of the table: blocks, rows,
 * rules. */
struct result_head {
	uint32_t has_table, has_own_stack, was_changed, needs_another, end;
	uint32_t nr_loads, nr_roots, nr_words;
	uint32_t nr_blocks, nr_rows, nr_rules;
	uint32_t unused;
	uint64_t base;
	struct unwind_stats stats;
};

struct result_load {
	uint64_t vaddr, offset, filesz, memsz, flags;
};

struct compile_job compile_job_of_file(const struct file *f)
{
	return (struct compile_job){ .kind = COMPILE_FILE,
				     .fd = f->fd,
				     .debug_fd = -1,
				     .dev = f->dev,
				     .ino = f->ino,
				     .mtime_ns = f->mtime_ns,
				     .size = f->size,
				     .is_copy = f->is_copy };
}

static void compile(const struct compile_job *job, const struct cancel *cancel,
		    struct rule_dict *dict, struct compiled_file *ret_file)
{
	struct file f = { .fd = job->fd,
			  .dev = job->dev,
			  .ino = job->ino,
			  .mtime_ns = job->mtime_ns,
			  .size = job->size,
			  .is_copy = job->is_copy };

	switch (job->kind) {
	case COMPILE_FILE:
		compile_file(&f, job->debug_fd, cancel, dict, ret_file);
		break;
	case COMPILE_VDSO:
		compile_vdso(dict, ret_file);
		break;
	case COMPILE_TRAMPOLINES:
		compile_trampolines(&trampolines[job->trampoline], dict, ret_file);
		break;
	}
}

/* ---- writing ---- */

static int write_loads(const struct compiled_file *f, struct buf *to)
{
	int r = 0;

	for (uint32_t i = 0; i < f->nr_loads && r == 0; i++) {
		const struct elf_segment *s = &f->loads[i];
		struct result_load l = { s->vaddr, s->offset, s->filesz, s->memsz, s->flags };

		r = buf_append(to, &l, sizeof(l));
	}
	return r;
}

static int write_table(const struct unwind_table *t, struct buf *to)
{
	int r = buf_append(to, t->blocks, t->nr_blocks * sizeof(*t->blocks));

	if (r == 0)
		r = buf_append(to, t->rows, t->nr_rows * sizeof(*t->rows));
	return r < 0 ? r : buf_append(to, t->rules, t->nr_rules * sizeof(*t->rules));
}

/* All bytes are initialized, including padding, because results are compared. */
static struct result_head head_of(const struct compiled_file *f, const struct rule_dict *dict)
{
	const struct unwind_table *t = f->table;
	struct result_head head;

	memset(&head, 0, sizeof(head));
	head.has_own_stack = f->has_own_stack;
	head.was_changed = f->was_changed;
	head.needs_another = f->needs_another;
	head.end = f->end;
	head.nr_loads = f->nr_loads;
	head.nr_roots = f->nr_roots;
	if (!t)
		return head;
	head.has_table = true;
	head.nr_words = dict->nr;
	head.nr_blocks = t->nr_blocks;
	head.nr_rows = t->nr_rows;
	head.nr_rules = t->nr_rules;
	head.base = t->base;
	head.stats = t->stats;
	return head;
}

static size_t bytes_of(const struct result_head *h)
{
	return sizeof(*h) + h->nr_loads * sizeof(struct result_load) +
	       h->nr_roots * sizeof(struct code_range) + h->nr_words * sizeof(pa_rule) +
	       h->nr_blocks * sizeof(struct pa_block) + h->nr_rows * sizeof(struct pa_row) +
	       h->nr_rules * sizeof(uint16_t);
}

static int write_result(const struct compiled_file *f, const struct rule_dict *dict, struct buf *to)
{
	struct result_head head = head_of(f, dict);
	int r = buf_reserve(to, bytes_of(&head));

	if (r == 0)
		r = buf_append(to, &head, sizeof(head));
	if (r == 0)
		r = write_loads(f, to);
	if (r == 0)
		r = buf_append(to, f->roots, f->nr_roots * sizeof(f->roots[0]));
	if (r == 0)
		r = buf_append(to, dict->rules, head.nr_words * sizeof(*dict->rules));
	return r < 0 || !f->table ? r : write_table(f->table, to);
}

int compile_job_run(const struct compile_job *job, const struct cancel *cancel,
		    struct buf *ret_bytes)
{
	struct compiled_file f = { 0 };
	struct rule_dict dict;
	int r = rule_dict_init(&dict);

	ret_bytes->max = MAX_RESULT_BYTES;
	if (r == 0) {
		compile(job, cancel, &dict, &f);
		r = write_result(&f, &dict, ret_bytes);
	}
	compiled_file_done(&f);
	rule_dict_done(&dict);
	return r;
}

/* ---- reading ---- */

struct reading {
	char *bytes;
	size_t left;
};

/* Finds an array of nr items of a size. */
static int find_array(struct reading *in, size_t nr, size_t size, void *ret_array)
{
	if (nr > in->left / size)
		return -EBADMSG;
	*(void **)ret_array = in->bytes;
	in->bytes += nr * size;
	in->left -= nr * size;
	return 0;
}

static int read_loads(struct reading *in, uint32_t nr, struct compiled_file *f)
{
	const struct result_load *loads;
	int r = nr > MAX_LOADS ? -EBADMSG : find_array(in, nr, sizeof(*loads), &loads);

	if (r < 0)
		return r;
	f->loads = calloc(nr + 1, sizeof(*f->loads));
	if (!f->loads)
		return -ENOMEM;
	for (; f->nr_loads < nr; f->nr_loads++) {
		const struct result_load *l = &loads[f->nr_loads];

		f->loads[f->nr_loads] = (struct elf_segment){ l->vaddr, l->offset, l->filesz,
							      l->memsz, (uint32_t)l->flags };
	}
	return 0;
}

static int read_roots(struct reading *in, uint32_t nr, struct compiled_file *f)
{
	const struct code_range *roots;
	int r = nr > COMPILED_MAX_ROOTS ? -EBADMSG : find_array(in, nr, sizeof(*roots), &roots);

	if (r < 0)
		return r;
	memcpy(f->roots, roots, nr * sizeof(*roots));
	f->nr_roots = nr;
	return 0;
}

/* Adds the rules, each of which must get its own index as its number. */
static int read_words(struct reading *in, uint32_t nr, struct rule_dict *dict)
{
	const pa_rule *words;
	int r = find_array(in, nr, sizeof(*words), &words);

	for (uint32_t i = 0; i < nr && r == 0; i++) {
		uint16_t id;

		r = rule_dict_intern(dict, words[i], &id);
		if (r == 0 && id != i)
			r = -EBADMSG;
	}
	return r;
}

/* True if blocks are consecutive and refer to existing rows, and the table's rules exist. The rules
 * of rows are checked when they are renumbered, see shared_rules_enter(). */
static bool is_sound(const struct unwind_table *t, uint32_t nr_words)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < t->nr_blocks; i++) {
		const struct pa_block *b = &t->blocks[i];

		if (!b->nr)
			continue;
		if (b->first < first || b->nr > PA_BLOCK_MAX_ROWS || b->first > t->nr_rows ||
		    b->nr > t->nr_rows - b->first)
			return false;
		first = b->first;
	}
	for (uint32_t i = 0; i < t->nr_rules; i++)
		if (t->rules[i] <= PA_RULE_ID_USER || t->rules[i] >= nr_words)
			return false;
	return t->nr_blocks && t->base % PA_BLOCK_SIZE == 0;
}

/* Reads the table, whose arrays stay in the bytes. */
static int read_table(struct reading *in, const struct result_head *head, struct compiled_file *f)
{
	struct unwind_table t = { .base = head->base,
				  .nr_rows = head->nr_rows,
				  .nr_blocks = head->nr_blocks,
				  .nr_rules = head->nr_rules,
				  .stats = head->stats };
	int r = find_array(in, t.nr_blocks, sizeof(*t.blocks), &t.blocks);

	if (r == 0)
		r = find_array(in, t.nr_rows, sizeof(*t.rows), &t.rows);
	if (r == 0)
		r = find_array(in, t.nr_rules, sizeof(*t.rules), &t.rules);
	if (r == 0 && (in->left || !is_sound(&t, head->nr_words)))
		r = -EBADMSG;
	if (r < 0)
		return r;
	f->table = malloc(sizeof(t));
	if (!f->table)
		return -ENOMEM;
	*f->table = t;
	return 0;
}

static int read_parts(struct reading *in, const struct result_head *head, struct rule_dict *dict,
		      struct compiled_file *f)
{
	int r = read_loads(in, head->nr_loads, f);

	if (r == 0)
		r = read_roots(in, head->nr_roots, f);
	if (r == 0)
		r = read_words(in, head->nr_words, dict);
	if (r == 0 && head->has_table)
		return read_table(in, head, f);
	return r == 0 && in->left ? -EBADMSG : r;
}

int compile_result_read(struct buf *bytes, struct rule_dict *dict, struct compiled_file *ret_file)
{
	struct reading in = { bytes->data, bytes->len };
	struct result_head *head;
	int r = find_array(&in, 1, sizeof(*head), &head);

	*ret_file = (struct compiled_file){ 0 };
	if (r == 0 && head->end > WORK_CANCELLED)
		r = -EBADMSG;
	if (r < 0)
		return r;
	ret_file->has_own_stack = head->has_own_stack;
	ret_file->was_changed = head->was_changed;
	ret_file->needs_another = head->needs_another;
	ret_file->end = head->end;
	r = read_parts(&in, head, dict, ret_file);
	if (ret_file->table) {
		ret_file->table->store = bytes->data;
		*bytes = BUF_INIT(bytes->max);
	}
	if (r < 0)
		compiled_file_done(ret_file);
	return r;
}

/* ---- running ---- */

static int run_and_read(const struct compile_job *job, const struct cancel *cancel,
			struct rule_dict *dict, struct compiled_file *ret_file)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT(MAX_RESULT_BYTES);
	int r = compile_job_run(job, cancel, &bytes);

	*ret_file = (struct compiled_file){ 0 };
	return r < 0 ? r : compile_result_read(&bytes, dict, ret_file);
}

/* Runs the job again with the debug file. If that gives no table, the first result stays. */
static void run_again(const struct compile_job *job, const struct cancel *cancel,
		      struct rule_dict *dict, struct compiled_file *f)
{
	struct compiled_file more = { 0 }, first = *f;
	struct rule_dict more_dict, first_dict = *dict;

	if (rule_dict_init(&more_dict) == 0 && run_and_read(job, cancel, &more_dict, &more) == 0 &&
	    (more.table || more.was_changed)) {
		*f = more;
		*dict = more_dict;
		more = first;
		more_dict = first_dict;
	}
	compiled_file_done(&more);
	rule_dict_done(&more_dict);
}

int compile_job_do(const struct compile_job *job, const struct debug_query *where,
		   const struct cancel *cancel, struct rule_dict *dict,
		   struct compiled_file *ret_file)
{
	struct compile_job with_debug = *job;
	int r = run_and_read(job, cancel, dict, ret_file);

	if (r < 0 || !where || !ret_file->needs_another || ret_file->was_changed ||
	    ret_file->end != WORK_GOES_ON)
		return r;
	with_debug.debug_fd = debug_frame_find(job->fd, where, cancel);
	if (with_debug.debug_fd < 0)
		return 0;
	run_again(&with_debug, cancel, dict, ret_file);
	close(with_debug.debug_fd);
	return 0;
}
