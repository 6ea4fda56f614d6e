/* SPDX-License-Identifier: Apache-2.0 */
#include "world/world.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "debugfiles/debug_files.h"
#include "elf/elf_image.h"
#include "names/shared_names.h"
#include "proc/unanswered.h"

/* The mappings of an exited process are kept this long for samples that are still in flight. */
#define FORGET_AFTER_NS (2 * NS_PER_S)
#define FORGET_EVERY_NS NS_PER_S
#define JIT_FDS_SHARE 8          /* share of the open files that may be perf maps */
#define KSYMBOL_NAME_SIZE 600    /* the kernel's own limit is 512 */
#define RESCAN_EVERY_NS NS_PER_S /* of all processes, when events were lost */

struct world *world_free(struct world *w)
{
	if (!w)
		return NULL;
	debug_files_free(w->debug);
	shared_names_free(w->shared_names);
	unwinder_free(w->unwinder);
	tracker_free(w->tracker);
	jit_files_free(w->jit);
	filestore_free(w->files);
	cgroups_free(w->cgroups);
	procfs_close(&w->procfs);
	idtable_done(&w->owner_index);
	free(w->owners);
	free(w->file_infos);
	kernel_ranges_done(&w->kernel_ranges);
	pthread_mutex_destroy(&w->naming_lock);
	free(w);
	return NULL;
}

/* True if the user has asked to finish: nothing is waited for any more. */
static bool is_in_a_hurry(const void *ctx)
{
	const struct world *w = ctx;

	return w->cfg.hurry && atomic_load_explicit(w->cfg.hurry, memory_order_relaxed);
}

/* The store asks for the build-id of a file it found by path; it cannot parse ELF itself. */
static int read_build_id(void *ctx, int fd, struct build_id *ret_id)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	int r = elf_image_open_fd(fd, &img);

	if (r < 0)
		return r;
	*ret_id = *elf_image_build_id(img);
	return 0;
}

static int open_parts(struct world *w, const struct world_config *cfg)
{
	unsigned int jit_fds = cfg->max_fds / JIT_FDS_SHARE;
	int r = procfs_open(cfg->proc_root, &w->procfs);

	if (r == 0 && cfg->short_waits)
		procfs_set_hurry(&w->procfs, cfg->short_waits);
	if (r == 0)
		r = filestore_new(&w->procfs, cfg->max_fds - jit_fds, &w->files);
	if (r == 0)
		r = tracker_new(&w->procfs, w->files, &w->tracker);
	if (r == 0)
		r = jit_files_new(&w->procfs, w->files, w->tracker, jit_fds, &w->jit);
	if (r == 0)
		r = shared_names_new(&w->shared_names);
	if (r == 0)
		r = cgroups_new(&w->procfs, &(struct cgroups_config){ .own_pod = cfg->own_pod },
				&w->cgroups);
	if (r == 0 && cfg->debug)
		r = debug_files_new(cfg->debug, w->files, w->log, &w->debug);
	if (r == 0) {
		tracker_set_recognizer(w->tracker, unwinder_recognizer());
		filestore_set_verifier(w->files, read_build_id, NULL);
	}
	return r;
}

int world_new(const struct world_config *cfg, const struct log *log, struct world **ret_world)
{
	_cleanup_(world_freep) struct world *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->cfg = *cfg;
	w->cfg.debug = NULL;
	w->cfg.short_waits = NULL;
	w->hurry = (struct cancel){ is_in_a_hurry, w };
	w->naming_deadline.hurry = cfg->hurry;
	w->naming_deadline.interrupted = cfg->is_interrupted;
	w->log = log;
	w->procfs.fd = -1;
	pthread_mutex_init(&w->naming_lock, NULL);
	kernel_ranges_init(&w->kernel_ranges);
	r = open_parts(w, cfg);
	if (r < 0)
		return r;
	*ret_world = TAKE(w);
	return 0;
}

int world_add_frame_type(struct world *w, const struct frame_type *t)
{
	if (!t->kind || t->kind >= NR_FRAME_TYPES)
		return -EINVAL;
	if (w->frame_types[t->kind])
		return -EEXIST;
	w->frame_types[t->kind] = t;
	return 0;
}

void world_lock(struct world *w)
{
	filestore_lock(w->files);
}

void world_unlock(struct world *w)
{
	filestore_unlock(w->files);
}

int world_use_tables(struct world *w, struct tables *tables)
{
	struct unwind_files_config cfg = { .store = w->files,
					   .cancel = &w->hurry,
					   .tables = tables,
					   .log = w->log,
					   .max_bytes = w->cfg.table_bytes,
					   .is_inline = w->cfg.compile_inline };

	return unwinder_new(w->tracker, &w->procfs, &cfg, &w->unwinder);
}

void world_drop_tables(struct world *w)
{
	w->unwinder = unwinder_free(w->unwinder);
}

static void touch(struct world *w, pid_t pid)
{
	if (w->unwinder)
		unwinder_touch(w->unwinder, pid);
}

int world_scan(struct world *w, pid_t pid)
{
	int r = tracker_scan(w->tracker, clock_mono_ns(), pid);

	if (r == 0)
		touch(w, pid);
	return r;
}

void world_compile_first(struct world *w)
{
	if (w->unwinder && w->cfg.compile_first)
		unwinder_compile_touched(w->unwinder);
}

int world_scan_one(void *world, pid_t pid)
{
	struct world *w = world;
	int r = cancel_is_asked(&w->hurry) ? -ECANCELED : world_scan(w, pid);

	/* a process that is gone or unreadable is normal here */
	return r == -ENOMEM || r == -ECANCELED ? r : 0;
}

int world_scan_all(struct world *w)
{
	int r = procfs_each_pid(&w->procfs, world_scan_one, w);

	return r == -ECANCELED ? 0 : r; /* a process that cannot be read will not be sampled */
}

/* ---- events ---- */

static bool is_followed(const struct world *w, pid_t pid)
{
	return w->cfg.all || tracker_find(w->tracker, pid, UINT64_MAX);
}

/* A process ends with its last thread; the first one may end earlier. */
static bool has_live_threads(const struct world *w, pid_t pid)
{
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%d/task", pid);
	/* A directory's links: ".", "..", and one per thread, of which the first is dead. */
	return fstatat(w->procfs.fd, path, &st, 0) == 0 && st.st_nlink > 3;
}

static int apply_mmap(struct world *w, const struct process_event *e)
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

	return tracker_mmap(w->tracker, &m);
}

static int apply_event(struct world *w, const struct process_event *e)
{
	switch (e->type) {
	case EVENT_FORK:
		return tracker_fork(w->tracker, e->time_ns, e->pid, e->ppid);
	case EVENT_EXEC:
		return tracker_exec(w->tracker, e->time_ns, e->pid);
	case EVENT_EXIT:
		if (has_live_threads(w, e->pid))
			return 0;
		return tracker_exit(w->tracker, e->time_ns, e->pid);
	case EVENT_MMAP:
		return apply_mmap(w, e);
	case EVENT_BUILD_ID:
		return tracker_build_id(w->tracker, e->pid, e->start, &e->build_id);
	case EVENT_KSYMBOL:
	case EVENT_LOST:
		break;
	}
	return 0;
}

/* A symbol that cannot be stored is found in kallsyms as long as it exists. */
static void add_kernel_symbol(struct world *w, const struct process_event *e)
{
	char name[KSYMBOL_NAME_SIZE];

	(void)snprintf(name, sizeof(name), "%s%s", e->path, e->is_bpf ? " [bpf]" : "");
	(void)kernel_ranges_add(&w->kernel_ranges, e->start, e->end - e->start, name);
}

void world_event(struct world *w, const struct process_event *e)
{
	int r;

	if (e->type == EVENT_LOST) {
		w->nr_events_lost += e->nr_lost;
		w->needs_rescan = true;
		return;
	}
	if (e->type == EVENT_KSYMBOL) {
		add_kernel_symbol(w, e);
		return;
	}
	if (!is_followed(w, e->type == EVENT_FORK ? e->ppid : e->pid))
		return;
	r = apply_event(w, e);
	/* A forked child uses the list of mappings that the kernel side copied, and may run another
	 * program by now. */
	if (e->type != EVENT_FORK)
		touch(w, e->pid);
	if (r == -ENOMEM || r == -E2BIG)
		w->nr_events_lost++; /* the event is lost */
}

void world_exec_heard(struct world *w, uint64_t time_ns, pid_t pid)
{
	int r = tracker_exec_heard(w->tracker, time_ns, pid);

	if (r > 0)
		touch(w, pid);
	else if (r == -ENOMEM)
		w->nr_events_lost++;
}

/* ---- once per turn ---- */

static int rescan_one(void *ctx, pid_t pid)
{
	struct world *w = ctx;

	return is_followed(w, pid) ? world_scan_one(ctx, pid) : 0;
}

void world_rescan(struct world *w, uint64_t now_ns)
{
	if (!w->needs_rescan || now_ns - w->rescanned_ns < RESCAN_EVERY_NS)
		return;
	w->needs_rescan = false;
	w->rescanned_ns = now_ns;
	(void)procfs_each_pid(&w->procfs, rescan_one, w); /* best effort by nature */
}

/* False for a file that the unwinder still works on, which stays for now. */
static bool forget_file(void *ctx, uint32_t file)
{
	struct world *w = ctx;

	if (w->unwinder && !unwinder_forget_file(w->unwinder, file))
		return false;
	world_forget_file(w, file);
	return true;
}

void world_forget(struct world *w, uint64_t now_ns, uint64_t oldest_ns)
{
	uint64_t before_ns = now_ns - FORGET_AFTER_NS;

	if (now_ns - w->forgot_ns < FORGET_EVERY_NS)
		return;
	w->forgot_ns = now_ns;
	if (oldest_ns < before_ns)
		before_ns = oldest_ns;
	tracker_forget(w->tracker, before_ns);
	world_forget_owners(w, before_ns);
	if (pthread_mutex_trylock(&w->naming_lock) == 0) { /* otherwise in a later turn */
		jit_files_forget(w->jit);
		pthread_mutex_unlock(&w->naming_lock);
	}
	filestore_sweep(w->files, forget_file, w);
}

void world_log_unanswered(struct world *w)
{
	struct unanswered_item item;

	for (; procfs_unanswered(&w->procfs, w->nr_unanswered_logged, &item);
	     w->nr_unanswered_logged++)
		log_warn(w->log, "proc: PID %d: '%s' did not answer, it is not asked again",
			 (int)item.pid, item.what);
}

static bool is_true(const atomic_bool *b)
{
	return b && atomic_load_explicit(b, memory_order_relaxed);
}

bool world_is_interrupted(const struct world *w)
{
	return is_true(w->cfg.is_interrupted);
}

bool world_is_aborted(const struct world *w)
{
	return is_true(w->cfg.is_aborted);
}

void world_fill_job(struct world *w, struct naming_job *job)
{
	job->files = w->files;
	job->jit = w->jit;
	job->debug = w->debug;
	job->shared = w->shared_names;
	job->procfs = &w->procfs;
	job->log = w->log;
	job->kallsyms_path = w->cfg.kallsyms_path;
	job->open_ksyms = w->cfg.open_ksyms;
	job->notes_path = w->cfg.notes_path;
	job->cache_dir = w->cfg.cache_dir;
	job->nr_workers = w->cfg.naming_workers;
	job->deadline = &w->naming_deadline;
	world_lock(w);
	/* if it fails, these symbols are missing */
	(void)kernel_ranges_copy(&job->kernel_ranges, &w->kernel_ranges);
	world_unlock(w);
}
