/* SPDX-License-Identifier: Apache-2.0 */
/* A tracker over a fake /proc. */
#ifndef TRACKER_WORLD_H
#define TRACKER_WORLD_H

#include "fake_proc.h"
#include "proc/tracker.h"

struct test_world {
	struct fake fake;
	struct filestore *files;
	struct tracker *t;
};

static inline void world_init(struct test_world *w)
{
	fake_init(&w->fake);
	must(filestore_new(&w->fake.procfs, 100, &w->files) == 0);
	must(tracker_new(&w->fake.procfs, w->files, &w->t) == 0);
}

static inline void world_done(struct test_world *w)
{
	tracker_free(w->t);
	filestore_free(w->files);
	fake_done(&w->fake);
}

/* The inode is a hash of the path, as if every path were a separate file. Without a path there is no file. */
static inline int map_at(struct test_world *w, uint64_t time, pid_t pid, uint64_t start,
			 uint64_t end, const char *path)
{
	bool has_file = path[0] == '/' && path[1] != '/';
	struct file_key key = { .minor = 99, .inode = 1000, .has_generation = true };
	struct mmap_event e = { .time_ns = time, .pid = pid, .start = start, .end = end };

	for (const char *s = path; *s; s++)
		key.inode = key.inode * 31 + (unsigned char)*s;
	e.path = path;
	e.offset = 0x100;
	e.key = has_file ? key : (struct file_key){ .has_generation = true };
	return tracker_mmap(w->t, &e);
}

static inline const struct mapping *mapping_at(const struct test_world *w, pid_t pid, uint64_t addr,
					       uint64_t time)
{
	const struct process *p = tracker_find(w->t, pid, time);

	return p ? process_mapping(p, addr, time) : NULL;
}

/* The path mapped there then; "" for no mapping, "#" for no file. */
static inline const char *at(const struct test_world *w, pid_t pid, uint64_t addr, uint64_t time)
{
	const struct mapping *m = mapping_at(w, pid, addr, time);

	if (!m)
		return "";
	return m->kind == MAPPING_FILE ? filestore_get(w->files, m->file)->path : "#";
}

static inline bool is_at(const struct test_world *w, pid_t pid, uint64_t addr, uint64_t time,
			 const char *path)
{
	const char *found = at(w, pid, addr, time);

	if (strcmp(found, path) == 0)
		return true;
	printf("# pid %d addr 0x%lx time %lu: '%s', not '%s'\n", (int)pid, (unsigned long)addr,
	       (unsigned long)time, found, path);
	return false;
}

static inline uint64_t image_at(const struct test_world *w, pid_t pid, uint64_t time)
{
	return process_image(tracker_find(w->t, pid, time), time);
}

#endif
