/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/capture.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "elf/elf_image.h"

#define QUEUE_MAX_BYTES (1u << 30)
/* A dead process's mappings are kept this long for samples that are still on their way. */
#define FORGET_AFTER_NS (2 * NS_PER_S)

struct capture *capture_free(struct capture *c)
{
	if (!c)
		return NULL;
	profile_free(c->profile);
	tracker_free(c->tracker);
	filestore_free(c->files);
	procfs_close(&c->procfs);
	buf_done(&c->queue);
	idtable_done(&c->process_ids);
	free(c->seen_processes);
	free(c->file_infos);
	free(c->notes);
	free(c);
	return NULL;
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
	c->log = log;
	c->queue = BUF_INIT(QUEUE_MAX_BYTES);
	c->procfs.fd = -1;
	r = procfs_open(cfg->proc_root, &c->procfs);
	if (r == 0)
		r = filestore_new(&c->procfs, cfg->max_fds, &c->files);
	if (r == 0)
		r = tracker_new(&c->procfs, c->files, &c->tracker);
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

int capture_scan(struct capture *c, pid_t pid)
{
	return tracker_scan(c->tracker, clock_mono_ns(), pid);
}

static int scan_one(void *ctx, pid_t pid)
{
	int r = capture_scan(ctx, pid);

	return r == -ENOMEM ? r : 0; /* gone or unreadable is normal here */
}

int capture_scan_all(struct capture *c)
{
	return procfs_each_pid(&c->procfs, scan_one, c);
}

int capture_record(void *ctx, const void *bytes, size_t size)
{
	struct capture *c = ctx;
	const struct pa_record *head = bytes;
	uint64_t size64 = size;
	int r;

	if (size < sizeof(*head))
		return 0;
	if (head->type == PA_RECORD_LAST_EXIT)
		c->saw_last_exit = true;
	if (head->type != PA_RECORD_SAMPLE)
		return 0;
	c->stats.nr_records++;
	r = buf_reserve(&c->queue, sizeof(size64) + size);
	if (r < 0) {
		c->stats.nr_no_memory++;
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
	case SIDEBAND_LOST:
		break;
	}
	return 0;
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
	if (!is_followed(c, e->type == SIDEBAND_FORK ? e->ppid : e->pid))
		return 0;
	r = apply(c, e);
	if (r == -ENOMEM || r == -E2BIG)
		c->stats.sideband_lost++; /* what it told is not known now */
	return 0;
}

static int rescan_one(void *ctx, pid_t pid)
{
	struct capture *c = ctx;

	return is_followed(c, pid) ? scan_one(ctx, pid) : 0;
}

static void count_outcome(struct capture *c, int r)
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
static void settle_queue(struct capture *c)
{
	size_t at = 0;

	while (at < c->queue.len) {
		struct pa_sample *s = (void *)(c->queue.data + at + sizeof(uint64_t));
		uint64_t size;

		memcpy(&size, c->queue.data + at, sizeof(size));
		at += sizeof(size) + size;
		if (size < sizeof(*s) ||
		    size != sizeof(*s) + 8ull * ((uint64_t)s->nr_kernel + s->nr_user))
			c->stats.nr_bad++;
		else
			count_outcome(c, capture_resolve(c, s));
	}
	buf_clear(&c->queue);
}

int capture_settle(struct capture *c)
{
	uint64_t now = clock_mono_ns();

	if (c->needs_rescan) {
		c->needs_rescan = false;
		(void)procfs_each_pid(&c->procfs, rescan_one, c); /* best effort by nature */
	}
	settle_queue(c);
	if (now > FORGET_AFTER_NS)
		tracker_forget(c->tracker, now - FORGET_AFTER_NS);
	return 0;
}
