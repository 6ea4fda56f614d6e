/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/moved_text.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "proc/filestore.h"
#include "proc/procfs.h"

#define NR_PROBES 16
#define PROBE_BYTES 64
#define MIN_EQUAL 6 /* matching probes; padding, which all code has, is not probed */

enum probe {
	PROBE_UNKNOWN,
	PROBE_EQUAL,
	PROBE_DIFFERENT,
};

void moved_text_budget_init(struct moved_text_budget *b)
{
	*b = (struct moved_text_budget){ .nr_left = MOVED_TEXT_LOOKS, .since_ns = clock_mono_ns() };
}

static void refill(struct moved_text_budget *b)
{
	uint64_t now_ns = clock_mono_ns();
	uint64_t nr_new = (now_ns - b->since_ns) * MOVED_TEXT_LOOKS_PER_S / NS_PER_S;

	if (!nr_new)
		return;
	b->since_ns = now_ns;
	b->nr_left = nr_new + b->nr_left < MOVED_TEXT_LOOKS ? b->nr_left + (uint32_t)nr_new
							    : MOVED_TEXT_LOOKS;
}

bool moved_text_may_look(struct moved_text_budget *b, uint32_t *nr_looks)
{
	refill(b);
	if (*nr_looks >= MOVED_TEXT_PROCESS_LOOKS || !b->nr_left)
		return false;
	++*nr_looks;
	b->nr_left--;
	return true;
}

static bool is_filling(const char *bytes)
{
	for (size_t i = 1; i < PROBE_BYTES; i++)
		if (bytes[i] != bytes[0])
			return false;
	return true;
}

static bool read_file(const struct file *f, uint64_t offset, char *to)
{
	return f->fd >= 0 && pread(f->fd, to, PROBE_BYTES, (off_t)offset) == PROBE_BYTES;
}

static enum probe compare_at(const struct procfs *p, pid_t pid, uint64_t addr, const struct file *f,
			     uint64_t offset)
{
	char memory[PROBE_BYTES], file[PROBE_BYTES];

	if (!read_file(f, offset, file) ||
	    procfs_read_mem(p, pid, addr, memory, sizeof(memory)) != sizeof(memory))
		return PROBE_UNKNOWN;
	if (memcmp(memory, file, sizeof(file)) != 0)
		return PROBE_DIFFERENT;
	return is_filling(file) ? PROBE_UNKNOWN : PROBE_EQUAL;
}

bool moved_text_is_of_file(const struct procfs *p, pid_t pid, uint64_t start, uint64_t end,
			   const struct file *f, uint64_t offset)
{
	uint64_t step = (end - start) / NR_PROBES;
	unsigned int nr_equal = 0;

	for (uint64_t i = 0; i < NR_PROBES && step >= PROBE_BYTES; i++) {
		enum probe at = compare_at(p, pid, start + i * step, f, offset + i * step);

		if (at == PROBE_DIFFERENT)
			return false;
		nr_equal += at == PROBE_EQUAL;
	}
	return nr_equal >= MIN_EQUAL;
}
