/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of a file's code in anonymous memory is known by its bytes, and other code is not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proc/filestore.h"
#include "proc/moved_text.h"
#include "proc/procfs.h"
#include "tap.h"

#define SIZE 65536u
#define OFFSET 4096u /* of the code in the file */

static struct procfs procfs;
static char *memory; /* of this process */

static void fill(char *to)
{
	for (uint32_t i = 0, x = 7; i < SIZE; i++, x = x * 1664525 + 1013904223)
		to[i] = (char)(x >> 24);
}

static struct file make_file(void)
{
	FILE *f = tmpfile();
	struct file file = { .fd = f ? dup(fileno(f)) : -1 };

	must(f && file.fd >= 0 && pwrite(file.fd, memory, SIZE, OFFSET) == SIZE);
	(void)fclose(f);
	return file;
}

static bool is_same(const struct file *f, uint64_t bytes, uint64_t offset)
{
	uint64_t start = (uint64_t)(uintptr_t)memory;

	return moved_text_is_of_file(&procfs, getpid(), start, start + bytes, f, offset);
}

static void test_bytes(struct file *f)
{
	struct file none = { .fd = -1 };

	ok(is_same(f, SIZE, OFFSET), "a copy of the file's bytes is recognized");
	ok(is_same(f, 4096, OFFSET), "a copy of one page is recognized");
	ok(!is_same(f, SIZE, OFFSET + 4096), "bytes from elsewhere in the file are not recognized");
	ok(!is_same(f, SIZE, 1u << 20), "bytes after the end of the file are not recognized");
	ok(!is_same(&none, SIZE, OFFSET), "a file that is not open recognizes nothing");
	ok(!is_same(f, 64, OFFSET) && !is_same(f, 0, OFFSET), "too few bytes are not recognized");
	memory[SIZE / 2] ^= 1;
	ok(!is_same(f, SIZE, OFFSET), "bytes that are partly not the file's are not");
	memset(memory, 0, SIZE);
	ok(!is_same(f, SIZE, OFFSET), "memory without a copy yet is not");
	must(pwrite(f->fd, memory, SIZE, OFFSET) == SIZE);
	ok(!is_same(f, SIZE, OFFSET), "padding, which any file has, is not");
	munmap(memory, SIZE);
	ok(!is_same(f, SIZE, OFFSET), "memory that is gone is not");
}

static void test_budget(void)
{
	struct moved_text_budget b;
	uint32_t nr = 0, nr_all = 0, nr_looks;

	moved_text_budget_init(&b);
	for (nr_looks = 0; nr < 10000 && moved_text_may_look(&b, &nr_looks);)
		nr++;
	ok(nr == MOVED_TEXT_PROCESS_LOOKS, "one process is checked %u times", nr);
	for (uint32_t i = 0; i < 1000; i++)
		for (nr_looks = 0; moved_text_may_look(&b, &nr_looks);)
			nr_all++;
	ok(nr_all >= MOVED_TEXT_LOOKS - nr && nr_all < 2 * MOVED_TEXT_LOOKS,
	   "a thousand processes are checked hardly more often than the common limit: %u", nr_all);
	b.since_ns -= 1000000000ull;
	nr_looks = 0;
	ok(moved_text_may_look(&b, &nr_looks), "the common limit grows with time");
}

int main(void)
{
	struct file f;

	must(procfs_open("/proc", &procfs) == 0);
	memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(memory != MAP_FAILED);
	fill(memory);
	f = make_file();
	test_bytes(&f);
	test_budget();
	close(f.fd);
	procfs_close(&procfs);
	return tap_done();
}
