/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SYSCALL_NAME_H
#define MODEL_SYSCALL_NAME_H

/* The name of a system call of this architecture; NULL if it is not in the kernel headers that this
 * was built with. */
const char *syscall_name(int nr);

#endif
