/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_FD_LIMIT_H
#define CLI_FD_LIMIT_H

/*
 * Takes as many descriptors as this process may have: the usual 1,024 are kept low for the sake of
 * programs that use select(), and every file that a target maps wants one. Called after the command
 * was forked, which must find the limit as the agent did.
 */
void fd_limit_raise(void);

#endif
