/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves samples: the process, its user, the files of its code. */
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
#define FEW_USERS 64
#define STARTED_SLACK_NS (20 * NS_PER_MS) /* start times have a resolution of 10 ms */

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
static uint32_t read_user(const struct world *w, const struct process *p, pid_t pid,
			  uint64_t time_ns)
{
	struct proc_status status;
	struct proc_stat stat;

	if (!p || procfs_stat(&w->procfs, pid, &stat) < 0 ||
	    proc_stat_started_ns(&stat) > time_ns + STARTED_SLACK_NS ||
	    procfs_status(&w->procfs, pid, &status) < 0)
		return SAMPLE_NO_USER;
	return status.is_one_user ? status.euid : SAMPLE_NO_USER;
}

static bool is_user_of(const void *owner, uint32_t id, const void *key)
{
	const struct world *w = owner;

	return w->users[id].id == *(const uint64_t *)key;
}

int world_user(struct world *w, const struct process *p, pid_t pid, uint64_t time_ns,
	       uint32_t *ret_user)
{
	uint64_t id = p ? process_id(p) : ~(uint64_t)pid;
	uint64_t program = p ? process_program(p, time_ns) : 0;
	uint64_t h = hash_mix(0, id);
	uint32_t at;
	int r;

	if (idtable_find(&w->user_index, h, is_user_of, w, &id, &at)) {
		if (w->users[at].program != program)
			w->users[at].user = read_user(w, p, pid, time_ns);
		w->users[at].program = program;
		w->users[at].used_ns = time_ns;
		*ret_user = w->users[at].user;
		return 0;
	}
	r = ARRAY_RESERVE(w->users, w->cap_users, w->nr_users + 1, MAX_PROCESSES);
	if (r == 0)
		r = idtable_reserve(&w->user_index);
	if (r < 0)
		return r;
	*ret_user = read_user(w, p, pid, time_ns);
	w->users[w->nr_users] = (struct process_user){ id, program, time_ns, pid, *ret_user };
	idtable_insert(&w->user_index, h, w->nr_users++);
	return 0;
}

static bool is_user_needed(const struct world *w, const struct process_user *u, uint64_t before_ns)
{
	const struct process *now = tracker_find(w->tracker, u->pid, UINT64_MAX);

	return u->used_ns >= before_ns || (now && process_id(now) == u->id);
}

void world_forget_users(struct world *w, uint64_t before_ns)
{
	uint32_t kept = 0;

	if (w->nr_users < 2 * w->nr_users_needed + FEW_USERS)
		return; /* not worth the work */
	idtable_clear(&w->user_index);
	for (uint32_t i = 0; i < w->nr_users; i++) {
		if (!is_user_needed(w, &w->users[i], before_ns))
			continue;
		w->users[kept] = w->users[i];
		idtable_insert(&w->user_index, hash_mix(0, w->users[kept].id), kept);
		kept++;
	}
	w->nr_users = w->nr_users_needed = kept;
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
