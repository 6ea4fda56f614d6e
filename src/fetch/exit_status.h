/* SPDX-License-Identifier: Apache-2.0 */
/* How the process of a fetch says what happened. Private to fetch/. */
#ifndef FETCH_EXIT_STATUS_H
#define FETCH_EXIT_STATUS_H

#define EXIT_NO_PROGRAM 30  /* the program is not there, or was not asked as it should be */
#define EXIT_RESULT_BASE 32 /* and above: enum fetch_result */

#endif
