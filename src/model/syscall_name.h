/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MODEL_SYSCALL_NAME_H
#define MODEL_SYSCALL_NAME_H

/* Of this architecture; NULL: the kernel headers that this was built with have no such system call. */
const char *syscall_name(int nr);

#endif
