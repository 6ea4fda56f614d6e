// SPDX-License-Identifier: Apache-2.0
/*
 * word32: a 32-bit program, without a C library since there may be none for it; never ends.
 * Truth: its stack is not walked; the sampled address stands alone, "compat_task".
 */
_Noreturn void _start(void);

_Noreturn void _start(void)
{
	static const char ready[] = "ready\n";
	int r = 4; /* write() */

	__asm__ volatile("int $0x80"
			 : "+a"(r)
			 : "b"(1), "c"(ready), "d"(sizeof(ready) - 1)
			 : "memory");
	for (unsigned int x = 1;;) {
		x = x * 1103515245u + 12345u;
		__asm__ volatile("" : "+r"(x));
	}
}
