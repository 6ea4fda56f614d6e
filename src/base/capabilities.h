/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capabilities of the calling thread. With file capabilities the program can do what its caller
 * cannot, so paths and servers named by the command line or the environment are accessed without
 * capabilities.
 */
#ifndef BASE_CAPABILITIES_H
#define BASE_CAPABILITIES_H

#include <stdbool.h>
#include <stdint.h>

/* Drops every capability permanently, including those an exec could regain; the thread's user IDs
 * stay. Makes only system calls, so it is safe between fork and exec. False if some capabilities
 * are left. */
bool capabilities_give_up(void);

/* A scope without effective capabilities: _cleanup_(capabilities_raise) struct capabilities held =
 * CAPABILITIES_HELD; and then capabilities_lower(&held). Root keeps its capabilities, because root may
 * name any path. */
struct capabilities {
	uint32_t effective[2];
	bool is_lowered;
};
#define CAPABILITIES_HELD ((struct capabilities){ 0 })

/* 0; -EPERM: some are still effective, and no path of the caller may be accessed. */
int capabilities_lower(struct capabilities *held);
void capabilities_raise(struct capabilities *held);

#endif
