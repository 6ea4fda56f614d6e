/* SPDX-License-Identifier: Apache-2.0 */
/* Where processes that list their code have files mapped: some runtimes keep generated code in files. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/bisect.h"
#include "names/jit_files_internal.h"
#include "proc/roots.h"

#define MAX_RANGES 4096u       /* per process; a browser has 300 */
#define MAX_INDEXED (1u << 22) /* ranges of all processes */
#define LISTED_AT_ONCE 64      /* processes per call */

void jit_process_drop_ranges(struct jit_files *j, struct jit_process *jp)
{
	while (jp->nr_ranges)
		filestore_unref(j->files, jp->ranges[--jp->nr_ranges].file);
}

void jit_process_note_ranges(struct jit_files *j, struct jit_process *jp, const struct process *p,
			     uint64_t time_ns)
{
	const struct mapping *m = process_mapping_from(p, 0, time_ns);

	jit_process_drop_ranges(j, jp);
	for (; m; m = process_mapping_from(p, m->end, time_ns)) {
		if (m->kind != MAPPING_FILE)
			continue;
		if (ARRAY_RESERVE(jp->ranges, jp->cap_ranges, jp->nr_ranges + 1, MAX_RANGES) < 0)
			return;
		jp->ranges[jp->nr_ranges++] =
			(struct jit_range){ m->start, m->end, m->offset, m->file };
		filestore_ref(j->files, m->file); /* held until key_of() has read it */
	}
}

/* A process that changed its user may have a file of another user. */
static bool is_of_user(int fd, uint32_t user)
{
	struct stat st;

	return fd >= 0 && user != NO_USER && fstat(fd, &st) == 0 && st.st_uid == user;
}

struct jit_symbol_files jit_files_of_process(const struct jit_files *j, uint32_t process)
{
	const struct jit_process *p = &j->processes[process];
	struct jit_symbol_files files = JIT_SYMBOL_FILES(-1, -1);
	int dump_fd = jit_process_dump_fd(j, p);

	if (is_of_user(dump_fd, p->user))
		files.dump_fd = fcntl(dump_fd, F_DUPFD_CLOEXEC, 0);
	if (is_of_user(p->map_fd, p->user))
		files.map_fd = fcntl(p->map_fd, F_DUPFD_CLOEXEC, 0);
	return files;
}

static bool lists_code(const struct jit_files *j, uint32_t process)
{
	const struct jit_process *p = &j->processes[process];

	return is_of_user(p->map_fd, p->user) || is_of_user(jit_process_dump_fd(j, p), p->user);
}

/* Orders by root, content and range of the file. */
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

/* False if the file's root is unknown, because symbols are not shared across roots. */
static bool key_of(const struct jit_files *j, uint32_t file, uint64_t offset, uint64_t bytes,
		   struct indexed_range *ret_key)
{
	const struct file *f = filestore_get(j->files, file);

	*ret_key = (struct indexed_range){
		.content = f->content, .root = f->root, .offset = offset, .bytes = bytes
	};
	return f->root != ROOT_UNKNOWN;
}

/* On an error, code in the remaining ranges gets no symbols. */
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

int jit_files_list_places(struct jit_files *j, uint32_t *at)
{
	uint32_t end = *at + LISTED_AT_ONCE;
	int r = 0;

	if (!*at)
		j->nr_index = 0;
	for (; *at < end && *at < j->nr_processes && r == 0; ++*at)
		if (j->processes[*at].nr_ranges && lists_code(j, *at))
			r = index_process(j, *at);
	if (r < 0)
		return r == -E2BIG ? 0 : r;
	return *at < j->nr_processes;
}

void jit_files_sort_places(struct jit_files *j)
{
	if (j->nr_index)
		qsort(j->index, j->nr_index, sizeof(*j->index), by_bytes_and_process);
}

/* The index of the first range that is not before the key. */
static uint32_t lower_bound(const struct jit_files *j, const struct indexed_range *key)
{
	return BISECT(i, j->nr_index, by_bytes(&j->index[i], key) < 0);
}

/* *at: 1 + the index of the place. */
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
		i++; /* the process has it mapped twice */
	if (i >= j->nr_index || by_bytes(&j->index[i], &key) != 0)
		return false;
	*at = i + 1;
	*ret_place = (struct jit_place){ .start = j->index[i].start,
					 .user = j->processes[j->index[i].process].user,
					 .process = j->index[i].process };
	return true;
}
