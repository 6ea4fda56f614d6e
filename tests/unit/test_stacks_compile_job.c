/* SPDX-License-Identifier: Apache-2.0 */
/* A table is compiled by a process that has nothing but the descriptors of its job; the bytes that it
 * sends back are the same, and wrong ones are refused. */
#include "stacks/compile_job.h"

#include <errno.h>

#include "bare_maker.h"
#include "base/clock.h"
#include "fake_proc.h"
#include "forked_job.h"
#include "stacks/shared_rules.h"

static struct compile_job job_of(int fd)
{
	struct file f = { .fd = fd };
	struct stat st;

	must(fd >= 0 && fstat(fd, &st) == 0);
	f.dev = st.st_dev;
	f.ino = st.st_ino;
	f.mtime_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
	f.size = (uint64_t)st.st_size;
	return compile_job_of_file(&f);
}

static int run_job(const void *arg, const int *fds, struct buf *ret_bytes)
{
	struct compile_job job = *(const struct compile_job *)arg;

	job.fd = job.fd >= 0 ? fds[0] : -1;
	job.debug_fd = job.debug_fd >= 0 ? fds[1] : -1;
	return compile_job_run(&job, NULL, ret_bytes);
}

/* The bytes of a job, done here; whether another process made the same. */
static bool is_same_elsewhere(const struct compile_job *job, struct buf *ret_bytes)
{
	_cleanup_(buf_done) struct buf there = BUF_INIT(64u << 20);

	must(compile_job_run(job, NULL, ret_bytes) == 0);
	forked_job_run(run_job, job, (int[]){ job->fd, job->debug_fd }, 2, &there);
	return there.len == ret_bytes->len && memcmp(there.data, ret_bytes->data, there.len) == 0;
}

static void test_own_program(void)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT(0);
	struct compile_job job = job_of(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	struct compiled_file f;
	struct rule_dict dict;

	ok(is_same_elsewhere(&job, &bytes), "a process with two descriptors compiles the same");
	must(rule_dict_init(&dict) == 0);
	must(compile_result_read(&bytes, &dict, &f) == 0);
	ok(f.table && f.table->nr_rows > 100 && f.nr_loads == 1,
	   "they are a table of %u rows, and where its code lies", f.table ? f.table->nr_rows : 0);
	compiled_file_done(&f);
	rule_dict_done(&dict);
	close(job.fd);
}

static void test_others(void)
{
	_cleanup_(buf_done) struct buf vdso = BUF_INIT(0), trampolines = BUF_INIT(0);
	struct compile_job job = { .kind = COMPILE_VDSO, .fd = -1, .debug_fd = -1 };

	ok(is_same_elsewhere(&job, &vdso),
	   "the vDSO's table is the same when compiled in another process");
	job.kind = COMPILE_TRAMPOLINES;
	job.trampoline = 1;
	ok(is_same_elsewhere(&job, &trampolines),
	   "the table of trampolines is the same when compiled in another process");
}

static void test_debug_file(void)
{
	_cleanup_(buf_done) struct buf alone = BUF_INIT(0), both = BUF_INIT(0);
	struct compile_job job;
	struct compiled_file f;
	struct rule_dict dict;
	char path[PATH_MAX];
	struct fake root;

	fake_init(&root);
	bare_write(&root, "prog", BARE_BUILD_ID);
	bare_write_debug(&root, BARE_BUILD_ID, 32);
	job = job_of(open(fake_path(&root, "prog", path), O_RDONLY | O_CLOEXEC));
	must(compile_job_run(&job, NULL, &alone) == 0 && rule_dict_init(&dict) == 0);
	must(compile_result_read(&alone, &dict, &f) == 0);
	ok(!f.table && f.needs_another, "a file that says too little asks for another one");
	compiled_file_done(&f);
	job.debug_fd = open(fake_path(&root, BARE_DEBUG, path), O_RDONLY | O_CLOEXEC);
	must(job.debug_fd >= 0);
	ok(is_same_elsewhere(&job, &both), "a job with a debug file is done elsewhere as well");
	must(compile_result_read(&both, &dict, &f) == 0);
	ok(f.table && unwind_table_find(f.table, &dict, CODE + 0x800) == rule_reg(7, 32),
	   "the table of a job with a debug file has its rules");
	compiled_file_done(&f);
	rule_dict_done(&dict);
	close(job.fd);
	close(job.debug_fd);
	fake_done(&root);
}

/* Every row, rule and block that the table names is there, once its rules are among all others. */
static bool is_sound(const struct compiled_file *f, const struct rule_dict *dict)
{
	struct unwind_table *t = f->table;
	struct held_rules held;
	struct shared_rules all;
	uint32_t nr_wrong = 0;

	if (!t)
		return true;
	must(shared_rules_init(&all, NULL) == 0);
	must(shared_rules_enter(&all, t, dict->rules, &held) == 0);
	for (uint32_t i = 0; i < t->nr_blocks; i++)
		nr_wrong += t->blocks[i].nr > t->nr_rows ||
			    t->blocks[i].first > t->nr_rows - t->blocks[i].nr;
	for (uint32_t i = 0; i < t->nr_rows; i++)
		nr_wrong += t->rows[i].rule >= all.dict.nr;
	free(held.ids);
	shared_rules_done(&all);
	return nr_wrong == 0;
}

static int read_bytes(const struct buf *b, size_t n, bool *ret_is_sound)
{
	_cleanup_(buf_done) struct buf copy = BUF_INIT(n);
	struct compiled_file f;
	struct rule_dict dict;
	int r;

	must(rule_dict_init(&dict) == 0 && buf_append(&copy, b->data, n) == 0);
	r = compile_result_read(&copy, &dict, &f);
	*ret_is_sound = r < 0 ? !f.table && !f.loads : is_sound(&f, &dict);
	compiled_file_done(&f);
	rule_dict_done(&dict);
	return r;
}

static void test_wrong_bytes(void)
{
	_cleanup_(buf_done) struct buf bytes = BUF_INIT(0);
	struct compile_job job = { .kind = COMPILE_VDSO, .fd = -1, .debug_fd = -1 };
	size_t nr_short = 0, nr_refused = 0, nr_unsound = 0;
	bool is_good;

	must(compile_job_run(&job, NULL, &bytes) == 0);
	for (size_t n = 0; n < bytes.len; n++)
		nr_short += read_bytes(&bytes, n, &is_good) == -EBADMSG && is_good;
	ok(nr_short == bytes.len, "all %zu results that end too early are refused", bytes.len);
	for (size_t i = 0; i < bytes.len; i++) {
		bytes.data[i] ^= (char)0x80;
		nr_refused += read_bytes(&bytes, bytes.len, &is_good) < 0;
		nr_unsound += !is_good;
		bytes.data[i] ^= (char)0x80;
	}
	ok(nr_refused > 0 && nr_unsound == 0,
	   "of %zu results with a wrong byte %zu are refused, and none names what is not there",
	   bytes.len, nr_refused);
}

int main(void)
{
	test_own_program();
	test_others();
	test_debug_file();
	test_wrong_bytes();
	return tap_done();
}
