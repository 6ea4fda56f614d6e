/* SPDX-License-Identifier: Apache-2.0 */
/* The ring into which the kernel writes perf records: mapped, read, drained. */
#ifndef COLLECT_PERF_RING_H
#define COLLECT_PERF_RING_H

#include <stddef.h>
#include <stdint.h>

#define PERF_RECORD_MAX_BYTES 65536 /* the size field of a record has 16 bits */

struct perf_ring {
	void *base;        /* owned mapping: a control page, then the data; NULL: not open */
	size_t data_bytes; /* a power of two */
	char *scratch;     /* owned: a record that wraps around is assembled here */
};

/* Maps the ring of an event. Starts at max_pages and halves on EPERM (the memory-lock limit). */
int perf_ring_open(struct perf_ring *r, int fd, unsigned int max_pages);
void perf_ring_close(struct perf_ring *r);

/* Calls fn for every record, complete and in order; bytes are valid during the call. Ends early
 * with fn's result if that is negative. */
typedef int (*perf_record_fn)(void *ctx, const void *bytes, size_t size);
int perf_ring_drain(struct perf_ring *r, perf_record_fn fn, void *ctx);

#endif
