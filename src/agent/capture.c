/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture.h"

#include <errno.h>
#include <sys/stat.h>

#include "agent/debug_files.h"
#include "base/array.h"
#include "base/clock.h"
#include "elf/elf_image.h"
#include "proc/unanswered.h"

#define QUEUE_MAX_BYTES (1u << 30)
/* A dead process's mappings are kept this long for samples that are still on their way. */
#define FORGET_AFTER_NS (2 * NS_PER_S)
#define FORGET_EVERY_NS NS_PER_S
#define JIT_FDS_SHARE 8          /* of the files kept open one in so many may be a perf map */
#define KSYMBOL_NAME_SIZE 600    /* the kernel's own limit is 512 */
#define RESCAN_EVERY_NS NS_PER_S /* of all processes, after a loss */
/* Tables that one walk may wait for, one after the other: more than a stack shows files. Where there
 * is no room for two at a time it would wait for ever. */
#define MAX_TRIES 64
#define LAST_TABLES_CPU_NS (4 * NS_PER_S) /* of compiling, when sampling is over */

struct capture *capture_free(struct capture *c)
{
	if (!c)
		return NULL;
	debug_files_free(c->debug);
	profile_free(c->profile);
	parking_done(&c->parking);
	unwinder_free(c->unwinder);
	tracker_free(c->tracker);
	jit_files_free(c->jit);
	filestore_free(c->files);
	procfs_close(&c->procfs);
	buf_done(&c->queue);
	idtable_done(&c->process_ids);
	free(c->seen_processes);
	free(c->file_infos);
	free(c->notes);
	kernel_ranges_done(&c->kernel_ranges);
	vmlinux_done(&c->vmlinux);
	jit_budget_done(&c->jit_budget);
	free(c->kernel_cache_path);
	free(c);
	return NULL;
}

/* Somebody waits for the end: what is not there by now is not waited for. */
static bool is_in_a_hurry(const void *ctx)
{
	const struct capture *c = ctx;

	return c->cfg.hurry && atomic_load_explicit(c->cfg.hurry, memory_order_relaxed);
}

/* The store asks for the build-id of a file it found by path; it cannot read ELF itself. */
static int read_build_id(void *ctx, int fd, struct build_id *ret_id)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	int r = elf_image_open_fd(fd, &img);

	if (r < 0)
		return r;
	*ret_id = *elf_image_build_id(img);
	return 0;
}

static int init_strings(struct capture *c)
{
	struct {
		const char *text;
		uint32_t *id;
	} labels[] = {
		{ "pid", &c->label_pid },
		{ "tid", &c->label_tid },
		{ "comm", &c->label_comm },
		{ "thread", &c->label_thread },
		{ "truncated", &c->label_truncated },
		{ "no_user_stack", &c->label_no_user_stack },
	};
	int r = 0;

	for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]) && r == 0; i++)
		r = profile_string(c->profile, labels[i].text, labels[i].id);
	return r;
}

static int init_types(struct capture *c)
{
	bool is_clock = c->cfg.event == PA_EVENT_CPU_CLOCK;
	const char *type = is_clock ? "cpu" : "cycles", *unit = is_clock ? "nanoseconds" : "count";
	struct profile *p = c->profile;
	int r = profile_add_type(p, "samples", "count");

	if (r == 0)
		r = profile_add_type(p, type, unit);
	if (r < 0)
		return r;
	p->default_type = 1;
	p->period_type = p->types[1];
	p->period = (int64_t)c->cfg.period_ns;
	for (size_t i = 0; i < c->cfg.nr_tags && r == 0; i++)
		r = profile_add_comment(p, c->cfg.tags[i]);
	return r;
}

int capture_new(const struct capture_config *cfg, const struct log *log,
		struct capture **ret_capture)
{
	_cleanup_(capture_freep) struct capture *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->cfg = *cfg;
	c->cfg.debug = NULL;
	c->cfg.short_waits = NULL;
	c->hurry = (struct cancel){ is_in_a_hurry, c };
	c->log = log;
	capture_begin_turn(c);
	c->queue = BUF_INIT(QUEUE_MAX_BYTES);
	parking_init(&c->parking);
	jit_budget_init(&c->jit_budget);
	c->procfs.fd = -1;
	kernel_ranges_init(&c->kernel_ranges);
	vmlinux_init(&c->vmlinux);
	r = procfs_open(cfg->proc_root, &c->procfs);
	if (r == 0 && cfg->short_waits)
		procfs_set_hurry(&c->procfs, cfg->short_waits);
	if (r == 0)
		r = filestore_new(&c->procfs, cfg->max_fds - cfg->max_fds / JIT_FDS_SHARE,
				  &c->files);
	if (r == 0)
		r = tracker_new(&c->procfs, c->files, &c->tracker);
	if (r == 0)
		r = jit_files_new(&c->procfs, c->files, c->tracker, cfg->max_fds / JIT_FDS_SHARE,
				  &c->jit);
	if (r == 0 && cfg->debug)
		r = debug_files_new(cfg->debug, c->files, log, &c->debug);
	if (r == 0)
		r = profile_new(&c->profile);
	if (r == 0)
		r = init_strings(c);
	if (r == 0)
		r = init_types(c);
	if (r < 0)
		return r;
	filestore_set_verifier(c->files, read_build_id, NULL);
	*ret_capture = TAKE(c);
	return 0;
}

int capture_use_tables(struct capture *c, struct tables *tables)
{
	struct unwind_files_config cfg = { .store = c->files,
					   .cancel = &c->hurry,
					   .tables = tables,
					   .log = c->log,
					   .max_bytes = c->cfg.table_bytes,
					   .is_inline = c->cfg.compile_inline };

	return unwinder_new(c->tracker, &c->procfs, &cfg, &c->unwinder);
}

int capture_fd(const struct capture *c)
{
	return c->unwinder ? unwinder_fd(c->unwinder) : -1;
}

static void touch(struct capture *c, pid_t pid)
{
	if (c->unwinder)
		unwinder_touch(c->unwinder, pid);
}

int capture_scan(struct capture *c, pid_t pid)
{
	int r = tracker_scan(c->tracker, clock_mono_ns(), pid);

	if (r == 0)
		touch(c, pid);
	return r;
}

void capture_compile_first(struct capture *c)
{
	if (c->unwinder && c->cfg.compile_first)
		unwinder_compile_touched(c->unwinder);
}

static int scan_one(void *ctx, pid_t pid)
{
	struct capture *c = ctx;
	int r = cancel_is_asked(&c->hurry) ? -ECANCELED : capture_scan(c, pid);

	return r == -ENOMEM || r == -ECANCELED ? r : 0; /* gone or unreadable is normal here */
}

int capture_scan_all(struct capture *c)
{
	int r = procfs_each_pid(&c->procfs, scan_one, c);

	return r == -ECANCELED ? 0 : r; /* what is not known is nothing that will be sampled */
}

int capture_record(void *ctx, const void *bytes, size_t size)
{
	struct capture *c = ctx;
	const struct pa_record *head = bytes;
	uint64_t size64 = size;
	int r;

	if (size < sizeof(*head))
		return 0;
	if (head->type != PA_RECORD_SAMPLE && head->type != PA_RECORD_STACK &&
	    head->type != PA_RECORD_STACK_END && head->type != PA_RECORD_EXEC)
		return 0;
	c->stats.nr_records += head->type == PA_RECORD_SAMPLE;
	r = buf_reserve(&c->queue, sizeof(size64) + size);
	if (r < 0) {
		c->stats.nr_no_memory += head->type == PA_RECORD_SAMPLE;
		return 0;
	}
	(void)buf_append(&c->queue, &size64, sizeof(size64)); /* room was made above */
	(void)buf_append(&c->queue, bytes, size);
	return 0;
}

static bool is_followed(const struct capture *c, pid_t pid)
{
	return c->cfg.all || tracker_find(c->tracker, pid, UINT64_MAX);
}

/* The first thread may end before the others; the process ends with the last. */
static bool has_live_threads(const struct capture *c, pid_t pid)
{
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%d/task", pid);
	/* A directory's links: ".", "..", and one per thread, of which the first is dead. */
	return fstatat(c->procfs.fd, path, &st, 0) == 0 && st.st_nlink > 3;
}

static int on_mmap(struct capture *c, const struct sideband_event *e)
{
	struct mmap_event m = {
		.time_ns = e->time_ns,
		.pid = e->pid,
		.start = e->start,
		.end = e->end,
		.offset = e->offset,
		.key = { .major = e->major,
			 .minor = e->minor,
			 .inode = e->inode,
			 .generation = e->generation,
			 .has_generation = true },
		.path = e->path,
	};

	return tracker_mmap(c->tracker, &m);
}

static int apply(struct capture *c, const struct sideband_event *e)
{
	switch (e->type) {
	case SIDEBAND_FORK:
		return tracker_fork(c->tracker, e->time_ns, e->pid, e->ppid);
	case SIDEBAND_EXEC:
		return tracker_exec(c->tracker, e->time_ns, e->pid);
	case SIDEBAND_EXIT:
		if (has_live_threads(c, e->pid))
			return 0;
		return tracker_exit(c->tracker, e->time_ns, e->pid);
	case SIDEBAND_MMAP:
		return on_mmap(c, e);
	case SIDEBAND_BUILD_ID:
		return tracker_build_id(c->tracker, e->pid, e->start, &e->build_id);
	case SIDEBAND_KSYMBOL:
	case SIDEBAND_LOST:
		break;
	}
	return 0;
}

/* What cannot be kept is found in the kernel's list as long as it lives. */
static void on_ksymbol(struct capture *c, const struct sideband_event *e)
{
	char name[KSYMBOL_NAME_SIZE];

	(void)snprintf(name, sizeof(name), "%s%s", e->path, e->is_bpf ? " [bpf]" : "");
	(void)kernel_ranges_add(&c->kernel_ranges, e->start, e->end - e->start, name);
}

int capture_event(void *ctx, const struct sideband_event *e)
{
	struct capture *c = ctx;
	int r;

	if (e->type == SIDEBAND_LOST) {
		c->stats.sideband_lost += e->nr_lost;
		c->needs_rescan = true;
		return 0;
	}
	if (e->type == SIDEBAND_KSYMBOL) {
		on_ksymbol(c, e);
		return 0;
	}
	if (!is_followed(c, e->type == SIDEBAND_FORK ? e->ppid : e->pid))
		return 0;
	r = apply(c, e);
	/* A child has what the kernel has copied for it, and may run another program by now. */
	if (e->type != SIDEBAND_FORK)
		touch(c, e->pid);
	if (r == -ENOMEM || r == -E2BIG)
		c->stats.sideband_lost++; /* what it told is not known now */
	return 0;
}

static int rescan_one(void *ctx, pid_t pid)
{
	struct capture *c = ctx;

	return is_followed(c, pid) ? scan_one(ctx, pid) : 0;
}

void capture_count_outcome(struct capture *c, int r)
{
	if (r == 0)
		c->stats.nr_kept++;
	else if (r == -E2BIG)
		c->stats.nr_model_full++;
	else if (r == -ENOMEM)
		c->stats.nr_no_memory++;
	else
		c->stats.nr_bad++;
}

/* Records in the queue are aligned for their 8-byte fields: sizes are multiples of 8. */
struct queued {
	const struct pa_record *head;
	size_t size;
	size_t next; /* position of the one behind it */
};

static bool queue_at(const struct capture *c, size_t at, struct queued *ret)
{
	uint64_t size;

	if (at >= c->queue.len)
		return false;
	memcpy(&size, c->queue.data + at, sizeof(size));
	ret->head = (const void *)(c->queue.data + at + sizeof(size));
	ret->size = size;
	ret->next = at + sizeof(size) + size;
	return true;
}

/* Whether the sizes in a sample agree with the record's. */
static bool is_whole(const struct pa_sample *s, size_t size)
{
	uint64_t regs = s->flags & PA_SAMPLE_UNFINISHED ? sizeof(struct pa_stack_regs) : 0;

	return size == sizeof(*s) + 8 * ((uint64_t)s->nr_kernel + s->nr_user) + regs;
}

static bool is_page_of(const struct queued *q, const struct pa_sample *s)
{
	const struct pa_stack_page *p = (const void *)q->head;

	return p->head.type == PA_RECORD_STACK && p->cpu == s->cpu &&
	       p->head.time_ns == s->head.time_ns && q->size == sizeof(*p) + p->size;
}

static bool is_end_of(const struct queued *q, const struct pa_sample *s)
{
	const struct pa_stack_end *e = (const void *)q->head;

	return e->head.type == PA_RECORD_STACK_END && q->size == sizeof(*e) && e->cpu == s->cpu &&
	       e->head.time_ns == s->head.time_ns && e->stop < PA_NR_STOPS;
}

static bool is_next_of_cpu(const struct queued *q, const struct pa_sample *s)
{
	return q->head->type == PA_RECORD_SAMPLE &&
	       ((const struct pa_sample *)q->head)->cpu == s->cpu;
}

/* The registers behind a sample's pcs, and the pages that follow it, up to their end. */
static void gather_stack(const struct capture *c, size_t at, const struct pa_sample *s,
			 struct stack_copy *ret)
{
	struct queued q;

	memcpy(&ret->regs, &s->pcs[s->nr_kernel + s->nr_user], sizeof(ret->regs));
	ret->nr_pages = 0;
	ret->stop = PA_STOP_COPY_LOST;
	for (; queue_at(c, at, &q) && !is_next_of_cpu(&q, s); at = q.next)
		if (is_page_of(&q, s) && ret->nr_pages < PA_STACK_MAX_PAGES) {
			ret->pages[ret->nr_pages++] = (const void *)q.head;
		} else if (is_end_of(&q, s)) {
			ret->stop = (uint8_t)((const struct pa_stack_end *)q.head)->stop;
			break;
		}
}

/* A sample with its stack: into the model, or aside until a table is there. */
static void settle_unfinished(struct capture *c, const struct queued *q)
{
	const struct pa_sample *s = (const void *)q->head;
	struct stack_copy stack = { .is_in_syscall = s->flags & PA_SAMPLE_IN_SYSCALL };
	uint32_t missing;
	int r;

	gather_stack(c, q->next, s, &stack);
	unwinder_missed(c->unwinder, (pid_t)s->head.pid, s->stop);
	r = capture_resolve(c, s, &stack, &missing);
	if (r == -EAGAIN && parking_add(&c->parking, s, q->size, &stack, missing) == 0)
		return;
	if (r == -EAGAIN) {
		stack.must_end = true; /* there is no room to wait in */
		r = capture_resolve(c, s, &stack, &missing);
	}
	capture_count_outcome(c, r);
}

static void settle_sample(struct capture *c, const struct queued *q)
{
	const struct pa_sample *s = (const void *)q->head;

	if (q->size < sizeof(*s) || !is_whole(s, q->size))
		c->stats.nr_bad++;
	else if (c->unwinder && (s->flags & PA_SAMPLE_UNFINISHED))
		settle_unfinished(c, q);
	else
		capture_count_outcome(c, capture_resolve(c, s, NULL, NULL));
}

static bool can_go_on(void *ctx, const struct parked *p)
{
	const struct capture *c = ctx;

	return !unwinder_is_awaited(c->unwinder, p->file);
}

/* Samples whose table is there now. One may need the next table then. */
static void settle_parked(struct capture *c)
{
	struct parked *p;

	while ((p = parking_take(&c->parking, can_go_on, c))) {
		int r;

		p->stack.must_end = ++p->nr_tries == MAX_TRIES;
		r = capture_resolve(c, p->sample, &p->stack, &p->file);
		if (r == -EAGAIN) {
			parking_give_back(&c->parking, p);
			continue;
		}
		capture_count_outcome(c, r);
		free(p);
	}
}

static bool can_end(void *ctx, const struct parked *p)
{
	return true;
}

/* Whose table does not come any more: the stack ends where it is needed. */
static void end_parked(struct capture *c)
{
	struct parked *p;

	while ((p = parking_take(&c->parking, can_end, c))) {
		p->stack.must_end = true;
		capture_count_outcome(c, capture_resolve(c, p->sample, &p->stack, &p->file));
		free(p);
	}
}

/* A capture ends soon, whatever files its targets have mapped. */
static void settle_all_parked(struct capture *c)
{
	uint64_t max_cpu_ns = unwinder_cpu_ns(c->unwinder) + LAST_TABLES_CPU_NS;

	while (c->parking.first && unwinder_wait(c->unwinder, max_cpu_ns))
		settle_parked(c);
	end_parked(c);
}

/* Pages follow their sample within microseconds: what was younger than this when the ring was looked
 * at may not be complete, however long ago that is by now. */
#define STACK_ON_ITS_WAY_NS NS_PER_MS

/* The side-band has said so before, or never will. */
static void settle_exec(struct capture *c, const struct pa_record *r)
{
	int result = tracker_exec_heard(c->tracker, r->time_ns, (pid_t)r->pid);

	if (result > 0)
		touch(c, (pid_t)r->pid);
	else if (result == -ENOMEM)
		c->stats.sideband_lost++; /* what it told is not known now */
}

static void settle_queue(struct capture *c, uint64_t until_ns)
{
	size_t at = 0;

	for (struct queued q; queue_at(c, at, &q) && q.head->time_ns < until_ns; at = q.next)
		if (q.head->type == PA_RECORD_SAMPLE)
			settle_sample(c, &q);
		else if (q.head->type == PA_RECORD_EXEC)
			settle_exec(c, q.head);
	if (!at)
		return; /* an empty queue has no bytes to move, not even none */
	c->queue.len -= at;
	memmove(c->queue.data, c->queue.data + at, c->queue.len);
}

/* The same with walks that are finished here. until_ns: what is younger may still be on its way. */
static void settle_unwinding(struct capture *c, bool is_last, uint64_t until_ns)
{
	unwinder_take(c->unwinder);
	settle_parked(c);
	settle_queue(c, is_last ? UINT64_MAX : until_ns);
	if (is_last)
		settle_all_parked(c);
	unwinder_give(c->unwinder);
	c->has_published = unwinder_publish(c->unwinder);
}

static uint64_t forget_before(const struct capture *c, uint64_t now)
{
	uint64_t parked = parking_oldest_ns(&c->parking);

	return parked < now - FORGET_AFTER_NS ? parked : now - FORGET_AFTER_NS;
}

void capture_log_unanswered(struct capture *c)
{
	struct unanswered_item item;

	for (; procfs_unanswered(&c->procfs, c->nr_unanswered_logged, &item);
	     c->nr_unanswered_logged++)
		log_warn(c->log, "proc: PID %d: '%s' did not answer, it is not asked again",
			 (int)item.pid, item.what);
}

void capture_begin_turn(struct capture *c)
{
	c->turn_ns = clock_mono_ns();
}

/* What the unwinder still works on stays for now. */
static bool forget_file(void *ctx, uint32_t file)
{
	struct capture *c = ctx;

	return !c->unwinder || unwinder_forget_file(c->unwinder, file);
}

int capture_settle(struct capture *c, bool is_last)
{
	uint64_t now = clock_mono_ns();

	if (c->needs_rescan && now - c->rescanned_ns >= RESCAN_EVERY_NS) {
		c->needs_rescan = false;
		c->rescanned_ns = now;
		(void)procfs_each_pid(&c->procfs, rescan_one, c); /* best effort by nature */
	}
	if (c->unwinder)
		settle_unwinding(c, is_last, c->turn_ns - STACK_ON_ITS_WAY_NS);
	else
		settle_queue(c, UINT64_MAX);
	if (now - c->forgot_ns >= FORGET_EVERY_NS) {
		c->forgot_ns = now;
		tracker_forget(c->tracker, forget_before(c, now));
		filestore_sweep(c->files, forget_file, c);
	}
	capture_log_unanswered(c);
	return 0;
}

/* Whether what is left in the queue asks for something: a stack that was not walked to its end, a
 * process that was not seen before. Finished samples can wait, and at a high rate there always is one. */
static bool is_awaited(const struct capture *c)
{
	for (struct queued q = { 0 }; queue_at(c, q.next, &q);) {
		const struct pa_sample *s = (const void *)q.head;

		if (q.head->type != PA_RECORD_SAMPLE || q.size < sizeof(*s) ||
		    (s->flags & PA_SAMPLE_UNFINISHED))
			return true;
	}
	return false;
}

bool capture_is_in_a_hurry(const struct capture *c)
{
	return c->has_published || is_awaited(c);
}
