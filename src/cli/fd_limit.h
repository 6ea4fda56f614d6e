/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_FD_LIMIT_H
#define CLI_FD_LIMIT_H

/*
 * Raises the limit of open files to the maximum: the usual 1,024 is low for the sake of programs
 * that use select(), and every file that a target maps needs a descriptor. Called after the command
 * was forked, which must inherit the original limit.
 */
void fd_limit_raise(void);

#endif
