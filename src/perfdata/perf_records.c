/* SPDX-License-Identifier: Apache-2.0 */
#include "perfdata/perf_records.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "sample/sample.h"

#define RECORD_MAX_BYTES UINT16_MAX
#define FINISHED_ROUND 68 /* one of perf's own record types, which are not in its public header */
#define PATH_MAX_BYTES 4096

/* A record being appended. */
struct record {
	struct buf *buf;
	size_t start;
	int result; /* result of the first failure */
};

static void put(struct record *r, const void *bytes, size_t n)
{
	if (r->result == 0)
		r->result = buf_append(r->buf, bytes, n);
}

static void put_u64(struct record *r, uint64_t value)
{
	put(r, &value, sizeof(value));
}

static void put_pair(struct record *r, uint32_t first, uint32_t second)
{
	put_u64(r, first | (uint64_t)second << 32);
}

/* Appends text with a NUL, padded to a multiple of 8 bytes. */
static void put_text(struct record *r, const char *text, size_t n)
{
	static const char zeroes[8];

	put(r, text, n);
	put(r, zeroes, 8 - n % 8);
}

static struct record begin(struct buf *b, uint32_t type, unsigned int misc)
{
	struct record r = { b, b->len, 0 };
	struct perf_event_header head = { .type = type, .misc = (uint16_t)misc };

	put(&r, &head, sizeof(head));
	return r;
}

static int end(struct record *r)
{
	size_t size = r->buf->len - r->start;
	uint16_t size16 = (uint16_t)size;

	if (r->result == 0 && size > RECORD_MAX_BYTES)
		r->result = -E2BIG;
	if (r->result < 0)
		r->buf->len = r->start;
	else
		memcpy(r->buf->data + r->start + offsetof(struct perf_event_header, size), &size16,
		       sizeof(size16));
	return r->result;
}

/* Appends the fields that end every record except samples. */
static int end_with_id(struct record *r, pid_t pid, pid_t tid, uint64_t time_ns)
{
	put_pair(r, (uint32_t)pid, (uint32_t)tid);
	put_u64(r, time_ns);
	put_pair(r, 0, 0); /* the CPU: perf's own synthesized records do not have one either */
	put_u64(r, PERF_EVENT_ID);
	return end(r);
}

static void put_range(struct record *r, const struct perf_mapping *m)
{
	put_u64(r, m->start);
	put_u64(r, m->end - m->start);
	put_u64(r, m->offset);
}

static void put_build_id(struct record *r, const struct build_id *id)
{
	uint8_t bytes[4 + BUILD_ID_MAX_BYTES] = { id->len };

	memcpy(bytes + 4, id->bytes, id->len);
	put(r, bytes, sizeof(bytes));
}

static void put_inode(struct record *r, const struct perf_mapping *m)
{
	put_pair(r, major(m->dev), minor(m->dev));
	put_u64(r, m->ino);
	put_u64(r, 0); /* inode generation: unknown */
}

int perf_put_mapping(struct buf *b, const struct perf_mapping *m)
{
	unsigned int misc = PERF_RECORD_MISC_USER;
	struct record r;

	if (m->build_id.len)
		misc |= PERF_RECORD_MISC_MMAP_BUILD_ID;
	r = begin(b, PERF_RECORD_MMAP2, misc);
	put_pair(&r, (uint32_t)m->pid, (uint32_t)m->pid);
	put_range(&r, m);
	if (m->build_id.len)
		put_build_id(&r, &m->build_id);
	else
		put_inode(&r, m);
	put_pair(&r, PROT_READ | PROT_EXEC, MAP_PRIVATE);
	put_text(&r, m->path, strnlen(m->path, PATH_MAX_BYTES));
	return end_with_id(&r, m->pid, m->pid, m->time_ns);
}

int perf_put_kernel_mapping(struct buf *b, const struct perf_mapping *m)
{
	struct record r = begin(b, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);

	put_pair(&r, (uint32_t)PERF_KERNEL_PID, 0);
	put_range(&r, m);
	put_text(&r, m->path, strnlen(m->path, PATH_MAX_BYTES));
	return end_with_id(&r, 0, 0, m->time_ns);
}

int perf_put_comm(struct buf *b, pid_t pid, pid_t tid, uint64_t time_ns, const char *comm, size_t n,
		  bool is_exec)
{
	struct record r = begin(b, PERF_RECORD_COMM, is_exec ? PERF_RECORD_MISC_COMM_EXEC : 0u);

	put_pair(&r, (uint32_t)pid, (uint32_t)tid);
	put_text(&r, comm, strnlen(comm, n));
	return end_with_id(&r, pid, tid, time_ns);
}

static int put_task(struct buf *b, uint32_t type, pid_t pid, pid_t tid, pid_t ppid,
		    uint64_t time_ns)
{
	struct record r = begin(b, type, 0);

	put_pair(&r, (uint32_t)pid, (uint32_t)ppid);
	put_pair(&r, (uint32_t)tid, (uint32_t)ppid);
	put_u64(&r, time_ns);
	return end_with_id(&r, pid, tid, time_ns);
}

int perf_put_fork(struct buf *b, pid_t pid, pid_t tid, pid_t ppid, uint64_t time_ns)
{
	return put_task(b, PERF_RECORD_FORK, pid, tid, ppid, time_ns);
}

int perf_put_exit(struct buf *b, pid_t pid, pid_t ppid, uint64_t time_ns)
{
	return put_task(b, PERF_RECORD_EXIT, pid, pid, ppid, time_ns);
}

int perf_put_lost_samples(struct buf *b, uint64_t nr, uint64_t time_ns)
{
	struct record r = begin(b, PERF_RECORD_LOST_SAMPLES, 0);

	put_u64(&r, nr);
	return end_with_id(&r, 0, 0, time_ns);
}

int perf_put_lost(struct buf *b, uint64_t nr, uint64_t time_ns)
{
	struct record r = begin(b, PERF_RECORD_LOST, 0);

	put_u64(&r, PERF_EVENT_ID);
	put_u64(&r, nr);
	return end_with_id(&r, 0, 0, time_ns);
}

static uint64_t context_of(const struct frame *f)
{
	return f->kind == FRAME_KERNEL ? PERF_CONTEXT_KERNEL : PERF_CONTEXT_USER;
}

static void put_callchain(struct record *r, const struct sample *s)
{
	size_t at = r->buf->len;
	uint64_t nr = 0, context = 0;

	put_u64(r, nr);
	for (uint32_t i = 0; i < s->nr_frames; i++) {
		if (s->frames[i].kind == FRAME_TYPED)
			continue; /* not a code address */
		if (context_of(&s->frames[i]) != context) {
			context = context_of(&s->frames[i]);
			put_u64(r, context);
			nr++;
		}
		put_u64(r, s->frames[i].pc);
		nr++;
	}
	if (r->result == 0)
		memcpy(r->buf->data + at, &nr, sizeof(nr));
}

/* The first frame that is code; NULL if there is none. */
static const struct frame *leaf_of(const struct sample *s)
{
	for (uint32_t i = 0; i < s->nr_frames; i++)
		if (s->frames[i].kind != FRAME_TYPED)
			return &s->frames[i];
	return NULL;
}

static unsigned int mode_of(const struct sample *s, const struct frame *leaf)
{
	bool is_kernel = leaf ? leaf->kind == FRAME_KERNEL : s->is_in_kernel;

	return is_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
}

int perf_put_sample(struct buf *b, const struct sample *s, uint64_t period)
{
	const struct frame *leaf = leaf_of(s);
	struct record r = begin(b, PERF_RECORD_SAMPLE, mode_of(s, leaf));

	put_u64(&r, PERF_EVENT_ID);
	put_u64(&r, leaf ? leaf->pc : 0);
	put_pair(&r, (uint32_t)s->pid, (uint32_t)s->tid);
	put_u64(&r, s->time_ns);
	put_pair(&r, s->cpu, 0);
	put_u64(&r, period);
	put_callchain(&r, s);
	return end(&r);
}

int perf_put_round(struct buf *b)
{
	struct record r = begin(b, FINISHED_ROUND, 0);

	return end(&r);
}
