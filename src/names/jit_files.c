/* SPDX-License-Identifier: Apache-2.0 */
#include "names/jit_files_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "names/advice.h"
#include "proc/procfs.h"

#define MAX_PROCESSES (1u << 20)
/* A runtime may create the file after the code: hence repeated attempts, at intervals that
 * double. */
#define LOOK_AGAIN_FIRST_NS (100 * NS_PER_MS)
#define LOOK_AGAIN_LAST_NS (10 * NS_PER_S)

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
		free(j->processes[i].ranges);
	}
	free(j->processes);
	free(j->index);
	idtable_done(&j->by_id);
	free(j);
	return NULL;
}

/* ---- the map ---- */

static bool is_map_wanted(const struct jit_files *j, struct jit_process *p, bool is_last)
{
	if (p->replaced_real_ns || p->has_lost_pid)
		return false;
	if (is_last || (p->map != JIT_MAP_OPEN && j->nr_fds < j->max_fds))
		return true;
	if (p->map != JIT_MAP_OPEN)
		p->map = JIT_MAP_TOO_MANY;
	return false;
}

/* Notes the result of opening the map; takes the descriptor. */
static void accept_map(struct jit_files *j, struct jit_process *p, enum jit_map map, int fd)
{
	if (map != JIT_MAP_OPEN && p->map == JIT_MAP_OPEN)
		return; /* the open map is kept */
	/* A process or map that is gone now may have existed when the sample was taken. */
	if ((map != JIT_MAP_GONE && map != JIT_MAP_NONE) ||
	    (p->map == JIT_MAP_NONE && !p->was_looked_for))
		p->map = map;
	p->was_looked_for |= map != JIT_MAP_GONE;
	if (map != JIT_MAP_OPEN)
		return;
	if (p->map_fd >= 0)
		close(p->map_fd); /* the file may have been replaced */
	else
		j->nr_fds++;
	p->map_fd = fd;
}

static void look_for_map(struct jit_files *j, struct jit_process *p)
{
	enum jit_map map;
	int fd = -1;

	if (!is_map_wanted(j, p, false))
		return;
	map = jit_map_open(j->procfs, &p->query, &fd);
	accept_map(j, p, map, fd);
}

/* ---- the jitdump ---- */

/* The number in ".../jit-<number>.dump". */
static uint64_t dump_number(const struct jit_files *j, uint32_t file)
{
	const char *name = strrchr(filestore_get(j->files, file)->path, '-');

	return name ? strtoull(name + 1, NULL, 10) : 0;
}

/* The owner of a jitdump that process i has mapped: the process itself or one that it was forked from. If
 * the mapping was not seen to begin, the number in the file's name decides. */
static uint32_t dump_owner(const struct jit_files *j, uint32_t i, const struct mapping *m)
{
	uint64_t number = dump_number(j, m->file);

	for (uint32_t n = 0; n < JIT_MAX_ORIGINS; n++) {
		const struct jit_process *p = &j->processes[i];

		if (p->parent == NO_PROCESS || m->since_ns > p->forked_ns ||
		    number == (uint64_t)p->ns_pid)
			break;
		i = p->parent;
	}
	return i;
}

/* A runtime maps its jitdump as executable so that profilers find it. */
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
			filestore_ref(j->files, m->file);
		}
	j->processes[i].nr_dumps = process_nr_jitdumps(p, time_ns);
}

int jit_process_dump_fd(const struct jit_files *j, const struct jit_process *p)
{
	return p->dump_file == NO_FILE ? -1 : filestore_get(j->files, p->dump_file)->fd;
}

/* ---- processes ---- */

static bool process_eq(const void *owner, uint32_t id, const void *key)
{
	return ((const struct jit_files *)owner)->processes[id].id == *(const uint64_t *)key;
}

uint32_t jit_process_find(const struct jit_files *j, uint64_t id)
{
	uint32_t at;

	return idtable_find(&j->by_id, hash_mix(0, id), process_eq, j, &id, &at) ? at : NO_PROCESS;
}

/* The program that the process ran before cannot have a newer map than it has now. */
void jit_process_note_exec(struct jit_files *j, uint32_t i, const struct process *p,
			   uint64_t time_ns)
{
	uint64_t exec_ns = process_exec_ns(p, time_ns), real_ns;
	uint32_t before;

	if (!exec_ns)
		return;
	real_ns = clock_ns(CLOCK_REALTIME) - clock_mono_ns() + exec_ns;
	j->processes[i].query.exec_real_ns = real_ns;
	before = jit_process_find(j, process_program(p, exec_ns - 1));
	if (before != NO_PROCESS && before != i)
		j->processes[before].replaced_real_ns = real_ns;
}

uint32_t jit_process_add(struct jit_files *j, uint64_t id, pid_t pid, pid_t ppid)
{
	struct proc_stat stat = { 0 };
	struct proc_status status = { 0 };
	struct jit_process *p;

	if (ARRAY_RESERVE(j->processes, j->cap_processes, j->nr_processes + 1, MAX_PROCESSES) < 0 ||
	    idtable_reserve(&j->by_id) < 0)
		return NO_PROCESS;
	(void)procfs_stat(j->procfs, pid, &stat);     /* if it is gone, they are unknown */
	(void)procfs_status(j->procfs, pid, &status); /* if it is gone, they are unknown */
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

/* ---- looking for files ---- */

typedef void (*row_fn)(struct jit_files *j, struct jit_process *p);

/* Calls fn for the process and for those that it was forked from. */
static void each_in_row(struct jit_files *j, uint32_t own, row_fn fn)
{
	for (uint32_t i = own, nr = 0; i != NO_PROCESS && nr < JIT_MAX_ORIGINS; nr++) {
		fn(j, &j->processes[i]);
		i = j->processes[i].parent;
	}
}

/* The user may have changed since the last look. */
static void check_user(const struct jit_files *j, struct jit_process *jp)
{
	struct proc_status status;

	if (jp->has_lost_pid || procfs_status(j->procfs, jp->query.pid, &status) < 0)
		return;
	if (!status.is_one_user || status.euid != jp->user)
		jp->user = NO_USER;
}

static void look(struct jit_files *j, uint32_t i, const struct process *p, uint64_t time_ns)
{
	struct jit_process *jp = &j->processes[i];

	jp->look_again_ns = time_ns + jp->wait_ns;
	if (jp->wait_ns < LOOK_AGAIN_LAST_NS)
		jp->wait_ns *= 2;
	each_in_row(j, i, look_for_map);
	look_for_dump(j, i, p, time_ns);
	check_user(j, jp);
	if (jp->map_fd >= 0 || jp->dump_file != NO_FILE)
		jit_process_note_ranges(j, jp, p, time_ns);
}

static const char *find_runtime(const struct jit_files *j, const struct process *p,
				uint64_t time_ns)
{
	const struct mapping *m = process_mapping_from(p, 0, time_ns);
	const char *runtime = NULL;

	for (; m && !runtime; m = process_mapping_from(p, m->end, time_ns))
		if (m->kind == MAPPING_FILE)
			runtime = advice_runtime_of_file(filestore_get(j->files, m->file)->path);
	return runtime;
}

void jit_files_look(struct jit_files *j, const struct process *p, pid_t pid, uint64_t time_ns)
{
	uint64_t id = process_program(p, time_ns);
	uint32_t i = jit_process_find(j, id);

	if (i == NO_PROCESS) {
		i = jit_process_add(j, id, pid, process_parent(p));
		if (i == NO_PROCESS)
			return;
		j->processes[i].runtime = find_runtime(j, p, time_ns);
		jit_process_note_exec(j, i, p, time_ns);
		jit_process_note_origins(j, i, p, time_ns);
	}
	if (time_ns >= j->processes[i].look_again_ns)
		look(j, i, p, time_ns);
}

int jit_files_has_dump(struct jit_files *j, const struct process *p, uint64_t time_ns)
{
	uint32_t nr_dumps = process_nr_jitdumps(p, time_ns), i;
	struct jit_process *jp;

	if (!nr_dumps)
		return 0; /* as most processes */
	i = jit_process_find(j, process_program(p, time_ns));
	if (i == NO_PROCESS)
		return -ENOMEM;
	jp = &j->processes[i];
	if (jp->dump_file == NO_FILE && jp->nr_dumps != nr_dumps)
		look_for_dump(j, i, p, time_ns);
	return jp->dump_file != NO_FILE;
}

/* A descriptor for the caller, because the filestore may close its own. */
static int dup_dump(const struct jit_files *j, const struct jit_process *p)
{
	int fd = jit_process_dump_fd(j, p);

	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int jit_files_open_dump(const struct jit_files *j, uint64_t program)
{
	uint32_t i = jit_process_find(j, program);

	return i == NO_PROCESS ? -1 : dup_dump(j, &j->processes[i]);
}

/* Drops a map that a later program of the process has overwritten. */
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

/* Duplicates the descriptors, because the process's own are closed when its batch is done. */
static struct jit_symbol_files take_symbol_files(struct jit_files *j, struct jit_process *p,
						 uint64_t until_ns)
{
	struct jit_symbol_files files = JIT_SYMBOL_FILES(-1, -1);

	files.until_ns = until_ns;
	check_overwritten(j, p);
	if (p->map_fd >= 0)
		files.map_fd = fcntl(p->map_fd, F_DUPFD_CLOEXEC, 0);
	files.dump_fd = dup_dump(j, p);
	return files;
}

static void add_user(struct jit_files *j, struct jit_process *p)
{
	p->nr_users++;
}

void jit_files_expect(struct jit_files *j, uint64_t program)
{
	each_in_row(j, jit_process_find(j, program), add_user);
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
	uint32_t i = jit_process_find(j, owner);

	if (i == NO_PROCESS)
		return (struct jit_runtime){ 0 };
	return (struct jit_runtime){ j->processes[i].runtime, j->processes[i].query.pid };
}

void jit_files_list_looks(struct jit_files *j, uint64_t program, bool is_last,
			  struct jit_looks *ret_looks)
{
	uint32_t i = jit_process_find(j, program);

	ret_looks->nr = 0;
	for (uint32_t nr = 0; i != NO_PROCESS && nr < JIT_MAX_ORIGINS; nr++) {
		struct jit_process *p = &j->processes[i];

		if (is_map_wanted(j, p, is_last))
			ret_looks->list[ret_looks->nr++] =
				(struct jit_look){ .process = i, .query = p->query, .fd = -1 };
		i = p->parent;
	}
}

void jit_looks_open(struct jit_looks *looks, const struct procfs *procfs)
{
	for (uint32_t i = 0; i < looks->nr; i++) {
		struct jit_look *l = &looks->list[i];

		l->map = jit_map_open(procfs, &l->query, &l->fd);
	}
}

enum jit_map jit_files_get(struct jit_files *j, uint64_t program, struct jit_looks *looks,
			   struct jit_symbol_files ret_list[JIT_MAX_ORIGINS], uint32_t *ret_nr)
{
	uint32_t own = jit_process_find(j, program);
	uint64_t until_ns = UINT64_MAX;

	*ret_nr = 0;
	for (uint32_t i = 0; i < looks->nr; i++)
		accept_map(j, &j->processes[looks->list[i].process], looks->list[i].map,
			   looks->list[i].fd);
	looks->nr = 0;
	if (own == NO_PROCESS)
		return JIT_MAP_NONE;
	for (uint32_t i = own; i != NO_PROCESS && *ret_nr < JIT_MAX_ORIGINS;) {
		struct jit_process *p = &j->processes[i];

		ret_list[(*ret_nr)++] = take_symbol_files(j, p, until_ns);
		if (p->forked_ns < until_ns)
			until_ns = p->forked_ns;
		i = p->parent;
	}
	j->processes[own].was_asked = true;
	return j->processes[own].map;
}

void jit_files_drop(struct jit_files *j, uint64_t program)
{
	each_in_row(j, jit_process_find(j, program), drop_user);
}

struct jit_map_counts jit_files_counts(const struct jit_files *j)
{
	struct jit_map_counts counts = j->gone;

	for (uint32_t i = 0; i < j->nr_processes; i++)
		counts.nr[j->processes[i].map] += j->processes[i].was_asked;
	return counts;
}

/* ---- releasing ---- */

void jit_files_hold(struct jit_files *j, uint64_t program)
{
	uint32_t i = jit_process_find(j, program);

	if (i != NO_PROCESS)
		j->processes[i].nr_holders++;
}

void jit_files_let_go(struct jit_files *j, uint64_t program)
{
	uint32_t i = jit_process_find(j, program);

	if (i != NO_PROCESS && j->processes[i].nr_holders)
		j->processes[i].nr_holders--;
}

static bool is_running(const struct jit_files *j, const struct jit_process *p)
{
	const struct process *now = tracker_find(j->tracker, p->query.pid, UINT64_MAX);

	return now && process_program(now, UINT64_MAX) == p->id;
}

/* Marks the programs that run or are held, with those that they were forked from; returns their number. */
static uint32_t mark_needed(const struct jit_files *j, bool *is_needed)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < j->nr_processes; i++) {
		if (!j->processes[i].nr_holders && !is_running(j, &j->processes[i]))
			continue;
		for (uint32_t k = i; k != NO_PROCESS && !is_needed[k]; k = j->processes[k].parent) {
			is_needed[k] = true;
			nr++;
		}
	}
	return nr;
}

static void release_process(struct jit_files *j, struct jit_process *p)
{
	if (p->map_fd >= 0) {
		close(p->map_fd);
		j->nr_fds--;
	}
	if (p->dump_file != NO_FILE)
		filestore_unref(j->files, p->dump_file);
	jit_process_drop_ranges(j, p);
	free(p->ranges);
	j->gone.nr[p->map] += p->was_asked;
}

/* Frees the others and closes the gaps; numbers[] maps old to new numbers. */
static void keep_needed(struct jit_files *j, const bool *is_needed, uint32_t *numbers)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < j->nr_processes; i++) {
		if (!is_needed[i]) {
			release_process(j, &j->processes[i]);
			continue;
		}
		numbers[i] = kept;
		j->processes[kept++] = j->processes[i];
	}
	j->nr_processes = kept;
	j->nr_index = 0;
	idtable_clear(&j->by_id);
	for (uint32_t i = 0; i < kept; i++) {
		struct jit_process *p = &j->processes[i];

		if (p->parent != NO_PROCESS)
			p->parent = numbers[p->parent];
		idtable_insert(&j->by_id, hash_mix(0, p->id), i);
	}
}

void jit_files_forget(struct jit_files *j)
{
	_cleanup_(freep) bool *is_needed = calloc(j->nr_processes + 1, sizeof(*is_needed));
	_cleanup_(freep) uint32_t *numbers = calloc(j->nr_processes + 1, sizeof(*numbers));

	/* If there is no memory, the programs stay until the next call. */
	if (is_needed && numbers && mark_needed(j, is_needed) < j->nr_processes)
		keep_needed(j, is_needed, numbers);
}

uint32_t jit_files_nr_processes(const struct jit_files *j)
{
	return j->nr_processes;
}
