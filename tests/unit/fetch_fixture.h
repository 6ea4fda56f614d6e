/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetching, with a program that behaves as its "servers" say: the test itself, started again. A test
 * that includes this is to begin with is_client().
 *
 * The monotonic clock stands still, however slow the machine is, except that a second passes when a
 * client begins to hang. A timeout of up to one second is then over, and a longer one is not.
 */
#ifndef TESTS_UNIT_FETCH_FIXTURE_H
#define TESTS_UNIT_FETCH_FIXTURE_H

#include <limits.h>
#include <stdbool.h>

#include "fetch/fetcher.h"

#define INHERITED_FD 77 /* that a client must not have */

extern char cache_dir[PATH_MAX]; /* of the test that runs */
extern uint64_t cache_max_bytes;

/* Whether this is the client that a fetcher has started; it has then done its work. */
bool is_client(int argc, char *argv[], int *ret_status);

void in_new_dir(void (*test)(void));

/* Until so many clients hang, or have hung, since the test began. */
void wait_for_hanging(unsigned int nr);

/* A file's content is its build-id in hex. */
int read_id(void *ctx, int fd, struct build_id *ret_id);

/* how: what the client does, see behave(). */
struct fetcher *new_fetcher(const char *how, uint64_t timeout_ns);
struct fetch_request request(uint8_t n);

/* One request; its result, or -1 when what was handed over does not fit it. */
int get(struct fetcher *f, uint8_t n);
int get_new(const char *how, uint64_t timeout_ns, uint8_t n);

/* Whether nothing is left on the way into the cache. */
bool is_clean(void);

#endif
