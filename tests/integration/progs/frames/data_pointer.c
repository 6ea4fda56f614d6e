/* SPDX-License-Identifier: Apache-2.0 */
/* Code without unwind information that keeps a pointer to data where others have their frame
 * pointer, and calls. What it points to looks like a frame record, and leads to a function that has
 * never run. */
#include "../prog.h"

struct record {
	struct record *next;
	void (*back)(void);
};

volatile uint64_t data_sink;
void never_run(void);
void data_burn(void);
void data_caller(struct record *r);

/* Its first byte comes behind no call. */
NOINLINE void never_run(void)
{
	data_sink *= 3;
}

NOINLINE void data_burn(void)
{
	data_sink = burn_steps(data_sink, 100000);
}

/* With room behind it, or it would pass for what fills the place between two functions. */
#if defined(__x86_64__)
__asm__(".text\n.globl data_caller\n.type data_caller, @function\n.p2align 6\n"
	"data_caller: push %rbp\n mov %rdi, %rbp\n call data_burn\n pop %rbp\n ret\n"
	".skip 256, 0x90\n.size data_caller, . - data_caller\n");
#else
__asm__(".text\n.globl data_caller\n.type data_caller, %function\n.p2align 6\n"
	"data_caller: stp x29, x30, [sp, -16]!\n mov x29, x0\n bl data_burn\n"
	"ldp x29, x30, [sp], 16\n ret\n.rept 64\n nop\n.endr\n"
	".size data_caller, . - data_caller\n");
#endif

int main(int argc, char **argv)
{
	struct record records[2] = { { &records[1], never_run }, { NULL, never_run } };

	prog_stop_after(arg_number(argc, argv, 1, 0));
	prog_say_ready();
	while (!prog_stopped)
		data_caller(records);
	return 0;
}
