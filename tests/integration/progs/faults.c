// SPDX-License-Identifier: Apache-2.0
/*
 * faults: takes fresh pages in two places, three of one for each of the other, and burns CPU time in a
 * third, until SIGTERM comes.
 * Truth: of page faults in the loop, three of four are main → faults_many and one is main → faults_few;
 * nearly every tick is main → faults_burn.
 */
#include <sys/mman.h>

#include "prog.h"

#define PAGE_BYTES 4096
#define NR_PAGES 32
#define STEPS_PER_ROUND 3000000

NOINLINE static void faults_many(char *pages)
{
	KEEP_FRAME();
	for (int i = 0; i < NR_PAGES; i++)
		if (i % 4)
			((volatile char *)pages)[i * PAGE_BYTES] = 1;
}

NOINLINE static void faults_few(char *pages)
{
	KEEP_FRAME();
	for (int i = 0; i < NR_PAGES; i += 4)
		((volatile char *)pages)[i * PAGE_BYTES] = 1;
}

NOINLINE static uint64_t faults_burn(uint64_t x)
{
	KEEP_FRAME();
	return burn_steps(x, STEPS_PER_ROUND);
}

int main(int argc, char **argv)
{
	char *pages = mmap(NULL, NR_PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t x = (uint64_t)argc;

	if (pages == MAP_FAILED || madvise(pages, NR_PAGES * PAGE_BYTES, MADV_NOHUGEPAGE) != 0)
		return 2;
	prog_stop_after(0);
	prog_say_ready();
	while (!prog_stopped) {
		faults_many(pages);
		faults_few(pages);
		x = faults_burn(x);
		if (madvise(pages, NR_PAGES * PAGE_BYTES, MADV_DONTNEED) != 0)
			return 2;
	}
	return x == 0;
}
