// SPDX-License-Identifier: Apache-2.0
/*
 * moved_text MODE [SECONDS]: puts anonymous memory in the place of the pages that hold moved_burn, as
 * programs do that want their code in huge pages, and runs what is there.
 *   same    a copy of the code: every sample is moved_burn, main, and what calls main; it is built
 *           without frame pointers
 *   other   an endless loop instead: no sample is in moved_burn
 */
#include <sys/mman.h>

#include "prog.h"

#define STEPS_PER_TURN 100000
#define MOVED_BYTES 8192u

/* At the start of a page, and longer than what is moved of it. */
__attribute__((noinline, aligned(4096))) static uint64_t moved_burn(uint64_t x)
{
	while (!prog_stopped)
		x = burn_steps(x, STEPS_PER_TURN);
	if (x == 42) /* never, but the compiler cannot know */
		__asm__ volatile(".rept 3000\n\tlea 1(%0,%0,2), %0\n\t.endr" : "+r"(x));
	return x;
}

static bool move_code(char *start, bool is_same)
{
	static char code[MOVED_BYTES];

	memcpy(code, start, sizeof(code));
	for (size_t i = 0; !is_same && i < sizeof(code); i += 2)
		memcpy(code + i, "\xeb\xfe", 2); /* a jump to itself */
	if (mmap(start, sizeof(code), PROT_READ | PROT_WRITE | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != start)
		return false;
	memcpy(start, code, sizeof(code));
	return mprotect(start, sizeof(code), PROT_READ | PROT_EXEC) == 0;
}

int main(int argc, char **argv)
{
	uint64_t (*volatile burn)(uint64_t) = moved_burn;

	prog_stop_after(arg_number(argc, argv, 2, 0));
	if (!move_code((char *)(uintptr_t)moved_burn, argc < 2 || strcmp(argv[1], "other") != 0))
		return 1;
	prog_say_ready();
	return burn((uint64_t)argc) == 0;
}
