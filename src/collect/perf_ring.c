/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/perf_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

int perf_ring_open(struct perf_ring *r, int fd, unsigned int max_pages)
{
	for (size_t pages = max_pages; pages; pages /= 2) {
		size_t data_bytes = pages * page_bytes();
		void *base = mmap(NULL, data_bytes + page_bytes(), PROT_READ | PROT_WRITE,
				  MAP_SHARED, fd, 0);

		if (base == MAP_FAILED && errno == EPERM)
			continue;
		if (base == MAP_FAILED)
			return -errno;
		*r = (struct perf_ring){ .base = base, .data_bytes = data_bytes };
		r->scratch = malloc(PERF_RECORD_MAX_BYTES);
		if (r->scratch)
			return 0;
		perf_ring_close(r);
		return -ENOMEM;
	}
	return -EPERM;
}

void perf_ring_close(struct perf_ring *r)
{
	if (r->base)
		munmap(r->base, r->data_bytes + page_bytes());
	free(r->scratch);
	*r = (struct perf_ring){ 0 };
}

/* Returns `size` bytes at position `at`, contiguous. */
static const void *piece(struct perf_ring *r, uint64_t at, size_t size)
{
	const char *data = (const char *)r->base + page_bytes();
	size_t offset = at & (r->data_bytes - 1);
	size_t until_end = r->data_bytes - offset;

	if (size <= until_end)
		return data + offset;
	memcpy(r->scratch, data + offset, until_end);
	memcpy(r->scratch + until_end, data, size - until_end);
	return r->scratch;
}

int perf_ring_drain(struct perf_ring *r, perf_record_fn fn, void *ctx)
{
	struct perf_event_mmap_page *page = r->base;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = page->data_tail;
	int result = 0;

	while (tail < head && result >= 0) {
		struct perf_event_header h;

		memcpy(&h, piece(r, tail, sizeof(h)), sizeof(h));
		if (h.size < sizeof(h) || h.size > head - tail) {
			/* impossible; otherwise the rest of the ring could not be read */
			tail = head;
			result = -EBADMSG;
			break;
		}
		result = fn(ctx, piece(r, tail, h.size), h.size);
		tail += h.size;
	}
	__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
	return result < 0 ? result : 0;
}
