/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of records, of the header and of features, as the format of perf.data says them. */
#include <errno.h>

#include "perfdata/perf_features.h"
#include "perfdata/perf_kernel_maps.h"
#include "perfdata/perf_records.h"
#include "sample/sample.h"
#include "tap.h"

#define TRAILER_BYTES 32
#define BUF_MAX_BYTES (2 * (size_t)PERF_FILES_MAX_BYTES)

static struct buf b = { .max = BUF_MAX_BYTES };

static uint64_t u64_at(size_t at)
{
	uint64_t v;

	must(at + sizeof(v) <= b.len);
	memcpy(&v, b.data + at, sizeof(v));
	return v;
}

static uint32_t u32_at(size_t at)
{
	uint32_t v;

	must(at + sizeof(v) <= b.len);
	memcpy(&v, b.data + at, sizeof(v));
	return v;
}

/* The buffer is one record of that type and misc, whose size is right and a multiple of 8. */
static bool is_record(uint32_t type, uint16_t misc)
{
	struct perf_event_header h;

	must(b.len >= sizeof(h));
	memcpy(&h, b.data, sizeof(h));
	return h.type == type && h.misc == misc && h.size == b.len && b.len % 8 == 0;
}

static bool has_trailer(uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	size_t at = b.len - TRAILER_BYTES;

	return u32_at(at) == pid && u32_at(at + 4) == tid && u64_at(at + 8) == time_ns &&
	       u64_at(at + 16) == 0 && u64_at(at + 24) == PERF_EVENT_ID;
}

/* A value of 8 bytes at an offset of the buffer. */
struct word {
	size_t at;
	uint64_t value;
};
#define PAIR(low, high) ((uint64_t)(uint32_t)(low) | (uint64_t)(uint32_t)(high) << 32)
#define HAS(...) has_words((const struct word[]){ __VA_ARGS__, { SIZE_MAX, 0 } })

static bool has_words(const struct word *w)
{
	for (; w->at != SIZE_MAX; w++)
		if (u64_at(w->at) != w->value) {
			printf("# at %zu: 0x%llx, not 0x%llx\n", w->at,
			       (unsigned long long)u64_at(w->at), (unsigned long long)w->value);
			return false;
		}
	return true;
}

static void test_tasks(void)
{
	buf_clear(&b);
	must(perf_put_comm(&b, 7, 8, 99, "abcdefg", 16, false) == 0);
	ok(is_record(3, 0) && b.len == 16 + 8 + TRAILER_BYTES && has_trailer(7, 8, 99),
	   "COMM: a name of 7 bytes and its NUL fill 8");
	buf_clear(&b);
	must(perf_put_comm(&b, 7, 8, 99, "abcdefghXXX", 8, true) == 0);
	ok(is_record(3, 1 << 13) && b.len == 16 + 16 + TRAILER_BYTES && HAS({ 24, 0 }),
	   "COMM: a name without a NUL gets one; an exec has its flag");
	buf_clear(&b);
	must(perf_put_lost(&b, 5, 99) == 0);
	ok(is_record(2, 0) && HAS({ 8, PERF_EVENT_ID }, { 16, 5 }) && has_trailer(0, 0, 99),
	   "LOST: event and number");
	buf_clear(&b);
	must(perf_put_lost_samples(&b, 5, 99) == 0);
	ok(is_record(13, 0) && b.len == 16 + TRAILER_BYTES && HAS({ 8, 5 }) &&
		   has_trailer(0, 0, 99),
	   "LOST_SAMPLES: the number");
	buf_clear(&b);
	must(perf_put_round(&b) == 0);
	ok(is_record(68, 0) && b.len == 8, "FINISHED_ROUND: no more than a header");
}

static void test_lives(void)
{
	buf_clear(&b);
	must(perf_put_fork(&b, 20, 20, 10, 99) == 0);
	ok(is_record(7, 0) && HAS({ 8, PAIR(20, 10) }, { 16, PAIR(20, 10) }, { 24, 99 }) &&
		   has_trailer(20, 20, 99),
	   "FORK: child, parent, their threads, time");
	buf_clear(&b);
	must(perf_put_fork(&b, 20, 21, 20, 99) == 0);
	ok(is_record(7, 0) && HAS({ 8, PAIR(20, 20) }, { 16, PAIR(21, 20) }, { 24, 99 }) &&
		   has_trailer(20, 21, 99),
	   "FORK: a thread has the process of its parent");
	buf_clear(&b);
	must(perf_put_exit(&b, 20, 10, 99) == 0);
	ok(is_record(4, 0) && HAS({ 24, 99 }) && has_trailer(20, 20, 99), "EXIT: the same");
}

static void test_mappings(void)
{
	struct perf_mapping m = { .pid = 7,
				  .time_ns = 99,
				  .start = 0x1000,
				  .end = 0x3000,
				  .offset = 0x4000,
				  .path = "/bin/x",
				  .dev = 0x801,
				  .ino = 55 };

	buf_clear(&b);
	must(perf_put_mapping(&b, &m) == 0);
	ok(is_record(10, 2) &&
		   HAS({ 8, PAIR(7, 7) }, { 16, 0x1000 }, { 24, 0x2000 }, { 32, 0x4000 },
		       { 40, PAIR(8, 1) }, { 48, 55 }, { 56, 0 }, { 64, PAIR(5, 2) }) &&
		   !strcmp(b.data + 72, "/bin/x") && has_trailer(7, 7, 99),
	   "MMAP2: range, offset, inode, protection, path");
	m.build_id = (struct build_id){ .bytes = { 1, 2, 3 }, .len = 3 };
	buf_clear(&b);
	must(perf_put_mapping(&b, &m) == 0);
	ok(is_record(10, 2 | 1 << 14) &&
		   HAS({ 40, PAIR(3, 0x030201) }, { 48, 0 }, { 56, 0 }, { 64, PAIR(5, 2) }),
	   "MMAP2: a build-id in place of the inode, with its size");
	buf_clear(&b);
	must(perf_put_kernel_mapping(&b, &m) == 0);
	ok(is_record(1, 1) && HAS({ 8, PAIR(-1, 0) }, { 16, 0x1000 }) && has_trailer(0, 0, 99),
	   "MMAP: the kernel's has PID -1 and the mode of the kernel");
}

static void test_modules(void)
{
	buf_clear(&b);
	must(perf_put_module(&b, "ext4 1000 1 - Live 0xffffffffc0100000\n") == 0);
	ok(is_record(1, 1) && HAS({ 16, 0xffffffffc0100000 }, { 24, 1000 }) &&
		   !strcmp(b.data + 40, "[ext4]"),
	   "MMAP: a module of /proc/modules");
	buf_clear(&b);
	must(perf_put_module(&b, "ext4 1000 1 - Live 0x0000000000000000\n") == 0 &&
	     perf_put_module(&b, "\n") == 0 && perf_put_module(&b, "a b c d e f\n") == 0);
	ok(b.len == 0, "MMAP: none of a module whose address is hidden, or of another line");
}

static void test_sample(void)
{
	static const uint64_t kernel_mark = (uint64_t)-128, user_mark = (uint64_t)-512;
	static const struct frame frames[] = {
		{ .kind = FRAME_KERNEL, .address = 0xff10, .pc = 0xff10 },
		{ .kind = FRAME_KERNEL, .address = 0xff1f, .pc = 0xff20 },
		{ .kind = FRAME_NATIVE, .address = 0x2f, .pc = 0x30 },
		{ .kind = FRAME_JIT, .address = 0x3f, .pc = 0x40 },
	};
	struct sample s = {
		.time_ns = 99, .cpu = 3, .pid = 7, .tid = 8, .frames = frames, .nr_frames = 4
	};

	buf_clear(&b);
	must(perf_put_sample(&b, &s, 1234) == 0);
	ok(is_record(9, 1) && HAS({ 8, PERF_EVENT_ID }, { 16, 0xff10 }, { 24, PAIR(7, 8) },
				  { 32, 99 }, { 40, 3 }, { 48, 1234 }),
	   "SAMPLE: ID, address, PID, TID, time, CPU, period");
	ok(b.len == 112 && HAS({ 56, 6 }, { 64, kernel_mark }, { 72, 0xff10 }, { 80, 0xff20 },
			       { 88, user_mark }, { 96, 0x30 }, { 104, 0x40 }),
	   "SAMPLE: return addresses as they are, each group after its marker");
	s.frames += 2;
	s.nr_frames = 2;
	buf_clear(&b);
	must(perf_put_sample(&b, &s, 1) == 0);
	ok(is_record(9, 2) && HAS({ 16, 0x30 }, { 56, 3 }, { 64, user_mark }),
	   "SAMPLE: of user code, in the mode of user code");
	s.frames = (const struct frame[]){ { .kind = FRAME_TYPED, .pc = 0x99 },
					   { .kind = FRAME_NATIVE, .pc = 0x30 },
					   { .kind = FRAME_TYPED, .pc = 0x99 } };
	s.nr_frames = 3;
	buf_clear(&b);
	must(perf_put_sample(&b, &s, 1) == 0);
	ok(is_record(9, 2) && b.len == 80 && HAS({ 16, 0x30 }, { 56, 2 }, { 72, 0x30 }),
	   "SAMPLE: without frames that are not code");
	s.nr_frames = 0;
	s.is_in_kernel = true;
	buf_clear(&b);
	must(perf_put_sample(&b, &s, 1) == 0);
	ok(is_record(9, 1) && b.len == 64 && HAS({ 16, 0 }, { 56, 0 }), "SAMPLE: without a stack");
}

static void test_no_room(void)
{
	static struct frame many[9000];
	struct sample s = { .frames = many, .nr_frames = 9000 };
	char path[200];

	buf_clear(&b);
	must(perf_put_round(&b) == 0);
	ok(perf_put_sample(&b, &s, 1) == -E2BIG && b.len == 8,
	   "a record that does not fit into 64 KB leaves nothing behind");
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	b.max = 64;
	buf_done(&b);
	b.max = 64;
	must(perf_put_round(&b) == 0);
	ok(perf_put_mapping(&b, &(struct perf_mapping){ .path = path }) == -E2BIG && b.len == 8,
	   "a record that does not fit into the buffer leaves nothing behind");
	buf_done(&b);
	b.max = BUF_MAX_BYTES;
}

static void test_header(void)
{
	const uint64_t bits[PERF_NR_FEATURE_WORDS] = { 0x1234 };
	struct perf_event_attr attr = perf_attr(&(struct perf_sampling){ .rate_hz = 100 });

	buf_clear(&b);
	must(perf_put_header(&b, 800, bits) == 0 && perf_put_event(&b, &attr) == 0);
	ok(b.len == PERF_DATA_OFFSET && !memcmp(b.data, "PERFILE2", 8) &&
		   HAS({ 8, 104 }, { 40, PERF_DATA_OFFSET }, { 48, 800 }, { 72, 0x1234 }),
	   "header: its size, data, features");
	ok(HAS({ 16, 112 + 16 }, { 24, 112 }, { 32, 112 + 16 }, { 104, PERF_EVENT_ID },
	       { 112, PAIR(1, 112) }, { 224, 104 }, { 232, 8 }),
	   "header: an event of 112 bytes, which perf since 4.1 reads, and its ID");
	ok(PERF_DATA_OFFSET >= PERF_HEADER_BYTES + 8 + 2 * (PERF_ATTR_BYTES + 16) &&
		   HAS({ 240, 0 }, { PERF_DATA_OFFSET - 8, 0 }),
	   "header: perf inject has room for an event that is twice as large before the data");
}

static void test_event(void)
{
	struct perf_event_attr attr = perf_attr(&(struct perf_sampling){ .rate_hz = 100 });

	ok(attr.type == 1 && attr.config == 0 && !attr.freq && attr.sample_period == 10000000 &&
		   attr.exclude_callchain_kernel,
	   "event: the CPU's clock has a period in nanoseconds");
	attr = perf_attr(&(struct perf_sampling){ true, 100, true });
	ok(attr.type == 0 && attr.config == 0 && attr.freq && attr.sample_freq == 100 &&
		   !attr.exclude_callchain_kernel && attr.sample_id_all,
	   "event: cycles have a frequency");
}

static void add_files(struct perf_files *files)
{
	struct build_id id = { .bytes = { 0xab }, .len = 20 }, other = { .bytes = { 1 }, .len = 8 };

	perf_files_add(files, "/bin/x", &id, false);
	perf_files_add(files, "/bin/x", &id, false);
	perf_files_add(files, "/bin/x", &other, false);
	perf_files_add(files, PERF_KERNEL_NAME, &id, true);
	ok(files->nr_files == 3, "build-ids: each path with each of them once");
}

static void test_features(void)
{
	static const unsigned int bits[] = { 2, 3, 4, 5, 6, 7, 11, 12, 21, 29 };
	struct perf_sampling sampling = { .rate_hz = 100 };
	struct perf_files files = { 0 };
	struct perf_features f = { &sampling, &files, "1.2", 11, 22 };
	uint64_t got[PERF_NR_FEATURE_WORDS], want = 0, end = 5000 + 160;
	bool is_gapless = true;

	add_files(&files);
	buf_clear(&b);
	must(perf_put_features(&b, 5000, &f, got) == 0);
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		want |= 1ull << bits[i];
		is_gapless = is_gapless && u64_at(16 * i) == end;
		end += u64_at(16 * i + 8);
	}
	ok(got[0] == want && !got[1] && !got[2] && !got[3], "features: a bit for each");
	ok(is_gapless && end == 5000 + b.len,
	   "features: one after another, after the list of their places");
	ok(HAS({ 8, 3 * (36 + 64) }, { 160, PAIR(0, 100u << 16 | 0x8002) },
	       { 168, PAIR(-1, 0xab) }) &&
		   b.data[192] == 20 && !strcmp(b.data + 196, "/bin/x"),
	   "build-ids: mode, size, path");
	ok(HAS({ u64_at(16 * 8) - 5000, 11 }, { u64_at(16 * 8) - 5000 + 8, 22 }),
	   "features: times of the first and the last sample");
	perf_files_done(&files);
}

/* Whoever runs programs chooses their paths and build-ids. */
static void test_many_files(void)
{
	static char path[5000];
	struct perf_sampling sampling = { .rate_hz = 100 };
	struct perf_files files = { 0 };
	struct perf_features f = { &sampling, &files, "1.2", 11, 22 };
	struct build_id id = { .bytes = { 0xab }, .len = 20 };
	uint64_t bits[PERF_NR_FEATURE_WORDS];
	uint32_t nr_files;

	memset(path, 'x', sizeof(path) - 1);
	perf_files_add(&files, path, &id, false);
	perf_files_add(&files, path, &id, false);
	ok(files.nr_files == 1, "build-ids: a path that is too long has one entry as well");
	for (unsigned int i = 0; i < 20000; i++) {
		memcpy(id.bytes, &i, sizeof(i));
		perf_files_add(&files, path, &id, false);
	}
	nr_files = files.nr_files;
	memset(id.bytes, 0xff, id.len);
	perf_files_add(&files, path, &id, false);
	buf_clear(&b);
	ok(nr_files > 1000 && files.nr_files == nr_files,
	   "build-ids: files are left out when the budget is spent (after %u)", nr_files);
	ok(perf_put_features(&b, 5000, &f, bits) == 0 && u64_at(8) == files.nr_bytes &&
		   files.nr_bytes <= PERF_FILES_MAX_BYTES,
	   "build-ids: with a spent budget the features are still written, and no larger");
	perf_files_done(&files);
}

int main(void)
{
	test_tasks();
	test_lives();
	test_mappings();
	test_modules();
	test_sample();
	test_no_room();
	test_header();
	test_event();
	test_features();
	test_many_files();
	buf_done(&b);
	return tap_done();
}
