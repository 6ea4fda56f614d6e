// SPDX-License-Identifier: Apache-2.0
/*
 * exec_again COUNT [TOUCH_MIB], by its path: fills memory and executes itself, COUNT times. The kernel gives
 * the memory of the old image back in the midst of execve(), when the registers that the process
 * came with point into an image that is gone.
 * Truth: main → fill_memory, and time in execve() for which there is no user stack. Prints, at the
 * end, "done".
 */
#include "prog.h"

#include <sys/mman.h>

#define MIB (1024ul * 1024)
#define PAGE_BYTES 4096

NOINLINE static unsigned long fill_memory(unsigned long size)
{
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long nr_pages = 0;

	KEEP_FRAME();
	if (memory == MAP_FAILED)
		return 0;
	/* Huge pages would be given back too fast. A kernel without them refuses, which is as good. */
	(void)madvise(memory, size, MADV_NOHUGEPAGE);
	for (unsigned long at = 0; at < size; at += PAGE_BYTES, nr_pages++)
		memory[at] = 1;
	return nr_pages;
}

int main(int argc, char **argv)
{
	unsigned long count = arg_number(argc, argv, 1, 0);
	unsigned long touch_mib = arg_number(argc, argv, 2, 64);
	char left[24], touch[24];
	char *const again[] = { argv[0], left, touch, NULL };

	if (!count) {
		puts("done");
		return 0;
	}
	if (!fill_memory(touch_mib * MIB))
		return 1;
	snprintf(left, sizeof(left), "%lu", count - 1);
	snprintf(touch, sizeof(touch), "%lu", touch_mib);
	execv(argv[0], again);
	return 1;
}
