/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel exposes the data twice, back to back, so that a record that wraps around can be read
 * contiguously. libbpf maps all of it, so that every page counts twice as memory of the process.
 * Here only as much of the second copy is mapped as a record needs.
 */
#include "collect/sample_ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t view_bytes(const struct sample_ring *r)
{
	return page_bytes() + r->data_bytes + r->again_bytes;
}

int sample_ring_open(struct sample_ring *r, int fd, size_t data_bytes)
{
	size_t page = page_bytes(), again = (SAMPLE_RECORD_MAX_BYTES + page - 1) / page * page;
	void *at;

	*r = (struct sample_ring){ .data_bytes = data_bytes,
				   .again_bytes = again < data_bytes ? again : data_bytes };
	at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	r->consumer = at;
	at = mmap(NULL, view_bytes(r), PROT_READ, MAP_SHARED, fd, (off_t)page);
	if (at == MAP_FAILED) {
		int e = errno;

		sample_ring_close(r);
		return -e;
	}
	r->producer = at;
	return 0;
}

void sample_ring_close(struct sample_ring *r)
{
	if (r->consumer)
		(void)munmap(r->consumer, page_bytes());
	if (r->producer)
		(void)munmap((void *)(uintptr_t)r->producer, view_bytes(r));
	*r = (struct sample_ring){ 0 };
}

/* Passes the record at a position to fn. 1 and the distance to the next record; 0: it is still
 * being written. */
static int take_record(const struct sample_ring *r, uint64_t at, ring_record_fn fn, void *ctx,
		       uint64_t *ret_step)
{
	const char *data = (const char *)r->producer + page_bytes() + (at & (r->data_bytes - 1));
	uint32_t head = __atomic_load_n((const uint32_t *)(const void *)data, __ATOMIC_ACQUIRE);
	uint32_t size = head & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
	int result;

	if (head & BPF_RINGBUF_BUSY_BIT)
		return 0;
	if (size > r->again_bytes - BPF_RINGBUF_HDR_SZ)
		return -EBADMSG; /* impossible; otherwise the rest of the ring could not be read */
	*ret_step = (size + BPF_RINGBUF_HDR_SZ + 7) & ~7ull;
	if (head & BPF_RINGBUF_DISCARD_BIT)
		return 1;
	result = fn(ctx, data + BPF_RINGBUF_HDR_SZ, size);
	return result < 0 ? result : 1;
}

int sample_ring_drain(struct sample_ring *r, ring_record_fn fn, void *ctx)
{
	uint64_t tail = *r->consumer; /* only this thread writes it */
	int result = 1;

	while (result == 1 && tail < __atomic_load_n(r->producer, __ATOMIC_ACQUIRE)) {
		uint64_t step = 0;

		result = take_record(r, tail, fn, ctx, &step);
		tail += step;
		__atomic_store_n(r->consumer, tail, __ATOMIC_RELEASE);
	}
	return result < 0 ? result : 0;
}
