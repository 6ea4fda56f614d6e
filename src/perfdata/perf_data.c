/* SPDX-License-Identifier: Apache-2.0 */
#include "perfdata/perf_data.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hash.h"
#include "debugfiles/kernel_file.h"
#include "perfdata/perf_features.h"
#include "perfdata/perf_kernel_maps.h"
#include "perfdata/perf_known.h"
#include "perfdata/perf_records.h"

#define VERSION_TEXT "perf-agent " PERFAGENT_VERSION
#define WRITE_BYTES (64u << 10)                 /* records are written in pieces of this size */
#define BUF_BYTES (WRITE_BYTES + (1024u << 10)) /* and room for the largest records beyond that */
#define FEATURES_MAX_BYTES (PERF_FILES_MAX_BYTES + (16u << 20))
#define PATH_BYTES 8192 /* the kernel's limit is 4096 */
#define ROUND_NS NS_PER_S
#define GENERATED_CODE "//anon" /* perf looks for its symbols in /tmp/perf-<PID>.map */

struct perf_data {
	struct world *world;  /* borrowed */
	struct outfile *file; /* borrowed */
	struct perf_sampling sampling;
	uint32_t period_value; /* index of the sample period in a sample's values */
	struct sample_sink sink;
	struct buf buf; /* owned: records that are not written yet */
	struct known known;
	struct perf_files files;    /* files with samples */
	struct buf path;            /* owned: path of the mapping being written */
	uint64_t first_ns, last_ns; /* times of samples */
	uint64_t newest_ns;         /* newest time of any record */
	uint64_t round_ns;          /* newest_ns at the last round */
	uint64_t handled_ns;        /* readers may have handled all records up to this time */
	/* end time of the first process whose exit is still to be written */
	uint64_t exit_ns;
	uint64_t nr_lost;     /* samples lost here, for lack of memory */
	uint64_t nr_lost_put; /* lost samples that records in the file already report */
	/* samples lost before they reached this sink; NULL: not known yet */
	uint64_t (*nr_lost_before)(void *ctx);
	void *ctx;             /* borrowed */
	struct pa_error error; /* the first failed write */
	int failed;            /* its result */
};

struct perf_data *perf_data_free(struct perf_data *d)
{
	if (!d)
		return NULL;
	buf_done(&d->buf);
	buf_done(&d->path);
	known_done(&d->known);
	perf_files_done(&d->files);
	free(d);
	return NULL;
}

static int write_out(struct perf_data *d)
{
	if (d->failed == 0)
		d->failed = outfile_write(d->file, d->buf.data, d->buf.len, &d->error);
	buf_clear(&d->buf);
	return d->failed;
}

/* Before a record: ensures that it fits. */
static int make_room(struct perf_data *d)
{
	return d->buf.len < WRITE_BYTES ? d->failed : write_out(d);
}

/* The time of a record about something that has been true since since_ns. Readers may already have
 * handled later records. */
static uint64_t time_from(struct perf_data *d, uint64_t since_ns, const struct sample *s)
{
	uint64_t time_ns = since_ns > d->handled_ns ? since_ns : d->handled_ns;

	if (time_ns > s->time_ns)
		time_ns = s->time_ns;
	if (time_ns > d->newest_ns)
		d->newest_ns = time_ns;
	return time_ns;
}

/* ---- what a sample requires ---- */

/*
 * Notes that the exit of a process has to be written, after its samples: the exit is known before
 * them. It is the exit of the first thread, which other threads may have survived until the event
 * was handled. At an exit a reader forgets the mappings.
 */
static void expect_exit(struct perf_data *d, const struct process *p, struct known_item *item)
{
	item->end_ns = process_end_ns(p);
	item->pid = process_pid(p);
	item->parent = process_parent(p);
	if (item->end_ns < d->exit_ns)
		d->exit_ns = item->end_ns;
}

static int put_exit(struct perf_data *d, struct known_item *item)
{
	uint64_t end_ns = item->end_ns > item->used_ns ? item->end_ns : item->used_ns;
	int r = make_room(d);

	if (end_ns < d->handled_ns)
		end_ns = d->handled_ns;
	if (end_ns > d->newest_ns)
		d->newest_ns = end_ns;
	item->end_ns = 0;
	return r < 0 ? r : perf_put_exit(&d->buf, item->pid, item->parent, end_ns);
}

/* Writes the exits up to that time. */
static int put_exits(struct perf_data *d, uint64_t until_ns)
{
	int r = 0;

	if (d->exit_ns > until_ns)
		return 0;
	d->exit_ns = UINT64_MAX;
	for (uint32_t i = 0; i < d->known.nr_items && r == 0; i++) {
		struct known_item *item = &d->known.items[i];

		if (item->end_ns && item->end_ns <= until_ns)
			r = put_exit(d, item);
		else if (item->end_ns && item->end_ns < d->exit_ns)
			d->exit_ns = item->end_ns;
	}
	return r;
}

/* When the process was forked; 0: before the capture, or unknown. */
static uint64_t start_of(const struct sample *s)
{
	return s->process ? process_start_ns(s->process) : 0;
}

/* A process that existed before the capture needs no record. */
static int put_process(struct perf_data *d, const struct sample *s, struct known_item *item)
{
	uint64_t start_ns = start_of(s);

	if (s->process && process_is_over(s->process))
		expect_exit(d, s->process, item);
	if (!start_ns)
		return 0;
	return perf_put_fork(&d->buf, s->pid, s->pid, process_parent(s->process),
			     time_from(d, start_ns, s));
}

static struct known_key key_of_process(const struct process *p, pid_t pid)
{
	return (struct known_key){ .process = p ? process_id(p) : ~(uint64_t)pid,
				   .kind = KNOWN_PROCESS };
}

static int use_process(struct perf_data *d, const struct sample *s, struct known_item **ret_item)
{
	struct known_key key = key_of_process(s->process, s->pid);
	bool is_new;
	int r = known_use(&d->known, &key, s->time_ns, ret_item, &is_new);

	return r == 0 && is_new ? put_process(d, s, *ret_item) : r;
}

static int put_comm(struct perf_data *d, pid_t pid, pid_t tid, uint64_t time_ns, const char *comm,
		    size_t n, bool is_exec)
{
	int r = make_room(d);

	if (time_ns > d->newest_ns)
		d->newest_ns = time_ns;
	return r < 0 ? r : perf_put_comm(&d->buf, pid, tid, time_ns, comm, n, is_exec);
}

/* A thread and the name that it had at the time of a sample. */
struct name {
	uint64_t process; /* known_item.serial of the process */
	pid_t tid;
	const char *text; /* at most size bytes */
	size_t size;
	uint64_t since_ns; /* when the program of the thread began, or the TID became free */
	bool is_exec;      /* a new program has been found */
};

/* Readers identify threads by TID alone: without a fork, a reader would take a new thread for an
 * old one of another process, and look for code in that process. */
static int put_thread(struct perf_data *d, const struct sample *s, const struct name *n,
		      uint64_t time_ns)
{
	int r = make_room(d);

	if (r < 0 || n->tid == s->pid)
		return r;
	return perf_put_fork(&d->buf, s->pid, n->tid, s->pid, time_ns);
}

/* A late sample may have an older name: then the newer name is written again after it. */
static int put_name(struct perf_data *d, const struct sample *s, const struct name *n,
		    struct known_item *item, bool is_new)
{
	uint64_t time_ns = is_new || n->is_exec ? time_from(d, n->since_ns, s) : s->time_ns;
	int r = is_new ? put_thread(d, s, n, time_ns) : 0;

	if (r == 0)
		r = put_comm(d, s->pid, n->tid, time_ns, n->text, n->size, n->is_exec);
	if (r == 0 && item->used_ns > s->time_ns && !is_new && !n->is_exec)
		return put_comm(d, s->pid, n->tid, s->time_ns + 1, item->comm, sizeof(item->comm),
				false);
	memset(item->comm, 0, sizeof(item->comm));
	memcpy(item->comm, n->text, n->size < sizeof(item->comm) ? n->size : sizeof(item->comm));
	return r;
}

/* A thread begins after the last sample of any other process that had its TID. */
static int use_tid(struct perf_data *d, const struct sample *s, struct name *n)
{
	struct known_key key = { .kind = KNOWN_TID, .number = (uint32_t)n->tid };
	struct known_item *known = known_find(&d->known, &key), *item;
	uint64_t free_ns = known && known->serial != n->process ? known->used_ns + 1 : 0;
	bool is_new;
	int r = known_use(&d->known, &key, s->time_ns, &item, &is_new);

	if (r < 0)
		return r;
	if (n->since_ns < free_ns)
		n->since_ns = free_ns;
	item->serial = n->process;
	return 0;
}

static int use_name(struct perf_data *d, const struct sample *s, struct name *n)
{
	struct known_key key = { .process = n->process,
				 .kind = KNOWN_THREAD,
				 .number = (uint32_t)n->tid };
	struct known_item *item;
	bool is_new;
	int r = use_tid(d, s, n);

	if (r == 0)
		r = known_use(&d->known, &key, s->time_ns, &item, &is_new);
	if (r < 0 || (!is_new && !n->is_exec && strncmp(item->comm, n->text, n->size) == 0))
		return r;
	return put_name(d, s, n, item, is_new);
}

/* Writes the names of the process, which is the name of its first thread, and of the thread. */
static int use_names(struct perf_data *d, const struct sample *s, struct known_item *process)
{
	uint64_t exec_ns = s->process ? process_exec_ns(s->process, s->time_ns) : 0;
	uint64_t start_ns = start_of(s);
	struct name n = { .process = process->serial,
			  .tid = s->pid,
			  .text = s->comm,
			  .size = s->comm_bytes,
			  .since_ns = exec_ns > start_ns ? exec_ns : start_ns,
			  .is_exec = exec_ns > process->exec_ns };
	int r;

	if (n.is_exec)
		process->exec_ns = exec_ns;
	r = use_name(d, s, &n);
	if (r < 0 || s->tid == s->pid)
		return r;
	n.tid = s->tid;
	n.text = s->thread;
	n.is_exec = false;
	return use_name(d, s, &n);
}

/* Without a build-id, readers would take whatever file has the path now. */
static int mark_deleted(struct perf_data *d, struct perf_mapping *to)
{
	int r;

	buf_clear(&d->path);
	r = buf_printf(&d->path, "%s (deleted)", to->path);
	if (r == 0)
		r = buf_append(&d->path, "", 1);
	to->path = d->path.data;
	return r;
}

/* Describes the file that contains the code. */
static int describe_file(struct perf_data *d, uint32_t number, struct perf_mapping *to)
{
	const struct file *f = filestore_get(d->world->files, number);
	const struct file_info *info;
	int r = f ? world_file_info(d->world, number, &info) : -ENOENT;

	if (r < 0)
		return r;
	to->path = f->path;
	to->build_id = info->build_id;
	to->dev = f->dev;
	to->ino = f->ino;
	if (info->build_id.len)
		perf_files_add(&d->files, f->path, &info->build_id, false);
	return f->is_deleted && !info->build_id.len ? mark_deleted(d, to) : 0;
}

/* True for code of a file, including code that was copied into anonymous memory. */
static bool is_of_file(const struct frame *f)
{
	return f->mapping->kind == MAPPING_FILE ? f->kind == FRAME_NATIVE : f->mapping->has_origin;
}

static int describe(struct perf_data *d, const struct frame *f, struct perf_mapping *to)
{
	const struct mapping *m = f->mapping;

	to->start = m->start;
	to->end = m->end;
	to->path = m->kind == MAPPING_VDSO ? "[vdso]" : GENERATED_CODE;
	if (!is_of_file(f))
		return 0;
	to->offset = m->kind == MAPPING_FILE ? m->offset : m->start + m->origin_bias;
	return describe_file(d, m->kind == MAPPING_FILE ? m->file : m->origin_file, to);
}

static int put_mapping(struct perf_data *d, const struct sample *s, const struct frame *f)
{
	uint64_t start_ns = start_of(s), since_ns = f->mapping->since_ns;
	struct perf_mapping to = { .pid = s->pid };
	int r = make_room(d);

	/* an inherited mapping has the time of the parent's */
	to.time_ns = time_from(d, since_ns > start_ns ? since_ns : start_ns, s);
	if (r == 0)
		r = describe(d, f, &to);
	return r < 0 ? r : perf_put_mapping(&d->buf, &to);
}

static int use_mapping(struct perf_data *d, const struct sample *s, const struct frame *f,
		       uint64_t process)
{
	const struct mapping *m = f->mapping;
	uint32_t file = m->has_origin ? m->origin_file : m->file;
	struct known_key key = { .process = process,
				 .kind = KNOWN_MAPPING,
				 .number = file << 4 | (uint32_t)m->kind << 1 | m->has_origin,
				 .start = m->start,
				 .end = m->end,
				 .offset = m->offset,
				 .since_ns = m->since_ns };
	struct known_item *item;
	bool is_new;
	int r = known_use(&d->known, &key, s->time_ns, &item, &is_new);

	return r == 0 && is_new ? put_mapping(d, s, f) : r;
}

/* Writes the mapping of the dump, which perf inject --jit looks for although no code runs there. */
static int use_jitdump(struct perf_data *d, const struct sample *s, uint64_t process)
{
	const struct mapping *m = NULL;
	struct frame dump = { .kind = FRAME_NATIVE };

	if (s->process && process_nr_jitdumps(s->process, s->time_ns))
		m = process_mapping_from(s->process, 0, s->time_ns);
	while (m && !m->is_jitdump)
		m = process_mapping_from(s->process, m->end, s->time_ns);
	dump.mapping = m;
	return m ? use_mapping(d, s, &dump, process) : 0;
}

static int use_code(struct perf_data *d, const struct sample *s, uint64_t process)
{
	const struct mapping *last = NULL;
	int r = make_room(d);

	for (uint32_t i = 0; i < s->nr_frames && r == 0; i++) {
		const struct frame *f = &s->frames[i];

		if (f->mapping && f->mapping != last)
			r = use_mapping(d, s, f, process);
		if (r == 0 && f->mapping && f->mapping != last && f->kind == FRAME_JIT)
			r = use_jitdump(d, s, process);
		last = f->mapping;
	}
	return r;
}

/* ---- the sink ---- */

static int put_sample(struct perf_data *d, const struct sample *s)
{
	struct known_item *process;
	uint64_t serial;
	int r = make_room(d);

	if (r == 0)
		r = use_process(d, s, &process);
	if (r < 0)
		return r;
	serial = process->serial;
	r = use_names(d, s, process);
	if (r == 0)
		r = use_code(d, s, serial);
	if (r == 0)
		r = make_room(d);
	return r < 0 ? r : perf_put_sample(&d->buf, s, (uint64_t)s->values[d->period_value]);
}

static void on_sample(void *ctx, const struct sample *s)
{
	struct perf_data *d = ctx;

	if (d->failed)
		return;
	if (put_sample(d, s) < 0) {
		d->nr_lost++;
		return;
	}
	if (!d->first_ns || s->time_ns < d->first_ns)
		d->first_ns = s->time_ns;
	if (s->time_ns > d->last_ns)
		d->last_ns = s->time_ns;
	if (s->time_ns > d->newest_ns)
		d->newest_ns = s->time_ns;
}

/* Notes the exit of a process that has samples. If all its samples come after this event,
 * put_process() does that. */
static void on_event(void *ctx, const struct process_event *e)
{
	struct perf_data *d = ctx;
	const struct process *p;
	struct known_item *item;
	struct known_key key;

	if (e->type != EVENT_EXIT || d->failed)
		return;
	p = tracker_find(d->world->tracker, e->pid, e->time_ns);
	key = key_of_process(p, e->pid);
	item = known_find(&d->known, &key);
	if (p && process_is_over(p) && item)
		expect_exit(d, p, item);
}

/* Reports the lost samples that no record reports yet. */
static int put_lost(struct perf_data *d, uint64_t nr_before)
{
	uint64_t nr = nr_before + d->nr_lost;
	int r = make_room(d);

	if (r < 0 || nr <= d->nr_lost_put)
		return r;
	r = perf_put_lost(&d->buf, nr - d->nr_lost_put, d->newest_ns);
	if (r == 0)
		r = perf_put_lost_samples(&d->buf, nr - d->nr_lost_put, d->newest_ns);
	d->nr_lost_put = nr;
	return r;
}

/* Ends a round, so that a reader can handle what it has read without keeping all records in
 * memory. */
static void on_settled(void *ctx, uint64_t until_ns)
{
	struct perf_data *d = ctx;

	if (until_ns > ROUND_NS)
		(void)put_exits(d, until_ns - ROUND_NS); /* fails only if writing has failed */
	if (d->failed || until_ns < d->round_ns || d->newest_ns < d->round_ns + ROUND_NS)
		return;
	if (d->nr_lost_before)
		(void)put_lost(d, d->nr_lost_before(d->ctx)); /* fails only if writing has failed */
	if (make_room(d) < 0 || perf_put_round(&d->buf) < 0)
		return;
	d->handled_ns = d->round_ns;
	d->round_ns = d->newest_ns;
	known_forget(&d->known);
}

const struct sample_sink *perf_data_sink(const struct perf_data *d)
{
	return &d->sink;
}

/* ---- the file ---- */

/* Readers complain if the kernel's mappings are missing, even if there is no kernel sample. */
static int put_kernel(struct perf_data *d)
{
	const char *notes_path = d->world->cfg.notes_path;
	struct build_id id;

	if (notes_path && kernel_file_build_id(notes_path, &id) == 0)
		perf_files_add(&d->files, PERF_KERNEL_NAME, &id, true);
	return perf_put_kernel_maps(&d->buf, d->world->cfg.kallsyms_path, d->world->procfs.fd);
}

static int put_beginning(struct perf_data *d)
{
	const uint64_t no_features[PERF_NR_FEATURE_WORDS] = { 0 };
	struct perf_event_attr attr = perf_attr(&d->sampling);
	int r = buf_reserve(&d->buf, BUF_BYTES);

	if (r == 0)
		r = perf_put_header(&d->buf, 0, no_features);
	if (r == 0)
		r = perf_put_event(&d->buf, &attr);
	return r < 0 ? r : put_kernel(d);
}

int perf_data_new(const struct perf_data_config *cfg, struct perf_data **ret_data,
		  struct pa_error *err)
{
	_cleanup_(perf_data_freep) struct perf_data *d = NULL;
	int r;

	if (!outfile_can_patch(cfg->file))
		return error_set(err, ESPIPE,
				 "cannot write '%s': a perf.data file needs a regular file: "
				 "choose another path",
				 outfile_path(cfg->file));
	d = calloc(1, sizeof(*d));
	if (!d)
		return -ENOMEM;
	d->world = cfg->world;
	d->file = cfg->file;
	d->sampling = cfg->sampling;
	d->nr_lost_before = cfg->nr_lost;
	d->ctx = cfg->ctx;
	d->period_value = cfg->values->default_type;
	d->exit_ns = UINT64_MAX;
	d->buf = BUF_INIT(BUF_BYTES);
	d->path = BUF_INIT(PATH_BYTES);
	d->known.seed = d->files.seed = hash_new_seed(d);
	d->sink = (struct sample_sink){
		.on_sample = on_sample, .on_event = on_event, .on_settled = on_settled, .ctx = d
	};
	r = put_beginning(d);
	if (r == 0)
		r = write_out(d);
	if (r < 0 && err && d->error.code)
		*err = d->error;
	if (r < 0)
		return r;
	*ret_data = TAKE(d);
	return 0;
}

static int write_features(struct perf_data *d, struct pa_error *err)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT(FEATURES_MAX_BYTES);
	uint64_t end = outfile_size(d->file), bits[PERF_NR_FEATURE_WORDS];
	struct perf_features features = { .sampling = &d->sampling,
					  .files = &d->files,
					  .version = VERSION_TEXT,
					  .first_ns = d->first_ns,
					  .last_ns = d->last_ns };
	int r = perf_put_features(&b, end, &features, bits);

	if (r == 0)
		r = outfile_write(d->file, b.data, b.len, err);
	buf_clear(&b);
	if (r == 0)
		r = perf_put_header(&b, end - PERF_DATA_OFFSET, bits);
	return r < 0 ? r : outfile_patch(d->file, 0, b.data, b.len, err);
}

int perf_data_finish(struct perf_data *d, uint64_t nr_lost, struct pa_error *err)
{
	int r = put_exits(d, UINT64_MAX);

	if (r == 0)
		r = put_lost(d, nr_lost);
	if (r == 0)
		r = write_out(d);
	if (d->failed) {
		if (err && !err->code)
			*err = d->error;
		return d->failed;
	}
	if (r == 0)
		r = write_features(d, err);
	return r < 0 ? error_set(err, -r, "cannot write '%s': %s", outfile_path(d->file),
				 r == -ENOMEM ? "out of memory" : "too large")
		     : 0;
}
