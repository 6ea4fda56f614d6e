/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that are unbounded, have hidden state or a better alternative; force-included in all of
 * src/. */
#ifndef BASE_BANNED_H
#define BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok atoi atol gets
#pragma GCC poison ctime asctime localtime gmtime

#endif
