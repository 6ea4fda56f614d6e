/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes perf records (include/uapi/linux/perf_event.h, enum perf_event_type) into events. */
#include <errno.h>
#include <linux/perf_event.h>

#include "base/cursor.h"
#include "collect/sideband.h"

/* sample_id_all with TID | TIME | IDENTIFIER: it ends every record. */
struct trailer {
	uint32_t pid, tid;
	uint64_t time_ns;
	uint64_t id;
};

static bool take_trailer(struct cursor *c, struct trailer *ret_trailer)
{
	size_t n = sizeof(*ret_trailer);

	if (cursor_left(c) < n)
		return false;
	c->end -= n;
	memcpy(ret_trailer, c->end, n);
	return true;
}

static int decode_fork(struct cursor *c, bool is_exit, struct process_event *e)
{
	uint32_t pid = cursor_u32(c), ppid = cursor_u32(c), tid = cursor_u32(c);

	if (c->bad)
		return -EBADMSG;
	e->type = is_exit ? EVENT_EXIT : EVENT_FORK;
	e->pid = (pid_t)pid;
	e->ppid = (pid_t)ppid;
	return pid == tid; /* other threads are ignored */
}

static int decode_comm(struct cursor *c, uint16_t misc, struct process_event *e)
{
	e->type = EVENT_EXEC;
	e->pid = (pid_t)cursor_u32(c);
	if (c->bad)
		return -EBADMSG;
	/* otherwise the task only changed its name */
	return (misc & PERF_RECORD_MISC_COMM_EXEC) != 0;
}

static void decode_build_id(struct cursor *c, struct process_event *e)
{
	uint8_t len = cursor_u8(c);
	const uint8_t *bytes;

	cursor_take(c, 3); /* reserved */
	bytes = cursor_take(c, sizeof(e->build_id.bytes));
	e->type = EVENT_BUILD_ID;
	if (!bytes)
		return;
	e->build_id.len = len < sizeof(e->build_id.bytes) ? len : sizeof(e->build_id.bytes);
	memcpy(e->build_id.bytes, bytes, e->build_id.len);
}

static void decode_inode(struct cursor *c, struct process_event *e)
{
	e->type = EVENT_MMAP;
	e->major = cursor_u32(c);
	e->minor = cursor_u32(c);
	e->inode = cursor_u64(c);
	e->generation = cursor_u64(c);
}

/*
 * Two events report each mapping: one with its inode, the other with its build-id if it has one.
 * They are told apart by the event's ID, because the kernel leaves the build-id flag of one event's
 * record in the next one's (seen on 6.18).
 */
static int decode_mmap2(struct cursor *c, uint16_t misc, bool is_build_id_event,
			struct process_event *e)
{
	uint64_t len;

	e->pid = (pid_t)cursor_u32(c);
	(void)cursor_u32(c); /* tid */
	e->start = cursor_u64(c);
	len = cursor_u64(c);
	e->end = e->start + len;
	e->offset = cursor_u64(c);
	if (is_build_id_event)
		decode_build_id(c, e);
	else
		decode_inode(c, e);
	cursor_take(c, 8); /* prot, flags */
	e->path = cursor_str(c);
	if (c->bad || e->end < e->start)
		return -EBADMSG;
	return !is_build_id_event || (misc & PERF_RECORD_MISC_MMAP_BUILD_ID);
}

/* Unloading is reported in the same way as loading, because the code may have run before. */
static int decode_ksymbol(struct cursor *c, struct process_event *e)
{
	uint16_t type;

	e->type = EVENT_KSYMBOL;
	e->start = cursor_u64(c);
	e->end = e->start + cursor_u32(c);
	type = cursor_u16(c);
	cursor_take(c, 2); /* flags */
	e->path = cursor_str(c);
	e->is_bpf = type == PERF_RECORD_KSYMBOL_TYPE_BPF;
	if (c->bad || e->end < e->start)
		return -EBADMSG;
	return 1;
}

static int decode_lost(struct cursor *c, struct process_event *e)
{
	e->type = EVENT_LOST;
	(void)cursor_u64(c); /* id */
	e->nr_lost = cursor_u64(c);
	return c->bad ? -EBADMSG : 1;
}

int sideband_decode(const void *bytes, size_t size, uint64_t build_id_event,
		    struct process_event *ret_event)
{
	struct cursor c = cursor_of(bytes, size);
	struct process_event e = { 0 };
	struct perf_event_header h;
	struct trailer t;
	int r = 0;

	cursor_copy(&c, &h, sizeof(h));
	if (c.bad || !take_trailer(&c, &t))
		return -EBADMSG;
	e.time_ns = t.time_ns;
	if (h.type == PERF_RECORD_LOST)
		r = decode_lost(&c, &e);
	else if (h.type == PERF_RECORD_FORK || h.type == PERF_RECORD_EXIT)
		r = decode_fork(&c, h.type == PERF_RECORD_EXIT, &e);
	else if (h.type == PERF_RECORD_COMM)
		r = decode_comm(&c, h.misc, &e);
	else if (h.type == PERF_RECORD_MMAP2)
		r = decode_mmap2(&c, h.misc, build_id_event && t.id == build_id_event, &e);
	else if (h.type == PERF_RECORD_KSYMBOL)
		r = decode_ksymbol(&c, &e);
	if (r <= 0)
		return r;
	if (e.type < EVENT_KSYMBOL && e.pid <= 0)
		return 0;
	*ret_event = e;
	return 1;
}
