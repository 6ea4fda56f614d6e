/* SPDX-License-Identifier: Apache-2.0 */
/* What the exact-frames programs share: each holds one state of the stack that is hard to unwind,
 * and its first comment names every frame a true profile shows, leaf first, up to main or the
 * thread's function. All take [SECONDS], after which they end; 0 and nothing mean never. */
#ifndef TESTS_INTEGRATION_FRAMES_H
#define TESTS_INTEGRATION_FRAMES_H

#include "../prog.h"

#define STEPS_LONG 100000
#define STEPS_SHORT 100 /* so few that prologues and epilogues are caught as well */

/* Behind a call: the caller has work left, so the call is none in tail position. */
#define KEEP_CALL(x) __asm__ volatile("" : "+r"(x))

/* Keeps many values alive over a call, so that every callee-saved register is in use and the frame
 * pointer's holds anything but a frame. */
struct many {
	uint64_t v[6];
};

INLINE struct many many_from(uint64_t x)
{
	struct many m = { { x + 3, x ^ 5, x * 7, x - 9, x + 11, x ^ 13 } };

	for (unsigned int i = 0; i < 6; i++)
		__asm__ volatile("" : "+r"(m.v[i]));
	return m;
}

INLINE uint64_t many_sum(struct many m)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < 6; i++)
		sum += m.v[i];
	return sum;
}

#endif
