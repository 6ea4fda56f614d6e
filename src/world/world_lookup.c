/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves samples: the process, whose it is, the files of its code. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/hash.h"
#include "elf/elf_image.h"
#include "names/shared_names.h"
#include "sample/sample.h"
#include "world/world.h"

#define LOOK_AGAIN_NS (100 * NS_PER_MS)
#define MAX_PROCESSES (1u << 24)
#define FEW_OWNERS 64

const struct process *world_process(struct world *w, pid_t pid, uint64_t time_ns)
{
	const struct process *p = tracker_find(w->tracker, pid, time_ns);

	if (p)
		return p;
	(void)tracker_scan(w->tracker, time_ns, pid); /* if it is gone, the addresses stay raw */
	return tracker_find(w->tracker, pid, time_ns);
}

const struct mapping *world_look_again(struct world *w, const struct process **process, pid_t pid,
				       uint64_t addr, uint64_t time_ns)
{
	uint64_t id = process_id(*process), image = process_image(*process, time_ns);
	const struct process *now;

	if (time_ns - w->looked_again_ns < LOOK_AGAIN_NS)
		return NULL;
	w->looked_again_ns = time_ns;
	(void)world_scan(w, pid); /* if it is gone, nothing changes */
	*process = tracker_find(w->tracker, pid, time_ns);
	now = tracker_find(w->tracker, pid, UINT64_MAX);
	if (!now || process_id(now) != id || process_image(now, UINT64_MAX) != image)
		return NULL;
	return process_mapping(now, addr, UINT64_MAX - 1);
}

/* The process that has the PID now may be a different one. */
static void read_status(const struct world *w, const struct sampled_task *t, struct task_owner *to)
{
	struct proc_status status;
	struct proc_stat stat;

	to->user = SAMPLE_NO_USER;
	to->ns_pid = 0;
	if (!t->process || procfs_stat(&w->procfs, t->pid, &stat) < 0 ||
	    !proc_stat_began_by(&stat, t->time_ns) ||
	    procfs_status(&w->procfs, t->pid, &status) < 0)
		return;
	to->ns_pid = status.ns_pid;
	if (status.is_one_user)
		to->user = status.euid;
}

static bool is_owner_of(const void *owner, uint32_t id, const void *key)
{
	const struct world *w = owner;

	return w->owners[id].id == *(const uint64_t *)key;
}

static struct process_owner *find_owner(const struct world *w, uint64_t id)
{
	uint32_t at;

	return idtable_find(&w->owner_index, hash_mix(0, id), is_owner_of, w, &id, &at)
		       ? &w->owners[at]
		       : NULL;
}

/* A child that is gone, and was still what its parent was, was where its parent is. */
static const struct cgroup *cgroup_of_parent(const struct world *w, const struct sampled_task *t)
{
	struct process_origin origin;
	const struct process *parent;
	const struct process_owner *known;

	if (!t->process || !process_origin(t->process, t->time_ns, &origin))
		return NULL;
	parent = tracker_find(w->tracker, origin.pid, origin.fork_ns);
	known = parent ? find_owner(w, process_id(parent)) : NULL;
	return known && known->cgroup_id == t->cgroup_id ? known->owner.cgroup : NULL;
}

/* Labels are not worth losing a sample. */
static void read_cgroup(struct world *w, const struct sampled_task *t, struct task_owner *to)
{
	int r = cgroups_find(w->cgroups, t->cgroup_id, t->tid, t->time_ns, &to->cgroup);

	if (r < 0)
		to->cgroup = cgroup_of_parent(w, t);
	w->nr_cgroups_unknown += r == -ESRCH && !to->cgroup;
}

static int add_owner(struct world *w, uint64_t id, struct process_owner **ret_owner)
{
	int r = ARRAY_RESERVE(w->owners, w->cap_owners, w->nr_owners + 1, MAX_PROCESSES);

	if (r == 0)
		r = idtable_reserve(&w->owner_index);
	if (r < 0)
		return r;
	*ret_owner = &w->owners[w->nr_owners];
	**ret_owner = (struct process_owner){ .id = id };
	idtable_insert(&w->owner_index, hash_mix(0, id), w->nr_owners++);
	return 0;
}

int world_owner(struct world *w, const struct sampled_task *t, struct task_owner *ret_owner)
{
	uint64_t id = t->process ? process_id(t->process) : ~(uint64_t)t->pid;
	uint64_t program = t->process ? process_program(t->process, t->time_ns) : 0;
	struct process_owner *known = find_owner(w, id);
	bool is_new = !known;
	int r = is_new ? add_owner(w, id, &known) : 0;

	if (r < 0)
		return r;
	if (is_new || known->program != program)
		read_status(w, t, &known->owner);
	if (is_new || known->program != program || known->cgroup_id != t->cgroup_id)
		read_cgroup(w, t, &known->owner);
	known->program = program;
	known->cgroup_id = t->cgroup_id;
	known->used_ns = t->time_ns;
	known->pid = t->pid;
	*ret_owner = known->owner;
	return 0;
}

static bool is_owner_needed(const struct world *w, const struct process_owner *o,
			    uint64_t before_ns)
{
	const struct process *now = tracker_find(w->tracker, o->pid, UINT64_MAX);

	return o->used_ns >= before_ns || (now && process_id(now) == o->id);
}

void world_forget_owners(struct world *w, uint64_t before_ns)
{
	uint32_t kept = 0;

	if (w->nr_owners < 2 * w->nr_owners_needed + FEW_OWNERS)
		return; /* not worth the work */
	idtable_clear(&w->owner_index);
	for (uint32_t i = 0; i < w->nr_owners; i++) {
		if (!is_owner_needed(w, &w->owners[i], before_ns))
			continue;
		w->owners[kept] = w->owners[i];
		idtable_insert(&w->owner_index, hash_mix(0, w->owners[kept].id), kept);
		kept++;
	}
	w->nr_owners = w->nr_owners_needed = kept;
}

static int probe_file(const struct file *f, struct file_info *info)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	int r;

	info->build_id = f->build_id;
	if (f->fd >= 0) {
		r = elf_image_open_fd(f->fd, &img);
		if (r == -ENOMEM)
			return r;
		if (r == 0 && !info->build_id.len && file_is_unchanged(f))
			info->build_id = *elf_image_build_id(img);
		info->is_jit_memory = r == -ENOEXEC && strncmp(f->path, "/memfd:", 7) == 0;
	}
	info->is_probed = true;
	return 0;
}

void world_forget_file(struct world *w, uint32_t file)
{
	if (file < w->nr_file_infos)
		w->file_infos[file] = (struct file_info){ 0 };
	shared_names_forget_file(w->shared_names, file);
}

int world_file_info(struct world *w, uint32_t file, const struct file_info **ret_info)
{
	int r = ARRAY_RESERVE(w->file_infos, w->cap_file_infos, file + 1, UINT32_MAX);

	if (r < 0)
		return r;
	while (w->nr_file_infos <= file)
		w->file_infos[w->nr_file_infos++] = (struct file_info){ 0 };
	*ret_info = &w->file_infos[file];
	return (*ret_info)->is_probed
		       ? 0
		       : probe_file(filestore_get(w->files, file), &w->file_infos[file]);
}
