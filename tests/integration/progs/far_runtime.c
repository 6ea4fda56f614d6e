/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks like CPython, and spins. The state of the interpreter is in a page that nobody touches, far from
 * all others in the file: it is read when somebody else asks for it, from whatever file system that is on.
 */
#include <stddef.h>

#include "fake_python.h"

#define FAR_BYTES (2 << 20)

EXPORTED struct {
	char far_away[FAR_BYTES];
	struct fake_runtime runtime;
	char far_behind[FAR_BYTES];
} padded = { .far_away = { 1 }, .runtime = { .initialized = 1 }, .far_behind = { 1 } };

_Static_assert(offsetof(struct fake_runtime, initialized) == 16, "as in 3.12");
/* A symbol in the middle of the structure. */
__asm__(".globl _PyRuntime\n.set _PyRuntime, padded + 2097152\n"
	".type _PyRuntime, @object\n.size _PyRuntime, 96\n");

int main(void)
{
	for (volatile unsigned long i = 0;; i++)
		;
}
