// SPDX-License-Identifier: Apache-2.0
/*
 * Generated code that uses its frame pointer for something else, as compilers do that
 * no option asks to keep it. What it points at looks like a frame whose caller is not code.
 * Truth: the made function, and nothing that is above it is its caller.
 */
#include <sys/mman.h>

#include "frames.h"

#if defined(__x86_64__)
/* push %rbp; mov %rdi,%rbp; mov $10000000,%ecx; 1: dec %ecx; jnz 1b; pop %rbp; pop %rdx; jmp *%rdx: no
 * return that could be followed */
static const unsigned char code[] = { 0x55, 0x48, 0x89, 0xfd, 0xb9, 0x80, 0x96, 0x98, 0x00,
				      0xff, 0xc9, 0x75, 0xfc, 0x5d, 0x5a, 0xff, 0xe2 };
#elif defined(__aarch64__)
/* stp x29,x30,[sp,-16]!; mov x29,x0; mov w1,0x980000; 1: subs w1,w1,1; b.ne 1b; ldp; ret */
static const uint32_t code[] = { 0xa9bf7bfd, 0xaa0003fd, 0x52a01301, 0x71000421,
				 0x54ffffe1, 0xa8c17bfd, 0xd65f03c0 };
#endif

int main(int argc, char **argv)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void *frame[] = { NULL, &frame }; /* the stack is not code */
	void (*run)(void *);

	if (page == MAP_FAILED)
		return 2;
	memcpy(page, code, sizeof(code));
	__builtin___clear_cache(page, page + sizeof(code));
	memcpy(&run, &page, sizeof(run));
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC) < 0)
		return 2;
	prog_stop_after(arg_number(argc, argv, 1, 0));
	prog_say_ready();
	while (!prog_stopped)
		run(frame);
	return 0;
}
