/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/jit_files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/idtable.h"
#include "proc/procfs.h"

#define MAX_PROCESSES (1u << 20)
#define MAX_ADDRESSES (1u << 24) /* of one process */
#define MAX_RANGES 4096u         /* likewise; a browser has 300 */
#define NO_FILE UINT32_MAX
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
	/* When another program took its place, whose map would be in the same place; 0: none has. */
	uint64_t replaced_real_ns;
	char comm[PROC_COMM_SIZE];
	enum jit_map map;
	int map_fd;         /* owned; -1: none */
	uint32_t dump_file; /* in the filestore; NO_FILE: none */
	uint64_t look_again_ns, wait_ns;
	struct jit_address *addresses; /* owned */
	uint32_t nr_addresses, cap_addresses;
	struct jit_range *ranges; /* owned; of a process that has a map or a dump */
	uint32_t nr_ranges, cap_ranges;
	struct jit_moment *moments; /* owned; of a process that has a dump */
	uint32_t nr_moments, cap_moments;
};

struct jit_files {
	const struct procfs *procfs;   /* borrowed */
	const struct filestore *files; /* borrowed */
	unsigned int max_fds, nr_fds;
	struct jit_process *processes; /* owned */
	uint32_t nr_processes, cap_processes;
	struct idtable by_id;
	uint64_t counts[NR_JIT_MAPS];
	uint32_t nr_moments; /* of all processes */
	pthread_mutex_t
		lock; /* held in what any thread may call: jit_files_get(), jit_files_drop() */
};

int jit_files_new(const struct procfs *procfs, const struct filestore *files, unsigned int max_fds,
		  struct jit_files **ret_files)
{
	struct jit_files *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	j->procfs = procfs;
	j->files = files;
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

	if (p->replaced_real_ns)
		return;
	if (!is_last && (p->map == JIT_MAP_OPEN || j->nr_fds >= j->max_fds)) {
		if (p->map != JIT_MAP_OPEN)
			p->map = JIT_MAP_TOO_MANY;
		return;
	}
	map = jit_map_open(j->procfs, &p->query, &fd);
	if (map != JIT_MAP_OPEN && p->map == JIT_MAP_OPEN)
		return; /* the one that is held is as good as ever */
	/* Gone now, process or map, says nothing of the time when it was there; of a process that has
	 * ended, but that its parent has not heard of, the map is not to be found. */
	if ((map != JIT_MAP_GONE && map != JIT_MAP_NONE) || p->map == JIT_MAP_NONE)
		p->map = map;
	if (map != JIT_MAP_OPEN)
		return;
	if (p->map_fd >= 0)
		close(p->map_fd); /* it may have been replaced by a newer one */
	else
		j->nr_fds++;
	p->map_fd = fd;
}

/* ---- the jitdump ---- */

/* A process maps its dump executable so that it be found here. */
static void look_for_dump(struct jit_process *jp, const struct process *p, uint64_t time_ns)
{
	const struct mapping *m = process_mapping_from(p, 0, time_ns);

	for (; m && jp->dump_file == NO_FILE; m = process_mapping_from(p, m->end, time_ns))
		if (m->is_jitdump)
			jp->dump_file = m->file;
}

/* ---- code of theirs that lies in files ---- */

/* What cannot be remembered costs names. */
static void note_ranges(struct jit_process *jp, const struct process *p, uint64_t time_ns)
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
	}
}

static const struct jit_range *find_range(const struct jit_process *p, uint32_t file,
					  uint64_t offset, uint64_t bytes)
{
	for (uint32_t i = 0; i < p->nr_ranges; i++) {
		const struct jit_range *r = &p->ranges[i];

		if (r->file == file && r->offset == offset && r->end - r->start == bytes)
			return r;
	}
	return NULL;
}

bool jit_files_find_place(const struct jit_files *j, uint32_t file, uint64_t offset, uint64_t bytes,
			  struct jit_place *ret_place)
{
	for (uint32_t i = 0; i < j->nr_processes; i++) {
		const struct jit_process *p = &j->processes[i];
		const struct jit_range *range = find_range(p, file, offset, bytes);
		struct jit_place place = JIT_PLACE_NONE;

		if (!range)
			continue;
		place.start = range->start;
		/* Its own descriptor: that of the process is closed as soon as its batch is done. */
		if (p->map_fd >= 0)
			place.map_fd = fcntl(p->map_fd, F_DUPFD_CLOEXEC, 0);
		if (p->dump_file != NO_FILE)
			place.dump_fd = filestore_get(j->files, p->dump_file)->fd;
		if (place.map_fd < 0 && place.dump_fd < 0)
			continue;
		*ret_place = place;
		return true;
	}
	return false;
}

/* ---- processes ---- */

static bool process_eq(const void *owner, uint32_t id, const void *key)
{
	return ((const struct jit_files *)owner)->processes[id].id == *(const uint64_t *)key;
}

static struct jit_process *find(const struct jit_files *j, uint64_t id)
{
	uint32_t at;

	if (!idtable_find(&j->by_id, hash_mix(0, id), process_eq, j, &id, &at))
		return NULL;
	return &j->processes[at];
}

/* The program that the process ran before cannot have a newer map than it has now. */
static void note_exec(struct jit_files *j, struct jit_process *jp, const struct process *p,
		      uint64_t time_ns)
{
	uint64_t exec_ns = process_exec_ns(p, time_ns);
	struct jit_process *before;

	if (!exec_ns)
		return;
	jp->query.exec_real_ns = clock_ns(CLOCK_REALTIME) - clock_mono_ns() + exec_ns;
	before = find(j, process_program(p, exec_ns - 1));
	if (before && before != jp)
		before->replaced_real_ns = jp->query.exec_real_ns;
}

static struct jit_process *add(struct jit_files *j, uint64_t id, pid_t pid, pid_t ppid)
{
	struct proc_stat stat = { 0 };
	struct jit_process *p;

	if (ARRAY_RESERVE(j->processes, j->cap_processes, j->nr_processes + 1, MAX_PROCESSES) < 0 ||
	    idtable_reserve(&j->by_id) < 0)
		return NULL;
	(void)procfs_stat(j->procfs, pid, &stat); /* gone: not known */
	p = &j->processes[j->nr_processes];
	*p = (struct jit_process){
		.id = id,
		.query = { .pid = pid, .ppid = ppid, .start_ticks = stat.start_ticks },
		.map_fd = -1,
		.dump_file = NO_FILE,
		.wait_ns = LOOK_AGAIN_FIRST_NS
	};
	(void)procfs_comm(j->procfs, pid, p->comm); /* gone: "" */
	idtable_insert(&j->by_id, hash_mix(0, id), j->nr_processes++);
	return p;
}

void jit_files_note(struct jit_files *j, const struct process *p, pid_t pid, uint64_t addr,
		    uint64_t time_ns)
{
	uint64_t id = process_program(p, time_ns);
	struct jit_process *jp = find(j, id);

	if (!jp) {
		jp = add(j, id, pid, process_parent(p));
		if (jp)
			note_exec(j, jp, p, time_ns);
	}
	if (!jp)
		return;
	if (time_ns >= jp->look_again_ns) {
		jp->look_again_ns = time_ns + jp->wait_ns;
		if (jp->wait_ns < LOOK_AGAIN_LAST_NS)
			jp->wait_ns *= 2;
		look_for_map(j, jp, false);
		look_for_dump(jp, p, time_ns);
		if (jp->map_fd >= 0 || jp->dump_file != NO_FILE)
			note_ranges(jp, p, time_ns);
	}
	if (ARRAY_RESERVE(jp->addresses, jp->cap_addresses, jp->nr_addresses + 1, MAX_ADDRESSES) <
	    0)
		return;
	jp->addresses[jp->nr_addresses++] =
		(struct jit_address){ .addr = addr, .time_ns = time_ns };
}

/* ---- samples whose names depend on when they were taken ---- */

bool jit_files_keep(struct jit_files *j, const struct process *p, const struct jit_moment *m)
{
	struct jit_process *jp = find(j, process_program(p, m->time_ns));

	if (!jp)
		return false;
	if (jp->dump_file == NO_FILE)
		look_for_dump(jp, p, m->time_ns);
	if (j->nr_moments == MAX_MOMENTS ||
	    ARRAY_RESERVE(jp->moments, jp->cap_moments, jp->nr_moments + 1, MAX_MOMENTS) < 0)
		return false;
	jp->moments[jp->nr_moments++] = *m;
	j->nr_moments++;
	return true;
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
	struct jit_process *jp = &j->processes[process];
	int r = ARRAY_RESERVE(jp->addresses, jp->cap_addresses, jp->nr_addresses + 1,
			      MAX_ADDRESSES);

	if (r == 0)
		jp->addresses[jp->nr_addresses++] =
			(struct jit_address){ .addr = addr, .version = version };
	return r;
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

enum jit_map jit_files_get(struct jit_files *j, uint64_t owner, struct jit_sources *ret_sources,
			   const char **ret_comm)
{
	struct jit_process *p = find(j, owner);

	*ret_sources = (struct jit_sources){ .map_fd = -1, .dump_fd = -1 };
	*ret_comm = "";
	if (!p)
		return JIT_MAP_NONE;
	pthread_mutex_lock(&j->lock);
	look_for_map(j, p, true);
	check_overwritten(j, p);
	j->counts[p->map]++;
	pthread_mutex_unlock(&j->lock);
	ret_sources->map_fd = p->map_fd;
	if (p->dump_file != NO_FILE)
		ret_sources->dump_fd = filestore_get(j->files, p->dump_file)->fd;
	ret_sources->addresses = p->addresses;
	ret_sources->nr_addresses = p->nr_addresses;
	*ret_comm = p->comm;
	return p->map;
}

void jit_files_drop(struct jit_files *j, uint64_t owner)
{
	struct jit_process *p = find(j, owner);

	if (!p || p->map_fd < 0)
		return;
	closep(&p->map_fd);
	p->map_fd = -1;
	pthread_mutex_lock(&j->lock);
	j->nr_fds--;
	pthread_mutex_unlock(&j->lock);
}

const uint64_t *jit_files_counts(const struct jit_files *j)
{
	return j->counts;
}
