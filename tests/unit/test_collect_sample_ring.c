/* SPDX-License-Identifier: Apache-2.0 */
/* A ring laid out as the kernel shows it: two counters, a page each, then the data twice. */
#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/sample_ring.h"
#include "tap.h"

struct fake {
	int fd;
	size_t page, data_bytes;
	char *all; /* as the kernel sees it */
	struct sample_ring ring;
};

static uint64_t *producer(struct fake *f)
{
	return (uint64_t *)(void *)(f->all + f->page);
}

static void make(struct fake *f, size_t nr_pages)
{
	size_t bytes;

	f->page = (size_t)sysconf(_SC_PAGESIZE);
	f->data_bytes = nr_pages * f->page;
	bytes = 2 * f->page + 2 * f->data_bytes;
	f->fd = memfd_create("ring", MFD_CLOEXEC);
	must(f->fd >= 0 && ftruncate(f->fd, (off_t)bytes) == 0);
	f->all = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, f->fd, 0);
	must(f->all != MAP_FAILED);
	must(sample_ring_open(&f->ring, f->fd, f->data_bytes) == 0);
}

static void unmake(struct fake *f)
{
	sample_ring_close(&f->ring);
	(void)munmap(f->all, 2 * f->page + 2 * f->data_bytes);
	(void)close(f->fd);
}

/* A byte at a position, in both views. */
static void poke(struct fake *f, uint64_t at, char byte)
{
	char *data = f->all + 2 * f->page + (at & (f->data_bytes - 1));

	data[0] = data[f->data_bytes] = byte;
}

static void poke_head(struct fake *f, uint64_t at, uint32_t head)
{
	for (size_t i = 0; i < sizeof(head); i++)
		poke(f, at + i, (char)(head >> 8 * i));
}

/* Appends a record of n equal bytes; returns where it stands. */
static uint64_t put(struct fake *f, uint32_t n, uint32_t flags, char byte)
{
	uint64_t at = *producer(f);

	poke_head(f, at, n | flags);
	for (uint32_t i = 0; i < n; i++)
		poke(f, at + BPF_RINGBUF_HDR_SZ + i, byte);
	*producer(f) = at + ((n + BPF_RINGBUF_HDR_SZ + 7) & ~7u);
	return at;
}

struct seen {
	char text[64]; /* the byte of each record */
	size_t nr, bytes;
	bool is_whole;
	int answer;
};

static int see(void *ctx, const void *bytes, size_t size)
{
	struct seen *s = ctx;
	const char *b = bytes;

	s->text[s->nr++] = size ? b[0] : '-';
	s->bytes += size;
	for (size_t i = 1; i < size; i++)
		s->is_whole &= b[i] == b[0];
	return s->answer;
}

static struct seen drain(struct fake *f, int want, int answer)
{
	struct seen s = { .is_whole = true, .answer = answer };
	int r = sample_ring_drain(&f->ring, see, &s);

	ok(r == want, "draining returns %d", want);
	return s;
}

static bool is_empty(struct fake *f)
{
	return *(uint64_t *)(void *)f->all == *producer(f);
}

static void test_order(void)
{
	struct fake f;
	struct seen s;

	make(&f, 1);
	put(&f, 24, 0, 'a');
	put(&f, 16, BPF_RINGBUF_DISCARD_BIT, 'b');
	put(&f, 3, 0, 'c');
	put(&f, 0, 0, 'd');
	s = drain(&f, 0, 0);
	ok(strcmp(s.text, "ac-") == 0 && s.bytes == 27 && s.is_whole,
	   "records come in order, complete, without discarded ones: %s", s.text);
	ok(is_empty(&f), "all records are consumed");
	ok(drain(&f, 0, 0).nr == 0, "no record comes twice");
	unmake(&f);
}

static void test_busy(void)
{
	struct fake f;
	uint64_t at;

	make(&f, 1);
	put(&f, 8, 0, 'a');
	at = put(&f, 8, BPF_RINGBUF_BUSY_BIT, 'b');
	put(&f, 8, 0, 'c');
	ok(strcmp(drain(&f, 0, 0).text, "a") == 0,
	   "a record being written holds up those after it");
	poke_head(&f, at, 8);
	ok(strcmp(drain(&f, 0, 0).text, "bc") == 0, "after it is written all records come");
	unmake(&f);
}

/* Many times around, with records as long as there can be: each position but those at a multiple of 8
 * beyond the end is met. */
static void test_around(uint32_t size)
{
	struct fake f;
	struct seen s;
	size_t nr = 0, bytes = 0;
	bool is_whole = true;

	make(&f, 8);
	for (int i = 0; i < 200; i++) {
		put(&f, size, 0, (char)('a' + i % 26));
		s = (struct seen){ .is_whole = true };
		if (sample_ring_drain(&f.ring, see, &s) < 0)
			break;
		nr += s.nr;
		bytes += s.bytes;
		is_whole &= s.is_whole && s.text[0] == 'a' + i % 26;
	}
	ok(nr == 200 && bytes == nr * size && is_whole && is_empty(&f),
	   "records of %u bytes are contiguous at the end of the ring: %zu of 200", size, nr);
	unmake(&f);
}

static void test_stop(void)
{
	struct fake f;

	make(&f, 1);
	put(&f, 8, 0, 'a');
	put(&f, 8, 0, 'b');
	ok(strcmp(drain(&f, -EIO, -EIO).text, "a") == 0, "the first error ends draining");
	ok(strcmp(drain(&f, 0, 0).text, "b") == 0,
	   "the next call continues after the failed record");
	poke_head(&f, put(&f, 8, 0, 'c'), (uint32_t)f.data_bytes);
	ok(drain(&f, -EBADMSG, 0).nr == 0, "an impossible size is rejected");
	unmake(&f);
}

static void test_memory(void)
{
	struct fake f;

	make(&f, 1024);
	ok(f.ring.again_bytes == SAMPLE_RECORD_MAX_BYTES, "of %zu bytes only %zu are mapped twice",
	   f.data_bytes, f.ring.again_bytes);
	unmake(&f);
	ok(!f.ring.consumer && !f.ring.producer, "a closed ring leaves nothing mapped");
	ok(sample_ring_open(&f.ring, -1, f.page) == -EBADF, "an invalid descriptor is refused");
}

int main(void)
{
	test_order();
	test_busy();
	test_around(40);
	test_around(8888);
	test_around(SAMPLE_RECORD_MAX_BYTES - BPF_RINGBUF_HDR_SZ);
	test_stop();
	test_memory();
	return tap_done();
}
