/* SPDX-License-Identifier: Apache-2.0 */
/* Exit statuses of the fetch process. Private to fetch/. */
#ifndef FETCH_FETCH_EXIT_H
#define FETCH_FETCH_EXIT_H

#define EXIT_NO_PROGRAM 30  /* the program does not exist, or was called incorrectly */
#define EXIT_RESULT_BASE 32 /* and above: enum fetch_result */

#endif
