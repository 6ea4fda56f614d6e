/* SPDX-License-Identifier: Apache-2.0 */
/* perf records, laid out as include/uapi/linux/perf_event.h says, become events. */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "collect/sideband.h"
#include "tap.h"

#define BUILD_ID_EVENT 77
#define OTHER_EVENT 76

struct record {
	struct perf_event_header h;
	char bytes[512];
};

static void put(struct record *r, const void *bytes, size_t n)
{
	memcpy((char *)r + r->h.size, bytes, n);
	r->h.size = (__u16)(r->h.size + n);
}

static void put32(struct record *r, __u32 v)
{
	put(r, &v, sizeof(v));
}

static void put64(struct record *r, __u64 v)
{
	put(r, &v, sizeof(v));
}

static struct record begin(__u32 type, __u16 misc)
{
	return (struct record){
		.h = { .type = type, .misc = misc, .size = sizeof(struct perf_event_header) }
	};
}

static int finish(struct record *r, __u64 time, __u64 id, struct process_event *e)
{
	put32(r, 1);
	put32(r, 1);
	put64(r, time);
	put64(r, id);
	return sideband_decode(r, r->h.size, BUILD_ID_EVENT, e);
}

static struct record mmap2(__u16 misc, bool with_build_id, const char *path, size_t path_bytes)
{
	struct record r = begin(PERF_RECORD_MMAP2, misc);

	put32(&r, 100);
	put32(&r, 101);
	put64(&r, 0x7f0000001000);
	put64(&r, 0x2000);
	put64(&r, 0x3000);
	if (with_build_id) {
		put(&r,
		    "\x14\0\0\0"
		    "0123456789abcdefghij",
		    24);
	} else {
		put32(&r, 8);
		put32(&r, 1);
		put64(&r, 4711);
		put64(&r, 99);
	}
	put32(&r, 5);
	put32(&r, 2);
	put(&r, path, path_bytes);
	return r;
}

static void test_mmap(void)
{
	struct record r = mmap2(0, false, "/usr/lib/a b.so\0\0\0\0\0\0\0\0", 16);
	struct process_event e;

	ok(finish(&r, 5, OTHER_EVENT, &e) == 1 && e.type == EVENT_MMAP, "a mapping");
	ok(e.pid == 100 && e.start == 0x7f0000001000 && e.end == 0x7f0000003000 &&
		   e.offset == 0x3000,
	   "mmap: process and range");
	ok(e.major == 8 && e.minor == 1 && e.inode == 4711 && e.generation == 99, "mmap: inode");
	ok(strcmp(e.path, "/usr/lib/a b.so") == 0 && e.time_ns == 5, "mmap: path and time");
	r = mmap2(0, false, "/x\0\0\0\0\0\0", 8);
	ok(finish(&r, 5, BUILD_ID_EVENT, &e) == 0,
	   "mmap: the second event is ignored if there is no build-id");
	r = mmap2(PERF_RECORD_MISC_MMAP_BUILD_ID, false, "/x\0\0\0\0\0\0", 8);
	ok(finish(&r, 5, OTHER_EVENT, &e) == 1 && e.type == EVENT_MMAP && e.inode == 4711,
	   "mmap: a stale build-id flag is ignored");
	r = mmap2(0, false, "no end", 6);
	r.h.size = (__u16)(r.h.size + 2);
	memset(r.bytes + r.h.size - sizeof(r.h) - 8, 'x', 8);
	ok(finish(&r, 5, OTHER_EVENT, &e) == -EBADMSG, "mmap: an unterminated path is refused");
}

static void test_build_id(void)
{
	struct record r = mmap2(PERF_RECORD_MISC_MMAP_BUILD_ID, true, "/x\0\0\0\0\0\0", 8);
	struct process_event e;

	ok(finish(&r, 5, BUILD_ID_EVENT, &e) == 1 && e.type == EVENT_BUILD_ID, "a build-id");
	ok(e.build_id.len == 20 && memcmp(e.build_id.bytes, "0123456789abcdefghij", 20) == 0,
	   "build-id: its bytes");
	r = mmap2(PERF_RECORD_MISC_MMAP_BUILD_ID, true, "/x\0\0\0\0\0\0", 8);
	((char *)&r)[sizeof(r.h) + 32] = (char)200;
	ok(finish(&r, 5, BUILD_ID_EVENT, &e) == 1 && e.build_id.len == 20,
	   "build-id: an excessive length is limited");
}

static int task(__u32 type, __u32 pid, __u32 ppid, __u32 tid, struct process_event *e)
{
	struct record r = begin(type, 0);

	put32(&r, pid);
	put32(&r, ppid);
	put32(&r, tid);
	put32(&r, ppid);
	put64(&r, 9);
	return finish(&r, 9, OTHER_EVENT, e);
}

static void test_tasks(void)
{
	struct process_event e;
	struct record r;

	ok(task(PERF_RECORD_FORK, 10, 5, 10, &e) == 1 && e.type == EVENT_FORK && e.pid == 10 &&
		   e.ppid == 5,
	   "a fork");
	ok(task(PERF_RECORD_FORK, 10, 10, 11, &e) == 0, "fork: a new thread is ignored");
	ok(task(PERF_RECORD_EXIT, 10, 5, 10, &e) == 1 && e.type == EVENT_EXIT, "an exit");
	ok(task(PERF_RECORD_FORK, 0, 0, 0, &e) == 0,
	   "exit: a process outside the namespace is ignored");
	ok(task(PERF_RECORD_FORK, (__u32)-1, 5, (__u32)-1, &e) == 0,
	   "exit: a process that is already dead is ignored");
	r = begin(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	put32(&r, 10);
	put32(&r, 10);
	put64(&r, 0);
	ok(finish(&r, 9, OTHER_EVENT, &e) == 1 && e.type == EVENT_EXEC && e.pid == 10, "an exec");
	r = begin(PERF_RECORD_COMM, 0);
	put32(&r, 10);
	put32(&r, 10);
	put64(&r, 0);
	ok(finish(&r, 9, OTHER_EVENT, &e) == 0, "comm: a new name without exec is ignored");
}

static int decode_ksymbol(__u16 type, __u16 flags, __u64 addr, struct process_event *e)
{
	static struct record r; /* the event borrows its name */

	r = begin(PERF_RECORD_KSYMBOL, 0);
	put64(&r, addr);
	put32(&r, 0x40);
	put(&r, &type, sizeof(type));
	put(&r, &flags, sizeof(flags));
	put(&r, "bpf_prog_1_f\0\0\0", 16);
	return finish(&r, 9, OTHER_EVENT, e);
}

static void test_ksymbol(void)
{
	struct process_event e;

	ok(decode_ksymbol(PERF_RECORD_KSYMBOL_TYPE_BPF, 0, 0xffffffffc0001000, &e) == 1 &&
		   e.type == EVENT_KSYMBOL && e.is_bpf && e.start == 0xffffffffc0001000 &&
		   e.end == 0xffffffffc0001040 && strcmp(e.path, "bpf_prog_1_f") == 0,
	   "ksymbol: a BPF program is loaded");
	ok(decode_ksymbol(PERF_RECORD_KSYMBOL_TYPE_OOL, 0, 1, &e) == 1 && !e.is_bpf,
	   "ksymbol: other kernel code");
	ok(decode_ksymbol(PERF_RECORD_KSYMBOL_TYPE_BPF, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER, 1,
			  &e) == 1 &&
		   e.type == EVENT_KSYMBOL && strcmp(e.path, "bpf_prog_1_f") == 0,
	   "ksymbol: an unloaded program existed before");
	ok(decode_ksymbol(PERF_RECORD_KSYMBOL_TYPE_BPF, 0, UINT64_MAX, &e) == -EBADMSG,
	   "ksymbol: a range beyond the end of memory is refused");
}

static void test_lost_and_short(void)
{
	struct record r = begin(PERF_RECORD_LOST, 0);
	struct process_event e;
	bool refused = true;

	put64(&r, 1);
	put64(&r, 12);
	ok(finish(&r, 9, OTHER_EVENT, &e) == 1 && e.type == EVENT_LOST && e.nr_lost == 12,
	   "a loss");
	r = mmap2(0, false, "/x\0\0\0\0\0\0", 8);
	for (size_t n = 0; n < sizeof(r.h) + 60; n++)
		refused = refused && sideband_decode(&r, n, BUILD_ID_EVENT, &e) <= 0;
	ok(refused, "no prefix of a record is taken for a complete one");
}

int main(void)
{
	test_mmap();
	test_build_id();
	test_tasks();
	test_ksymbol();
	test_lost_and_short();
	return tap_done();
}
