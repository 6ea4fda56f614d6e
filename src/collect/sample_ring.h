/* SPDX-License-Identifier: Apache-2.0 */
/* The ring into which BPF programs write records: mapped, read, drained. */
#ifndef COLLECT_SAMPLE_RING_H
#define COLLECT_SAMPLE_RING_H

#include <stddef.h>
#include <stdint.h>

/* including its header; the longest record is a sample with registers */
#define SAMPLE_RECORD_MAX_BYTES 16384u

struct sample_ring {
	uint64_t *consumer; /* owned mapping: the position read so far; NULL: not open */
	const uint64_t
		*producer;  /* owned mapping: a page with the position written; then the data */
	size_t data_bytes;  /* a power of two, and of whole pages */
	size_t again_bytes; /* bytes from the beginning that are mapped again after the end */
};

/* Maps the ring of data_bytes of a BPF map's descriptor, which is borrowed for the call. */
int sample_ring_open(struct sample_ring *r, int fd, size_t data_bytes);
void sample_ring_close(struct sample_ring *r);

/* Calls fn for every record, complete and in order; bytes are valid during the call. Ends early
 * with fn's result if that is negative; -EBADMSG: not a valid ring. */
typedef int (*ring_record_fn)(void *ctx, const void *bytes, size_t size);
int sample_ring_drain(struct sample_ring *r, ring_record_fn fn, void *ctx);

#endif
