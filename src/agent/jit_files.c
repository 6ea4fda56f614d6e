/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/jit_files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/cures.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/idtable.h"
#include "proc/procfs.h"
#include "proc/roots.h"

#define MAX_PROCESSES (1u << 20)
#define MAX_ADDRESSES (1u << 24) /* of one process */
#define MAX_RANGES 4096u         /* likewise; a browser has 300 */
#define MAX_INDEXED (1u << 22)   /* ranges of all processes */
#define NO_FILE UINT32_MAX
#define NO_PROCESS UINT32_MAX
#define NO_USER UINT32_MAX
#define UNTRACKED (1ull << 63) /* with a PID: a program that the tracker does not know */
/* Samples of all processes with a dump that are put off, 24 bytes each: a quarter of an hour at 999
 * Hz on 4 CPUs. */
#define MAX_MOMENTS (1u << 22)
/* A file may appear after the code: asked again, each time after twice as long. */
#define LOOK_AGAIN_FIRST_NS (100 * NS_PER_MS)
#define LOOK_AGAIN_LAST_NS (10 * NS_PER_S)

/* A stretch of a file that is mapped. */
struct jit_range {
	uint64_t start, end, offset;
	uint32_t file;
};

/* A process, as long as it runs one program. */
struct jit_process {
	uint64_t id; /* of the program */
	struct jit_map_query query;
	pid_t ns_pid;  /* that it sees itself; 0: not known */
	uint32_t user; /* that it has been all the time; NO_USER */
	/* What it was forked from and goes on with; NO_PROCESS: nothing that is known of. */
	uint32_t parent;
	uint64_t forked_ns;
	bool has_lost_pid; /* which may be another process's by now */
	/* When another program took its place, whose map would be in the same place; 0: none has. */
	uint64_t replaced_real_ns;
	const char *runtime; /* that generates its code, see cures.h; static; NULL: not known */
	enum jit_map map;
	bool was_looked_for; /* while it was there: it had no map, if that is what map says */
	int map_fd;          /* owned; -1: none */
	uint32_t nr_users;   /* that are to be named by it, itself among them; see count_users() */
	uint32_t dump_file;  /* in the filestore; NO_FILE: none of its own */
	uint32_t nr_dumps;   /* that it had mapped when they were last looked at */
	uint64_t look_again_ns, wait_ns;
	struct jit_address *addresses; /* owned */
	uint32_t nr_addresses, cap_addresses;
	struct jit_range *ranges; /* owned; of a process that has a map or a dump */
	uint32_t nr_ranges, cap_ranges;
	struct jit_moment *moments; /* owned; of a process that has a dump */
	uint32_t nr_moments, cap_moments;
};

/* One of those stretches, of a process that tells names of it. */
struct indexed_range {
	uint32_t content, root; /* see struct file */
	uint64_t offset, bytes;
	uint64_t start;
	uint32_t process;
};

struct jit_files {
	const struct procfs *procfs;   /* borrowed */
	struct filestore *files;       /* borrowed */
	const struct tracker *tracker; /* borrowed */
	unsigned int max_fds, nr_fds;
	struct jit_process *processes; /* owned */
	uint32_t nr_processes, cap_processes;
	struct idtable by_id;
	struct indexed_range *index; /* owned; jit_files_index_places() */
	uint32_t nr_index, cap_index;
	bool has_counted_users;
	uint64_t counts[NR_JIT_MAPS];
	uint32_t nr_moments; /* of all processes */
	pthread_mutex_t
		lock; /* held in what any thread may call: jit_files_get(), jit_files_drop() */
};

int jit_files_new(const struct procfs *procfs, struct filestore *files,
		  const struct tracker *tracker, unsigned int max_fds, struct jit_files **ret_files)
{
	struct jit_files *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	j->procfs = procfs;
	j->files = files;
	j->tracker = tracker;
	j->max_fds = max_fds;
	pthread_mutex_init(&j->lock, NULL);
	*ret_files = j;
	return 0;
}

struct jit_files *jit_files_free(struct jit_files *j)
{
	if (!j)
		return NULL;
	for (uint32_t i = 0; i < j->nr_processes; i++) {
		if (j->processes[i].map_fd >= 0)
			close(j->processes[i].map_fd);
		free(j->processes[i].addresses);
		free(j->processes[i].ranges);
		free(j->processes[i].moments);
	}
	free(j->processes);
	free(j->index);
	idtable_done(&j->by_id);
	pthread_mutex_destroy(&j->lock);
	free(j);
	return NULL;
}

/* ---- the map ---- */

static void look_for_map(struct jit_files *j, struct jit_process *p, bool is_last)
{
	enum jit_map map;
	int fd = -1;

	if (p->replaced_real_ns || p->has_lost_pid)
		return;
	if (!is_last && (p->map == JIT_MAP_OPEN || j->nr_fds >= j->max_fds)) {
		if (p->map != JIT_MAP_OPEN)
			p->map = JIT_MAP_TOO_MANY;
		return;
	}
	map = jit_map_open(j->procfs, &p->query, &fd);
	if (map != JIT_MAP_OPEN && p->map == JIT_MAP_OPEN)
		return; /* the one that is held is as good as ever */
	/* Gone now, process or map, says nothing of the time when it was there. */
	if ((map != JIT_MAP_GONE && map != JIT_MAP_NONE) ||
	    (p->map == JIT_MAP_NONE && !p->was_looked_for))
		p->map = map;
	p->was_looked_for |= map != JIT_MAP_GONE;
	if (map != JIT_MAP_OPEN)
		return;
	if (p->map_fd >= 0)
		close(p->map_fd); /* it may have been replaced by a newer one */
	else
		j->nr_fds++;
	p->map_fd = fd;
}

/* ---- the jitdump ---- */

/* The number in ".../jit-<number>.dump". */
static uint64_t dump_number(const struct jit_files *j, uint32_t file)
{
	const char *name = strrchr(filestore_get(j->files, file)->path, '-');

	return name ? strtoull(name + 1, NULL, 10) : 0;
}

/* Whose dump it is that process i has mapped: its own, or inherited from one that it was forked from.
 * How long something has been mapped is known only of what was seen; else its number tells. */
static uint32_t dump_owner(const struct jit_files *j, uint32_t i, const struct mapping *m)
{
	uint64_t number = dump_number(j, m->file);

	for (uint32_t n = 0; n < JIT_MAX_TOLD; n++) {
		const struct jit_process *p = &j->processes[i];

		if (p->parent == NO_PROCESS || m->since_ns > p->forked_ns ||
		    number == (uint64_t)p->ns_pid)
			break;
		i = p->parent;
	}
	return i;
}

/* A process maps its dump executable so that it be found here. */
static void look_for_dump(struct jit_files *j, uint32_t i, const struct process *p,
			  uint64_t time_ns)
{
	const struct mapping *m = process_mapping_from(p, 0, time_ns);

	for (; m; m = process_mapping_from(p, m->end, time_ns))
		if (m->is_jitdump) {
			struct jit_process *owner = &j->processes[dump_owner(j, i, m)];

			if (owner->dump_file != NO_FILE)
				continue;
			owner->dump_file = m->file;
			filestore_keep(j->files, m->file);
		}
	j->processes[i].nr_dumps = process_nr_jitdumps(p, time_ns);
}

/* ---- code of theirs that lies in files ---- */

/* What cannot be remembered costs names. */
static void note_ranges(struct jit_files *j, struct jit_process *jp, const struct process *p,
			uint64_t time_ns)
{
	const struct mapping *m = process_mapping_from(p, 0, time_ns);

	jp->nr_ranges = 0;
	for (; m; m = process_mapping_from(p, m->end, time_ns)) {
		if (m->kind != MAPPING_FILE)
			continue;
		if (ARRAY_RESERVE(jp->ranges, jp->cap_ranges, jp->nr_ranges + 1, MAX_RANGES) < 0)
			return;
		jp->ranges[jp->nr_ranges++] =
			(struct jit_range){ m->start, m->end, m->offset, m->file };
		filestore_keep(j->files, m->file); /* key_of() looks at it in the end */
	}
}

/* A process that has been of several users may have what one of them wrote. */
static bool is_of_user(int fd, uint32_t user)
{
	struct stat st;

	return fd >= 0 && user != NO_USER && fstat(fd, &st) == 0 && st.st_uid == user;
}

struct jit_told jit_files_told_by(const struct jit_files *j, uint32_t process)
{
	const struct jit_process *p = &j->processes[process];
	struct jit_told told = JIT_TOLD(-1, -1);
	int dump_fd = -1;

	if (p->dump_file != NO_FILE)
		dump_fd = filestore_get(j->files, p->dump_file)->fd;
	if (is_of_user(dump_fd, p->user))
		told.dump_fd = dump_fd;
	if (is_of_user(p->map_fd, p->user))
		told.map_fd = fcntl(p->map_fd, F_DUPFD_CLOEXEC, 0);
	return told;
}

static bool tells(const struct jit_files *j, uint32_t process)
{
	struct jit_told told = jit_files_told_by(j, process);
	bool has_any = told.map_fd >= 0 || told.dump_fd >= 0;

	closep(&told.map_fd);
	return has_any;
}

/* By the bytes of a file as they are seen in one root, then by process. */
static int by_bytes(const void *pa, const void *pb)
{
	const struct indexed_range *a = pa, *b = pb;

	if (a->content != b->content)
		return a->content < b->content ? -1 : 1;
	if (a->root != b->root)
		return a->root < b->root ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

static int by_bytes_and_process(const void *pa, const void *pb)
{
	const struct indexed_range *a = pa, *b = pb;
	int order = by_bytes(a, b);

	if (order || a->process != b->process)
		return order ? order : (a->process < b->process ? -1 : 1);
	return a->start < b->start ? -1 : a->start > b->start;
}

/* In a root that is not known, nobody tells anything. */
static bool key_of(const struct jit_files *j, uint32_t file, uint64_t offset, uint64_t bytes,
		   struct indexed_range *ret_key)
{
	const struct file *f = filestore_get(j->files, file);

	*ret_key = (struct indexed_range){
		.content = f->content, .root = f->root, .offset = offset, .bytes = bytes
	};
	return f->root != ROOT_UNKNOWN;
}

/* What finds no room costs names. */
static int index_process(struct jit_files *j, uint32_t process)
{
	const struct jit_process *p = &j->processes[process];
	int r;

	for (uint32_t i = 0; i < p->nr_ranges; i++) {
		const struct jit_range *range = &p->ranges[i];
		struct indexed_range one;

		if (!key_of(j, range->file, range->offset, range->end - range->start, &one))
			continue;
		one.start = range->start;
		one.process = process;
		r = ARRAY_RESERVE(j->index, j->cap_index, j->nr_index + 1, MAX_INDEXED);
		if (r < 0)
			return r;
		j->index[j->nr_index++] = one;
	}
	return 0;
}

int jit_files_index_places(struct jit_files *j, const struct cancel *cancel)
{
	int r = 0;

	j->nr_index = 0;
	for (uint32_t i = 0; i < j->nr_processes && r == 0; i++) {
		if (cancel_is_asked(cancel))
			return -ECANCELED;
		if (j->processes[i].nr_ranges && tells(j, i))
			r = index_process(j, i);
	}
	if (j->nr_index)
		qsort(j->index, j->nr_index, sizeof(*j->index), by_bytes_and_process);
	return r == -E2BIG ? 0 : r;
}

/* The first that is not before the key. */
static uint32_t lower_bound(const struct jit_files *j, const struct indexed_range *key)
{
	uint32_t low = 0, high = j->nr_index;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (by_bytes(&j->index[mid], key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* *at: 1 + the place in the index. */
bool jit_files_next_place(const struct jit_files *j, uint32_t *at, uint32_t file, uint64_t offset,
			  uint64_t bytes, struct jit_place *ret_place)
{
	struct indexed_range key;
	uint32_t i;

	if (!j->nr_index || !key_of(j, file, offset, bytes, &key))
		return false;
	i = *at ? *at : lower_bound(j, &key);
	while (i > 0 && *at && i < j->nr_index && j->index[i].process == j->index[i - 1].process &&
	       by_bytes(&j->index[i], &j->index[i - 1]) == 0)
		i++; /* has it mapped twice */
	if (i >= j->nr_index || by_bytes(&j->index[i], &key) != 0)
		return false;
	*at = i + 1;
	*ret_place = (struct jit_place){ .start = j->index[i].start,
					 .user = j->processes[j->index[i].process].user,
					 .process = j->index[i].process };
	return true;
}

/* ---- processes ---- */

static bool process_eq(const void *owner, uint32_t id, const void *key)
{
	return ((const struct jit_files *)owner)->processes[id].id == *(const uint64_t *)key;
}

static uint32_t find(const struct jit_files *j, uint64_t id)
{
	uint32_t at;

	return idtable_find(&j->by_id, hash_mix(0, id), process_eq, j, &id, &at) ? at : NO_PROCESS;
}

/* The program that the process ran before cannot have a newer map than it has now. */
static void note_exec(struct jit_files *j, uint32_t i, const struct process *p, uint64_t time_ns)
{
	uint64_t exec_ns = process_exec_ns(p, time_ns), real_ns;
	uint32_t before;

	if (!exec_ns)
		return;
	real_ns = clock_ns(CLOCK_REALTIME) - clock_mono_ns() + exec_ns;
	j->processes[i].query.exec_real_ns = real_ns;
	before = find(j, process_program(p, exec_ns - 1));
	if (before != NO_PROCESS && before != i)
		j->processes[before].replaced_real_ns = real_ns;
}

static uint32_t add(struct jit_files *j, uint64_t id, pid_t pid, pid_t ppid)
{
	struct proc_stat stat = { 0 };
	struct proc_status status = { 0 };
	struct jit_process *p;

	if (ARRAY_RESERVE(j->processes, j->cap_processes, j->nr_processes + 1, MAX_PROCESSES) < 0 ||
	    idtable_reserve(&j->by_id) < 0)
		return NO_PROCESS;
	(void)procfs_stat(j->procfs, pid, &stat);     /* gone: not known */
	(void)procfs_status(j->procfs, pid, &status); /* likewise */
	p = &j->processes[j->nr_processes];
	*p = (struct jit_process){
		.id = id,
		.query = { .pid = pid, .ppid = ppid, .start_ticks = stat.start_ticks },
		.ns_pid = status.ns_pid,
		.user = status.is_one_user ? status.euid : NO_USER,
		.parent = NO_PROCESS,
		.map_fd = -1,
		.dump_file = NO_FILE,
		.wait_ns = LOOK_AGAIN_FIRST_NS
	};
	idtable_insert(&j->by_id, hash_mix(0, id), j->nr_processes);
	return j->nr_processes++;
}

/* ---- what a process goes on with ---- */

/* One that was forked before anybody looked: it and its parent have come out of the same exec. */
static bool find_origin(const struct jit_files *j, const struct jit_process *jp,
			struct process_origin *ret)
{
	pid_t ppid = jp->query.ppid;
	const struct process *p;

	if (ppid <= 0 || !procfs_has_same_exec(j->procfs, jp->query.pid, ppid))
		return false;
	p = tracker_find(j->tracker, ppid, UINT64_MAX);
	*ret = (struct process_origin){ .program = p ? process_program(p, UINT64_MAX)
						     : UNTRACKED | (uint64_t)ppid,
					.pid = ppid,
					.fork_ns = proc_stat_started_ns(&(struct proc_stat){
						.start_ticks = jp->query.start_ticks }) };
	return true;
}

/* The parent as the tracker knows it; NULL: not any more, or it never has. */
static const struct process *tracked(const struct jit_files *j, const struct process_origin *o)
{
	const struct process *p = tracker_find(j->tracker, o->pid, o->fork_ns);

	return p && process_program(p, o->fork_ns) == o->program ? p : NULL;
}

static bool has_lost_pid(const struct jit_files *j, const struct process_origin *o,
			 const struct process *p)
{
	if (o->program & UNTRACKED)
		return false;
	return !p || tracker_find(j->tracker, o->pid, UINT64_MAX) != p ||
	       process_program(p, UINT64_MAX) != o->program;
}

/* Remembers what the process was forked from; the parent, if it was not known before. */
static uint32_t note_origin(struct jit_files *j, uint32_t child, const struct process_origin *o,
			    const struct process *p)
{
	uint32_t parent = find(j, o->program);
	bool is_new = parent == NO_PROCESS;

	if (is_new)
		parent = add(j, o->program, o->pid, p ? process_parent(p) : 0);
	if (parent == NO_PROCESS)
		return NO_PROCESS;
	j->processes[child].parent = parent;
	j->processes[child].forked_ns = o->fork_ns;
	if (!is_new)
		return NO_PROCESS;
	j->processes[parent].has_lost_pid = has_lost_pid(j, o, p);
	if (p)
		note_exec(j, parent, p, o->fork_ns);
	return parent;
}

/* All the way up, or until where it is known already. */
static void note_origins(struct jit_files *j, uint32_t i, const struct process *p, uint64_t time_ns)
{
	for (uint32_t n = 1; n < JIT_MAX_TOLD && p && i != NO_PROCESS; n++) {
		bool is_by_exec = process_exec_ns(p, time_ns) != 0;
		struct process_origin o;

		if (!process_origin(p, time_ns, &o) &&
		    (is_by_exec || !find_origin(j, &j->processes[i], &o)))
			return;
		p = tracked(j, &o);
		i = note_origin(j, i, &o, p);
		time_ns = o.fork_ns;
	}
}

/* ---- addresses ---- */

typedef void (*row_fn)(struct jit_files *j, struct jit_process *p);

/* The process and those that it was forked from. */
static void each_in_row(struct jit_files *j, uint32_t own, row_fn fn)
{
	for (uint32_t i = own, nr = 0; i != NO_PROCESS && nr < JIT_MAX_TOLD; nr++) {
		fn(j, &j->processes[i]);
		i = j->processes[i].parent;
	}
}

/* Who it is may have changed, by then or since. */
static void check_user(const struct jit_files *j, struct jit_process *jp)
{
	struct proc_status status;

	if (jp->has_lost_pid || procfs_status(j->procfs, jp->query.pid, &status) < 0)
		return;
	if (!status.is_one_user || status.euid != jp->user)
		jp->user = NO_USER;
}

static void look_for_map_early(struct jit_files *j, struct jit_process *p)
{
	look_for_map(j, p, false);
}

static void look(struct jit_files *j, uint32_t i, const struct process *p, uint64_t time_ns)
{
	struct jit_process *jp = &j->processes[i];

	jp->look_again_ns = time_ns + jp->wait_ns;
	if (jp->wait_ns < LOOK_AGAIN_LAST_NS)
		jp->wait_ns *= 2;
	each_in_row(j, i, look_for_map_early);
	look_for_dump(j, i, p, time_ns);
	check_user(j, jp);
	if (jp->map_fd >= 0 || jp->dump_file != NO_FILE)
		note_ranges(j, jp, p, time_ns);
}

static int add_address(struct jit_process *jp, const struct jit_address *a)
{
	int r = ARRAY_RESERVE(jp->addresses, jp->cap_addresses, jp->nr_addresses + 1,
			      MAX_ADDRESSES);

	if (r == 0)
		jp->addresses[jp->nr_addresses++] = *a;
	return r;
}

static const char *find_runtime(const struct jit_files *j, const struct process *p,
				uint64_t time_ns)
{
	const struct mapping *m = process_mapping_from(p, 0, time_ns);
	const char *runtime = NULL;

	for (; m && !runtime; m = process_mapping_from(p, m->end, time_ns))
		if (m->kind == MAPPING_FILE)
			runtime = cure_runtime_of_file(filestore_get(j->files, m->file)->path);
	return runtime;
}

void jit_files_note(struct jit_files *j, const struct process *p, pid_t pid, uint64_t addr,
		    uint64_t time_ns)
{
	struct jit_address a = { .addr = addr, .time_ns = time_ns };
	uint64_t id = process_program(p, time_ns);
	uint32_t i = find(j, id);

	if (i == NO_PROCESS) {
		i = add(j, id, pid, process_parent(p));
		if (i == NO_PROCESS)
			return;
		j->processes[i].runtime = find_runtime(j, p, time_ns);
		note_exec(j, i, p, time_ns);
		note_origins(j, i, p, time_ns);
	}
	if (time_ns >= j->processes[i].look_again_ns)
		look(j, i, p, time_ns);
	(void)add_address(&j->processes[i], &a); /* costs a name */
}

/* ---- samples whose names depend on when they were taken ---- */

int jit_files_keep(struct jit_files *j, const struct process *p, const struct jit_moment *m)
{
	uint32_t nr_dumps = process_nr_jitdumps(p, m->time_ns), i;
	struct jit_process *jp;
	int r;

	if (!nr_dumps)
		return 0; /* most processes */
	i = find(j, process_program(p, m->time_ns));
	if (i == NO_PROCESS)
		return -ENOMEM;
	jp = &j->processes[i];
	if (jp->dump_file == NO_FILE && jp->nr_dumps != nr_dumps)
		look_for_dump(j, i, p, m->time_ns);
	if (jp->dump_file == NO_FILE)
		return 0;
	if (j->nr_moments == MAX_MOMENTS)
		return -E2BIG;
	r = ARRAY_RESERVE(jp->moments, jp->cap_moments, jp->nr_moments + 1, MAX_MOMENTS);
	if (r < 0)
		return r;
	jp->moments[jp->nr_moments++] = *m;
	j->nr_moments++;
	return 1;
}

bool jit_files_next_kept(const struct jit_files *j, uint32_t *at, struct jit_kept *ret_kept)
{
	for (; *at < j->nr_processes; ++*at) {
		const struct jit_process *p = &j->processes[*at];

		if (!p->nr_moments)
			continue;
		*ret_kept = (struct jit_kept){ .moments = p->moments,
					       .nr_moments = p->nr_moments,
					       .addresses = p->addresses,
					       .nr_addresses = p->nr_addresses,
					       .dump_fd = -1,
					       .process = (*at)++ };
		if (p->dump_file != NO_FILE)
			ret_kept->dump_fd = filestore_get(j->files, p->dump_file)->fd;
		return true;
	}
	return false;
}

int jit_files_note_version(struct jit_files *j, uint32_t process, uint64_t addr, uint64_t version)
{
	struct jit_address a = { .addr = addr, .version = version };

	return add_address(&j->processes[process], &a);
}

void jit_files_drop_kept(struct jit_files *j, uint32_t process)
{
	struct jit_process *jp = &j->processes[process];

	free(TAKE(jp->moments));
	j->nr_moments -= jp->nr_moments;
	jp->nr_moments = jp->cap_moments = 0;
}

/* The program that came after it has written to the same file: what it told is gone. */
static void check_overwritten(struct jit_files *j, struct jit_process *p)
{
	struct stat st;

	if (p->map_fd < 0 || !p->replaced_real_ns || fstat(p->map_fd, &st) < 0 ||
	    jit_map_written_real_ns(&st) <= p->replaced_real_ns)
		return;
	closep(&p->map_fd);
	p->map_fd = -1;
	p->map = JIT_MAP_STALE;
	j->nr_fds--;
}

/* Its own descriptor: that of the process is closed as soon as its own batch is done. Locked. */
static struct jit_told take_told(struct jit_files *j, struct jit_process *p, uint64_t until_ns)
{
	struct jit_told told = { .map_fd = -1, .dump_fd = -1, .until_ns = until_ns };

	look_for_map(j, p, true);
	check_overwritten(j, p);
	if (p->map_fd >= 0)
		told.map_fd = fcntl(p->map_fd, F_DUPFD_CLOEXEC, 0);
	if (p->dump_file != NO_FILE)
		told.dump_fd = filestore_get(j->files, p->dump_file)->fd;
	return told;
}

static void add_user(struct jit_files *j, struct jit_process *p)
{
	p->nr_users++;
}

/* Once, when all are known. */
static void count_users(struct jit_files *j)
{
	for (uint32_t i = 0; i < j->nr_processes && !j->has_counted_users; i++)
		if (j->processes[i].nr_addresses)
			each_in_row(j, i, add_user);
	j->has_counted_users = true;
}

static void drop_user(struct jit_files *j, struct jit_process *p)
{
	if (p->nr_users)
		p->nr_users--;
	if (p->nr_users || p->map_fd < 0)
		return;
	closep(&p->map_fd);
	p->map_fd = -1;
	j->nr_fds--;
}

struct jit_runtime jit_files_runtime(const struct jit_files *j, uint64_t owner)
{
	uint32_t i = find(j, owner);

	if (i == NO_PROCESS)
		return (struct jit_runtime){ 0 };
	return (struct jit_runtime){ j->processes[i].runtime, j->processes[i].query.pid };
}

enum jit_map jit_files_get(struct jit_files *j, uint64_t owner, struct jit_sources *ret_sources)
{
	uint32_t own = find(j, owner);
	uint64_t until_ns = UINT64_MAX;
	struct jit_sources src = { 0 };

	*ret_sources = src;
	if (own == NO_PROCESS)
		return JIT_MAP_NONE;
	src.addresses = j->processes[own].addresses;
	src.nr_addresses = j->processes[own].nr_addresses;
	pthread_mutex_lock(&j->lock);
	count_users(j);
	for (uint32_t i = own; i != NO_PROCESS && src.nr_told < JIT_MAX_TOLD;) {
		struct jit_process *p = &j->processes[i];

		src.told[src.nr_told++] = take_told(j, p, until_ns);
		if (p->forked_ns < until_ns)
			until_ns = p->forked_ns;
		i = p->parent;
	}
	j->counts[j->processes[own].map]++;
	pthread_mutex_unlock(&j->lock);
	*ret_sources = src;
	return j->processes[own].map;
}

void jit_sources_done(struct jit_sources *src)
{
	for (uint32_t i = 0; i < src->nr_told; i++)
		closep(&src->told[i].map_fd);
	src->nr_told = 0;
}

void jit_files_drop(struct jit_files *j, uint64_t owner)
{
	uint32_t own = find(j, owner);

	pthread_mutex_lock(&j->lock);
	each_in_row(j, own, drop_user);
	pthread_mutex_unlock(&j->lock);
}

const uint64_t *jit_files_counts(const struct jit_files *j)
{
	return j->counts;
}
