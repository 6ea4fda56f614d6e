/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capabilities of the calling thread. With file capabilities the program can do what its caller
 * cannot, so whatever a command line or the environment names is touched without them.
 */
#ifndef BASE_CAPABILITIES_H
#define BASE_CAPABILITIES_H

#include <stdbool.h>
#include <stdint.h>

/* Gives up every capability for good, and the way to get one by an exec; the thread's own user stays.
 * Only system calls, so that it may stand between fork and exec. False: some are left. */
bool capabilities_give_up(void);

/* A scope without effective capabilities:
 *	_cleanup_(capabilities_raise) struct capabilities held = capabilities_lower();
 * Root keeps its own: whoever is root may name any path. */
struct capabilities {
	uint32_t effective[2];
	bool is_lowered;
};

struct capabilities capabilities_lower(void);
void capabilities_raise(struct capabilities *held);

#endif
