/* SPDX-License-Identifier: Apache-2.0 */
/* Names by several threads: the same profile as by none, an end when it is asked for, one budget. */
#include <errno.h>
#include <lzma.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <zlib.h>
#include <zstd.h>

#include "debugfiles/debug_files.h"
#include "names/naming_budget.h"
#include "replay.h"
#include "tap.h"
#include "write/writer.h"

#define NR_WORKERS 4
#define MIN_BATCHES 7 /* five files, the kernel, one process's own code, and no mapping at all */

static char directory[] = "/tmp/perf-agent-test.XXXXXX";
static char kallsyms_path[64];
static atomic_bool cancel;

static void make_kallsyms(bool is_hidden)
{
	FILE *f = fopen(kallsyms_path, "we");

	must(f);
	fprintf(f, "%llx T _stext\n%llx t schedule\t[module]\n",
		is_hidden ? 0 : REPLAY_KERNEL_PC - 16, is_hidden ? 0 : REPLAY_KERNEL_PC + 32);
	fclose(f);
}

static int cancel_and_fail(const struct log *log, int *ret_fd)
{
	atomic_store(&cancel, true);
	return -EOPNOTSUPP;
}

static struct capture *capture_story(unsigned int nr_workers)
{
	static const struct debug_config no_servers = { .nr_urls = 0 };
	struct world_config cfg = { .proc_root = "/proc",
				    .kallsyms_path = kallsyms_path,
				    .open_ksyms = cancel_and_fail,
				    .all = true,
				    .naming_workers = nr_workers,
				    .max_fds = 64,
				    .debug = &no_servers };
	uint64_t code[] = { (uintptr_t)capture_story, (uintptr_t)zlibVersion,
			    (uintptr_t)lzma_version_number, (uintptr_t)ZSTD_versionNumber,
			    (uintptr_t)getenv };
	struct capture *c = NULL;

	must(capture_new(&cfg, NULL, &c) == 0);
	must(replay_story(c, code, sizeof(code) / sizeof(code[0])) == 0);
	return c;
}

/* The bytes of the profile. */
static size_t write_profile(const struct capture *c, char *to, size_t size)
{
	struct outfile_options opts = { 0 };
	struct outfile *f = NULL;
	struct pa_error err;
	char path[64];
	size_t n;
	FILE *in;

	snprintf(path, sizeof(path), "%s/p.pb.gz", directory);
	must(outfile_open(path, &opts, &f, &err) == 0);
	must(writer_pprof.write(c->model->profile, f, NULL, &err) == 0 &&
	     outfile_commit(f, &err) == 0);
	outfile_free(f);
	in = fopen(path, "re");
	must(in);
	n = fread(to, 1, size, in);
	fclose(in);
	unlink(path);
	must(n > 0 && n < size);
	return n;
}

static bool same_stats(const struct naming_stats *a, const struct naming_stats *b)
{
	return a->nr_batches == b->nr_batches && a->nr_addresses == b->nr_addresses &&
	       a->nr_raw == b->nr_raw && a->nr_fallbacks == b->nr_fallbacks &&
	       memcmp(a->failures, b->failures, sizeof(a->failures)) == 0;
}

static bool same_notes(const struct capture *a, const struct capture *b)
{
	for (uint32_t i = 0; i < a->model->profile->nr_mappings; i++)
		if (a->model->naming.notes[i].why != b->model->naming.notes[i].why ||
		    a->model->naming.notes[i].advice != b->model->naming.notes[i].advice)
			return false;
	return a->model->profile->nr_mappings == b->model->profile->nr_mappings;
}

static void test_same_profile(void)
{
	static char one[1 << 20], many[1 << 20];
	struct capture *a = capture_story(1), *b = capture_story(NR_WORKERS);
	size_t na, nb;

	make_kallsyms(false);
	must(capture_name(a, NULL) == 0 && capture_name(b, NULL) == 0);
	na = write_profile(a, one, sizeof(one));
	nb = write_profile(b, many, sizeof(many));
	ok(a->model->naming.stats.nr_batches >= MIN_BATCHES, "%lu batches",
	   a->model->naming.stats.nr_batches);
	ok(na == nb && memcmp(one, many, na) == 0,
	   "the profile has the same bytes with %d threads as with none", NR_WORKERS);
	ok(same_stats(&a->model->naming.stats, &b->model->naming.stats) && same_notes(a, b),
	   "the counters are the same with any number of threads");
	ok(a->model->naming.stats.nr_addresses > a->model->naming.stats.nr_raw,
	   "of %lu addresses %lu are raw", a->model->naming.stats.nr_addresses,
	   a->model->naming.stats.nr_raw);
	ok(strcmp(a->model->naming.kernel.source, b->model->naming.kernel.source) == 0,
	   "the kernel's are from '%s'", b->model->naming.kernel.source);
	capture_free(a);
	capture_free(b);
}

static void test_automatic(void)
{
	struct capture *c = capture_story(0);

	ok(capture_name(c, NULL) == 0 && c->model->naming.stats.nr_batches >= MIN_BATCHES,
	   "there are as many threads as CPUs");
	capture_free(c);
}

static uint64_t nr_lines_of(const struct capture *c)
{
	uint64_t nr = 0;

	for (uint32_t i = 0; i < c->model->profile->nr_lines; i++)
		nr += c->model->profile->lines[i].line > 0;
	return nr;
}

/* With enough time the order in which a user who waits gets names and lines makes no difference. */
static void test_interrupted(unsigned int nr_workers)
{
	static char usual[1 << 20], hasty[1 << 20];
	struct capture *a = capture_story(nr_workers), *b = capture_story(nr_workers);
	static const atomic_bool yes = true;
	size_t na, nb;

	b->world->naming_deadline.interrupted = &yes;
	must(capture_name(a, NULL) == 0 && capture_name(b, NULL) == 0);
	na = write_profile(a, usual, sizeof(usual));
	nb = write_profile(b, hasty, sizeof(hasty));
	ok(nr_lines_of(a) > 0, "%u workers: %lu lines", nr_workers, nr_lines_of(a));
	ok(na == nb && memcmp(usual, hasty, na) == 0 &&
		   !b->model->naming.stats.nr_lines_interrupted &&
		   !b->model->naming.stats.failures[NAMING_INTERRUPTED],
	   "%u workers: the profile of an interrupted capture has the same bytes", nr_workers);
	ok(same_stats(&a->model->naming.stats, &b->model->naming.stats) && same_notes(a, b),
	   "%u workers: the counters of an interrupted capture are the same", nr_workers);
	capture_free(a);
	capture_free(b);
}

/* A time that began so long ago that it is over. */
static void test_late(void)
{
	static const atomic_bool yes = true;
	struct capture *c = capture_story(1);
	const struct naming_stats *st = &c->model->naming.stats;

	c->world->naming_deadline.interrupted = &yes;
	atomic_store(&c->world->naming_deadline.began_cpu_ns, 1);
	atomic_store(&c->world->naming_deadline.began_ns, clock_mono_ns() - NAMING_WAIT_MOST_NS);
	ok(capture_name(c, NULL) == 0, "naming whose time is over succeeds");
	ok(st->failures[NAMING_INTERRUPTED] > 0 && st->nr_raw == st->nr_addresses &&
		   st->failures[NAMING_INTERRUPTED] + st->failures[NAMING_NO_MAPPING] ==
			   st->nr_addresses,
	   "when the time is over, addresses stay: %lu of %lu", st->failures[NAMING_INTERRUPTED],
	   st->nr_addresses);
	capture_free(c);
}

static void test_cancel(void)
{
	struct capture *c = capture_story(NR_WORKERS);

	atomic_store(&cancel, true);
	ok(capture_name(c, &cancel) == -ECANCELED && c->model->naming.stats.nr_batches == 0,
	   "nothing is resolved when it is cancelled before");
	capture_free(c);
	atomic_store(&cancel, false);
	make_kallsyms(true);
	c = capture_story(NR_WORKERS);
	ok(capture_name(c, &cancel) == -ECANCELED && atomic_load(&cancel),
	   "not everything is resolved when it is cancelled while a source is opened");
	capture_free(c);
}

/* ---- the budget ---- */

/* Each gives the CPU away: to whoever else runs on the machine, for a time slice. */
#define ROUNDS 100

struct shared {
	struct naming_budget budget;
	uint64_t bytes;
	atomic_uint nr_inside, max_inside;
};

static void *take_turns(void *arg)
{
	struct shared *s = arg;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		unsigned int now, max;

		naming_budget_take(&s->budget, s->bytes);
		now = atomic_fetch_add(&s->nr_inside, 1) + 1;
		max = atomic_load(&s->max_inside);
		while (now > max && !atomic_compare_exchange_weak(&s->max_inside, &max, now))
			;
		sched_yield();
		atomic_fetch_sub(&s->nr_inside, 1);
		naming_budget_give(&s->budget, s->bytes);
	}
	return NULL;
}

static unsigned int most_inside(uint64_t bytes)
{
	pthread_t threads[NR_WORKERS];
	struct shared s = { .bytes = bytes };

	naming_budget_init(&s.budget);
	for (unsigned int i = 0; i < NR_WORKERS; i++)
		must(pthread_create(&threads[i], NULL, take_turns, &s) == 0);
	for (unsigned int i = 0; i < NR_WORKERS; i++)
		pthread_join(threads[i], NULL);
	must(s.budget.used_bytes == 0);
	naming_budget_done(&s.budget);
	return s.max_inside;
}

static void test_budget(void)
{
	struct naming_budget b;

	naming_budget_init(&b);
	naming_budget_take(&b, NAMING_BUDGET_BYTES / 2);
	naming_budget_take(&b, NAMING_BUDGET_BYTES / 2); /* if it waited, it would for ever */
	naming_budget_done(&b);
	ok(most_inside(NAMING_BUDGET_BYTES / 2) <= 2,
	   "budget: two may hold a half each, never three");
	ok(most_inside(NAMING_BUDGET_BYTES / 2 + 1) == 1,
	   "budget: larger files are read one at a time");
	ok(most_inside(4 * NAMING_BUDGET_BYTES) == 1,
	   "budget: a file larger than the budget is read alone");
}

int main(void)
{
	if (syscall(SYS_openat2, -1, "", NULL, 0) < 0 && errno == ENOSYS) {
		tap_skip("needs openat2(), which valgrind does not have");
		return tap_done();
	}
	must(mkdtemp(directory));
	snprintf(kallsyms_path, sizeof(kallsyms_path), "%s/kallsyms", directory);
	make_kallsyms(false);
	test_same_profile();
	test_automatic();
	test_interrupted(1);
	test_interrupted(NR_WORKERS);
	test_late();
	test_cancel();
	test_budget();
	unlink(kallsyms_path);
	rmdir(directory);
	return tap_done();
}
