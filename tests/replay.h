/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small capture in code: processes that fork, exec, map and exit, and samples in all kinds of
 * places, fed to the pipeline as the kernel would. What is mapped is the test program itself and
 * its libraries, so that real files are opened and named.
 */
#ifndef TESTS_REPLAY_H
#define TESTS_REPLAY_H

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "capture.h"

#define REPLAY_SAMPLES 40
#define REPLAY_MAX_FRAMES 8
#define REPLAY_KERNEL_PC 0xffffffff81000010ull

struct replay_map {
	uint64_t start, end, offset;
	uint32_t major, minor;
	uint64_t inode;
	char path[512];
};

/* The executable mapping of this process that holds addr. */
static inline bool replay_find_map(uint64_t addr, struct replay_map *to)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[1024];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		memset(to->path, 0, sizeof(to->path));
		if (sscanf(line, "%lx-%lx %*s %lx %x:%x %lu %511[^\n]", &to->start, &to->end,
			   &to->offset, &to->major, &to->minor, &to->inode, to->path) < 6)
			continue;
		found = addr >= to->start && addr < to->end;
	}
	if (f)
		fclose(f);
	return found;
}

/* The generation of a file's inode, as the kernel would tell it; not every file system has them. */
static inline uint32_t replay_generation(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	long generation = 0;

	if (fd >= 0) {
		(void)ioctl(fd, FS_IOC_GETVERSION, &generation);
		close(fd);
	}
	return (uint32_t)generation;
}

static inline int replay_mmap(struct capture *c, uint64_t time_ns, pid_t pid,
			      const struct replay_map *m)
{
	struct process_event e = {
		.type = EVENT_MMAP,
		.time_ns = time_ns,
		.pid = pid,
		.start = m->start,
		.end = m->end,
		.offset = m->offset,
		.major = m->major,
		.minor = m->minor,
		.inode = m->inode,
		.generation = replay_generation(m->path),
		.path = m->path,
	};

	return capture_event(c, &e);
}

static inline int replay_task(struct capture *c, enum process_event_type type, uint64_t time_ns,
			      pid_t pid, pid_t ppid)
{
	struct process_event e = { .type = type, .time_ns = time_ns, .pid = pid, .ppid = ppid };

	return capture_event(c, &e);
}

static inline int replay_sample(struct capture *c, uint64_t time_ns, pid_t pid,
				const uint64_t *kernel, uint16_t nr_kernel, const uint64_t *user,
				uint16_t nr_user, uint8_t flags, uint8_t stop)
{
	union {
		struct pa_sample s;
		char bytes[sizeof(struct pa_sample) + (1 + 2 * REPLAY_MAX_FRAMES) * 8];
	} r = { .s = { .head = { PA_RECORD_SAMPLE, (uint32_t)pid, time_ns },
		       .nr_values = 1,
		       .tid = (uint32_t)pid,
		       .nr_kernel = nr_kernel,
		       .nr_user = nr_user,
		       .stop = stop,
		       .flags = flags,
		       .comm = "replay",
		       .thread = "worker" } };
	size_t size = pa_sample_bytes(&r.s);

	r.s.words[0] = 1000000;
	memcpy(r.s.words + 1, kernel, 8u * nr_kernel);
	if (nr_user)
		memcpy(r.s.words + 1 + nr_kernel, user, 8u * nr_user);
	return capture_record(c, r.bytes, size);
}

#define REPLAY_PARENT 900001 /* not a real process: only events are known */
#define REPLAY_CHILD 900002

/* One process with mappings of this one and some memory of its own, then its child. */
static inline int replay_processes(struct capture *c, const uint64_t *code, unsigned int nr_code)
{
	struct replay_map m, anon = { .start = 0x10000000, .end = 0x10010000, .path = "//anon" };
	int r = replay_task(c, EVENT_EXEC, 10, REPLAY_PARENT, 0);

	for (unsigned int i = 0; i < nr_code && r == 0; i++)
		if (replay_find_map(code[i], &m))
			r = replay_mmap(c, 20 + i, REPLAY_PARENT, &m);
	if (r == 0)
		r = replay_mmap(c, 40, REPLAY_PARENT, &anon);
	if (r == 0)
		r = replay_task(c, EVENT_FORK, 50, REPLAY_CHILD, REPLAY_PARENT);
	return r;
}

/* Sample i: one to four frames, now and then in anonymous memory or in none, or in the kernel. */
static inline int replay_one(struct capture *c, unsigned int i, const uint64_t *code,
			     unsigned int nr_code)
{
	uint64_t kernel[] = { REPLAY_KERNEL_PC, REPLAY_KERNEL_PC + 64 };
	uint64_t user[REPLAY_MAX_FRAMES];
	uint16_t nr = (uint16_t)(1 + i % 4);

	for (uint16_t k = 0; k < nr; k++)
		user[k] = code[(i + k) % nr_code] + 1 + i % 3;
	user[0] |= PA_PC_EXACT;
	if (i % 7 == 0)
		user[nr - 1] = 0x10000100 + i;
	if (i % 11 == 0)
		user[0] = 0x123456000 | PA_PC_EXACT;
	return replay_sample(c, 100 + i, i % 2 ? REPLAY_PARENT : REPLAY_CHILD, kernel,
			     i % 3 ? 0 : 2, user, nr, 0, PA_STOP_FP_END);
}

/* The whole story. code: addresses to sample, in mappings of this process. */
static inline int replay_story(struct capture *c, const uint64_t *code, unsigned int nr_code)
{
	uint64_t kernel = REPLAY_KERNEL_PC;
	int r = replay_processes(c, code, nr_code);

	for (unsigned int i = 0; i < REPLAY_SAMPLES && r == 0; i++)
		r = replay_one(c, i, code, nr_code);
	if (r == 0)
		r = replay_sample(c, 180, 2, &kernel, 1, NULL, 0,
				  PA_SAMPLE_KERNEL_TASK | PA_SAMPLE_IN_KERNEL, PA_STOP_KERNEL);
	if (r == 0)
		r = replay_task(c, EVENT_EXEC, 190, REPLAY_CHILD, 0);
	if (r == 0)
		r = replay_task(c, EVENT_EXIT, 200, REPLAY_CHILD, 0);
	return r == 0 ? capture_settle(c, true) : r;
}

#endif
