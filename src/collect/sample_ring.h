/* SPDX-License-Identifier: Apache-2.0 */
/* The ring that BPF programs write records into: mapped, read, emptied. */
#ifndef COLLECT_SAMPLE_RING_H
#define COLLECT_SAMPLE_RING_H

#include <stddef.h>
#include <stdint.h>

#define SAMPLE_RECORD_MAX_BYTES 16384u /* with its header; the longest is a sample with registers */

struct sample_ring {
	uint64_t *consumer;       /* owned mapping: how far it has been read; NULL: not open */
	const uint64_t *producer; /* owned mapping: how far it is written, a page; then the data */
	size_t data_bytes;        /* a power of two of pages */
	size_t again_bytes;       /* of its beginning that are mapped once more behind its end */
};

/* Maps the ring of data_bytes behind a BPF map's descriptor, which is borrowed for the call. */
int sample_ring_open(struct sample_ring *r, int fd, size_t data_bytes);
void sample_ring_close(struct sample_ring *r);

/* Calls fn for every record there is, whole and in order; bytes are valid during the call. Ends
 * early with fn's result when that is negative; -EBADMSG: it is not what the kernel writes. */
typedef int (*ring_record_fn)(void *ctx, const void *bytes, size_t size);
int sample_ring_drain(struct sample_ring *r, ring_record_fn fn, void *ctx);

#endif
