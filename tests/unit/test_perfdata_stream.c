/* SPDX-License-Identifier: Apache-2.0 */
/* A perf.data file as a sink of a capture: what is in it, in which order, and what failures leave. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <zlib.h>

#include "perfdata/perf_data.h"
#include "perfdata/perf_known.h"
#include "perfdata/perf_records.h"
#include "replay.h"
#include "tap.h"

#define MAX_RECORDS 4096
#define TRAILER_BYTES 32
#define MS 1000000ull

static char directory[] = "/tmp/perf-agent-test.XXXXXX";
static char kallsyms_path[256];

static const char *in_dir(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

/* The records of a file. */
struct reading {
	char *bytes;
	size_t size;
	const char *records[MAX_RECORDS];
	unsigned int nr;
};

static uint64_t u64_of(const char *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static uint32_t u32_of(const char *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static uint32_t type_of(const char *record)
{
	return u32_of(record);
}

static uint16_t size_of(const char *record)
{
	return (uint16_t)(u32_of(record + 4) >> 16);
}

static uint64_t time_of(const char *record)
{
	return type_of(record) == PERF_RECORD_SAMPLE
		       ? u64_of(record + 32)
		       : u64_of(record + size_of(record) - TRAILER_BYTES + 8);
}

static void read_file(struct reading *to)
{
	FILE *f = fopen(in_dir("out"), "re");
	struct stat st;
	uint64_t at, end;

	must(f && fstat(fileno(f), &st) == 0);
	to->size = (size_t)st.st_size;
	to->bytes = malloc(to->size);
	must(to->bytes && fread(to->bytes, 1, to->size, f) == to->size);
	fclose(f);
	to->nr = 0;
	at = u64_of(to->bytes + 40);
	end = at + u64_of(to->bytes + 48);
	must(end < to->size);
	for (; at < end; at += size_of(to->bytes + at)) {
		must(to->nr < MAX_RECORDS && at + 8 <= end && size_of(to->bytes + at) >= 8);
		to->records[to->nr++] = to->bytes + at;
	}
	must(at == end);
}

static unsigned int nr_of(const struct reading *r, uint32_t type)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < r->nr; i++)
		nr += type_of(r->records[i]) == type;
	return nr;
}

static struct capture *new_capture(void)
{
	struct world_config cfg = {
		.proc_root = "/proc", .kallsyms_path = kallsyms_path, .all = true, .max_fds = 64
	};
	struct capture *c;

	must(capture_new(&cfg, NULL, &c) == 0);
	return c;
}

static int open_stream(struct capture *c, const char *path, struct outfile **ret_file,
		       struct perf_data **ret_data, struct pa_error *err)
{
	struct perf_data_config cfg = { .world = c->world,
					.values = &cpu_values,
					.sampling = { .rate_hz = 1000 } };
	int r;

	must(outfile_open(path, NULL, ret_file, err) == 0);
	cfg.file = *ret_file;
	r = perf_data_new(&cfg, ret_data, err);
	if (r == 0)
		must(pipe_add_sink(c->pipe, 0, perf_data_sink(*ret_data)) == 0);
	return r;
}

/* What a reader has, that sorts by time and in which time 0 applies at once, when it comes to a sample:
 * whether the address is mapped and the thread has a name. */
static bool is_known_before(const struct reading *r, unsigned int sample, uint64_t addr)
{
	const char *s = r->records[sample];
	uint32_t pid = u32_of(s + 24);
	bool is_mapped = false, is_named = false;

	for (unsigned int i = 0; i < r->nr; i++) {
		const char *e = r->records[i];

		if (type_of(e) >= 64 || time_of(e) > time_of(s) ||
		    (time_of(e) == time_of(s) && i > sample) || u32_of(e + 8) != pid)
			continue;
		is_named = is_named || type_of(e) == PERF_RECORD_COMM;
		is_mapped = is_mapped ||
			    (type_of(e) == PERF_RECORD_MMAP2 && addr >= u64_of(e + 16) &&
			     addr - u64_of(e + 16) < u64_of(e + 24));
	}
	return is_named && is_mapped;
}

static void test_story(void)
{
	_cleanup_(capture_freep) struct capture *c = new_capture();
	_cleanup_(outfile_freep) struct outfile *f = NULL;
	_cleanup_(perf_data_freep) struct perf_data *d = NULL;
	uint64_t code[] = { (uint64_t)(uintptr_t)test_story, (uint64_t)(uintptr_t)zlibVersion };
	struct reading r;
	unsigned int nr_known = 0, nr_sought = 0, nr_anon = 0;

	must(open_stream(c, in_dir("out"), &f, &d, NULL) == 0);
	must(replay_story(c, code, 2) == 0);
	ok(perf_data_finish(d, 3, NULL) == 0 && outfile_commit(f, NULL) == 0,
	   "stream: a capture is written");
	read_file(&r);
	ok(nr_of(&r, PERF_RECORD_SAMPLE) == c->model->stats.nr_kept && nr_of(&r, 2) == 1 &&
		   nr_of(&r, 13) == 1,
	   "stream: as many samples as the model has, and records of what was lost");
	ok(type_of(r.records[0]) == PERF_RECORD_MMAP &&
		   u64_of(r.records[0] + 16) == 0xffffffff81000000,
	   "stream: the kernel's code comes first");
	ok(nr_of(&r, PERF_RECORD_FORK) == 1 && nr_of(&r, PERF_RECORD_EXIT) == 1,
	   "stream: the fork and the exit of the child, whatever came first");
	for (unsigned int i = 0; i < r.nr; i++) {
		const char *s = r.records[i];
		uint64_t ip = u64_of(s + 16);

		if (type_of(s) == PERF_RECORD_MMAP2)
			nr_anon += !strcmp(s + 72, "//anon");
		if (type_of(s) != PERF_RECORD_SAMPLE || ip >> 63 || ip == 0x123456000)
			continue;
		nr_sought++;
		nr_known += is_known_before(&r, i, ip);
	}
	ok(nr_sought > 10 && nr_known == nr_sought,
	   "stream: names and mappings apply before the samples that need them (%u of %u)",
	   nr_known, nr_sought);
	ok(nr_anon == 2, "stream: generated code is what perf looks for in a perf map");
	free(r.bytes);
}

/* Samples of one process without frames. */
static void sample_at(struct capture *c, uint64_t time_ns, pid_t pid)
{
	uint64_t none = 0;

	must(replay_sample(c, time_ns, pid, &none, 0, &none, 0, 0, PA_STOP_EXEC) == 0);
}

static void settle(struct perf_data *d, uint64_t until_ns)
{
	perf_data_sink(d)->on_settled(perf_data_sink(d)->ctx, until_ns);
}

/* Whether no record is older than what a reader may have handled when it comes to it. */
static bool are_in_time(const struct reading *r, uint64_t *ret_handled)
{
	uint64_t newest = 0, round = 0, handled = 0;
	bool is_kept = true;

	for (unsigned int i = 0; i < r->nr; i++) {
		uint64_t time_ns = type_of(r->records[i]) < 64 ? time_of(r->records[i]) : 0;

		if (type_of(r->records[i]) == 68) {
			handled = round;
			round = newest;
		}
		is_kept = is_kept && (time_ns == 0 || time_ns >= handled);
		newest = time_ns > newest ? time_ns : newest;
	}
	*ret_handled = handled;
	return is_kept;
}

static void test_rounds(void)
{
	_cleanup_(capture_freep) struct capture *c = new_capture();
	_cleanup_(outfile_freep) struct outfile *f = NULL;
	_cleanup_(perf_data_freep) struct perf_data *d = NULL;
	struct reading r;
	uint64_t handled;
	bool is_kept;

	must(open_stream(c, in_dir("out"), &f, &d, NULL) == 0);
	must(replay_task(c, EVENT_FORK, 10 * MS, REPLAY_CHILD, REPLAY_PARENT) == 0);
	for (unsigned int i = 1; i <= 10; i++) {
		sample_at(c, i * 700 * MS, REPLAY_PARENT);
		must(capture_settle(c, false) == 0);
		settle(d, i * 700 * MS - 100 * MS);
	}
	sample_at(c, 6950 * MS, REPLAY_CHILD); /* its fork is long past */
	must(capture_settle(c, false) == 0);
	must(perf_data_finish(d, 0, NULL) == 0 && outfile_commit(f, NULL) == 0);
	read_file(&r);
	is_kept = are_in_time(&r, &handled);
	ok(nr_of(&r, 68) >= 3 && handled > 0, "rounds: a reader can handle records while it reads");
	ok(is_kept, "rounds: none is older than what a reader may have handled");
	free(r.bytes);
}

/* Processes exit after the last sample, and a reader handles all that came before. */
static void test_late_loss(void)
{
	_cleanup_(capture_freep) struct capture *c = new_capture();
	_cleanup_(outfile_freep) struct outfile *f = NULL;
	_cleanup_(perf_data_freep) struct perf_data *d = NULL;
	struct reading r;
	uint64_t handled;
	bool is_kept;

	must(open_stream(c, in_dir("out"), &f, &d, NULL) == 0);
	for (unsigned int i = 0; i < 4; i++) {
		pid_t pid = REPLAY_CHILD + (pid_t)i;

		must(replay_task(c, EVENT_FORK, 10 * MS, pid, REPLAY_PARENT) == 0);
		sample_at(c, 20 * MS, pid);
	}
	must(capture_settle(c, false) == 0);
	for (unsigned int i = 0; i < 4; i++) {
		must(replay_task(c, EVENT_EXIT, (2 + 2 * i) * 1000 * MS, REPLAY_CHILD + (pid_t)i,
				 0) == 0);
		settle(d, (3 + 2 * i) * 1000 * MS);
	}
	must(perf_data_finish(d, 3, NULL) == 0 && outfile_commit(f, NULL) == 0);
	read_file(&r);
	is_kept = are_in_time(&r, &handled);
	ok(nr_of(&r, PERF_RECORD_LOST) == 1 && handled > 20 * MS && is_kept,
	   "rounds: the record of lost samples is not older than what a reader has handled");
	free(r.bytes);
}

/* The event is of the first thread, and is known before older samples have come. */
static void test_late_exit(void)
{
	_cleanup_(capture_freep) struct capture *c = new_capture();
	_cleanup_(outfile_freep) struct outfile *f = NULL;
	_cleanup_(perf_data_freep) struct perf_data *d = NULL;
	uint64_t last_ns = 0, exit_ns = 0, handled;
	unsigned int nr_rounds = 0;
	struct reading r;

	must(open_stream(c, in_dir("out"), &f, &d, NULL) == 0);
	must(replay_task(c, EVENT_FORK, 10 * MS, REPLAY_CHILD, REPLAY_PARENT) == 0);
	sample_at(c, 1900 * MS, REPLAY_CHILD);
	must(capture_settle(c, false) == 0);
	must(replay_task(c, EVENT_EXIT, 2000 * MS, REPLAY_CHILD, 0) == 0);
	settle(d, 1900 * MS);
	sample_at(c, 2100 * MS, REPLAY_CHILD); /* of a thread that lived longer */
	for (unsigned int i = 1; i <= 5; i++) {
		sample_at(c, (2000 + 1200 * i) * MS, REPLAY_PARENT);
		must(capture_settle(c, false) == 0);
		settle(d, (1900 + 1200 * i) * MS);
	}
	must(perf_data_finish(d, 0, NULL) == 0 && outfile_commit(f, NULL) == 0);
	read_file(&r);
	for (unsigned int i = 0; i < r.nr; i++) {
		const char *e = r.records[i];

		if (type_of(e) == PERF_RECORD_SAMPLE && u32_of(e + 24) == REPLAY_CHILD)
			last_ns = time_of(e);
		if (type_of(e) == PERF_RECORD_EXIT)
			exit_ns = time_of(e);
		nr_rounds += type_of(e) == 68 && exit_ns;
	}
	ok(nr_of(&r, PERF_RECORD_EXIT) == 1 && last_ns == 2100 * MS && exit_ns >= last_ns,
	   "exits: a process ends after the samples of threads that survived its first one");
	ok(nr_rounds > 1 && exit_ns < 3000 * MS && are_in_time(&r, &handled),
	   "exits: and that is written while the capture goes on, in time for a reader");
	free(r.bytes);
}

static void sample_thread(struct perf_data *d, uint64_t time_ns, pid_t pid, pid_t tid,
			  const char *name)
{
	char comm[16] = ""; /* as in the records of the kernel */
	struct sample s = { .time_ns = time_ns,
			    .pid = pid,
			    .tid = tid,
			    .comm = comm,
			    .thread = comm,
			    .comm_bytes = sizeof(comm),
			    .nr_values = 2 };

	(void)snprintf(comm, sizeof(comm), "%s", name);
	perf_data_sink(d)->on_sample(perf_data_sink(d)->ctx, &s);
}

static void sample_named(struct perf_data *d, uint64_t time_ns, const char *name)
{
	sample_thread(d, time_ns, 77, 77, name);
}

/* The first record of that type and thread; nr: there is none. */
static unsigned int record_of(const struct reading *r, uint32_t type, uint32_t pid, uint32_t tid)
{
	unsigned int i = 0;

	while (i < r->nr && !(type_of(r->records[i]) == type && u32_of(r->records[i] + 8) == pid &&
			      u32_of(r->records[i] + (type == PERF_RECORD_FORK ? 16 : 12)) == tid))
		i++;
	return i;
}

static void test_threads(void)
{
	_cleanup_(capture_freep) struct capture *c = new_capture();
	_cleanup_(outfile_freep) struct outfile *f = NULL;
	_cleanup_(perf_data_freep) struct perf_data *d = NULL;
	unsigned int fork, comm;
	struct reading r;

	must(open_stream(c, in_dir("out"), &f, &d, NULL) == 0);
	sample_thread(d, 100, 77, 77, "a");
	sample_thread(d, 110, 77, 80, "a");
	sample_thread(d, 200, 77, 80, "a");
	sample_thread(d, 300, 78, 80, "b"); /* the TID again, in another process */
	sample_thread(d, 310, 78, 80, "b");
	must(perf_data_finish(d, 0, NULL) == 0 && outfile_commit(f, NULL) == 0);
	read_file(&r);
	fork = record_of(&r, PERF_RECORD_FORK, 77, 80);
	comm = record_of(&r, PERF_RECORD_COMM, 77, 80);
	ok(nr_of(&r, PERF_RECORD_FORK) == 2 && fork < comm && comm < r.nr &&
		   time_of(r.records[fork]) <= time_of(r.records[comm]),
	   "threads: a new thread has its fork, before its name");
	fork = record_of(&r, PERF_RECORD_FORK, 78, 80);
	ok(fork < r.nr && time_of(r.records[fork]) > 200 && time_of(r.records[fork]) <= 300,
	   "threads: a TID belongs to another process after its last sample in the one before");
	free(r.bytes);
}

/* The name that applies at that time. */
static const char *name_at(const struct reading *r, uint64_t time_ns)
{
	const char *best = NULL;

	for (unsigned int i = 0; i < r->nr; i++)
		if (type_of(r->records[i]) == PERF_RECORD_COMM &&
		    time_of(r->records[i]) <= time_ns &&
		    (!best || time_of(r->records[i]) >= time_of(best)))
			best = r->records[i];
	return best ? best + 16 : "";
}

static void test_late_name(void)
{
	_cleanup_(capture_freep) struct capture *c = new_capture();
	_cleanup_(outfile_freep) struct outfile *f = NULL;
	_cleanup_(perf_data_freep) struct perf_data *d = NULL;
	struct reading r;

	must(open_stream(c, in_dir("out"), &f, &d, NULL) == 0);
	sample_named(d, 100, "old");
	sample_named(d, 300, "new");
	sample_named(d, 400, "new");
	sample_named(d, 200, "old");
	sample_named(d, 350, "other"); /* and back: not likely, but it is a name of its time */
	sample_named(d, 500, "new");
	must(perf_data_finish(d, 0, NULL) == 0 && outfile_commit(f, NULL) == 0);
	read_file(&r);
	ok(!strcmp(name_at(&r, 100), "old") && !strcmp(name_at(&r, 200), "old") &&
		   !strcmp(name_at(&r, 300), "new") && !strcmp(name_at(&r, 350), "other") &&
		   !strcmp(name_at(&r, 400), "new") && !strcmp(name_at(&r, 500), "new"),
	   "names: a sample that comes late has the name of its own time, and no other is changed");
	free(r.bytes);
}

static void test_forgetting(void)
{
	struct known k = { 0 };
	struct known_key key = { .process = 1, .kind = KNOWN_PROCESS }, other;
	struct known_item *item;
	bool is_new;
	uint64_t serial;
	uint32_t most = 0;

	must(known_use(&k, &key, 5, &item, &is_new) == 0 && is_new);
	serial = item->serial;
	must(known_use(&k, &key, 4, &item, &is_new) == 0);
	ok(!is_new && item->serial == serial && item->used_ns == 5, "known: found again");
	for (uint32_t i = 0; i < 100000; i++) {
		other = (struct known_key){ .process = 2, .kind = KNOWN_THREAD, .number = i };
		must(known_use(&k, &other, i * MS, &item, &is_new) == 0 && is_new);
		known_forget(&k);
		most = k.nr_items > most ? k.nr_items : most;
	}
	ok(most < 25000, "known: what was not used for ten seconds is forgotten (at most %u)",
	   most);
	ok(!known_find(&k, &key) && known_find(&k, &other), "known: and what was, is not");
	must(known_use(&k, &key, 100000 * MS, &item, &is_new) == 0);
	ok(is_new && item->serial != serial,
	   "known: a process that comes back is another to a reader");
	known_done(&k);
}

static void test_full_disk(void)
{
	_cleanup_(capture_freep) struct capture *c = new_capture();
	_cleanup_(outfile_freep) struct outfile *f = NULL;
	_cleanup_(perf_data_freep) struct perf_data *d = NULL;
	struct rlimit before, small;
	struct pa_error err = { 0 };
	struct stat st;

	(void)unlink(in_dir("out"));
	must(getrlimit(RLIMIT_FSIZE, &before) == 0);
	small = (struct rlimit){ 100 << 10, before.rlim_max };
	must(open_stream(c, in_dir("out"), &f, &d, NULL) == 0);
	must(setrlimit(RLIMIT_FSIZE, &small) == 0);
	for (unsigned int i = 0; i < 4000; i++) {
		sample_at(c, 1000 + i, REPLAY_PARENT);
		must(capture_settle(c, false) == 0);
	}
	must(setrlimit(RLIMIT_FSIZE, &before) == 0);
	ok(perf_data_finish(d, 0, &err) == -EFBIG && err.text[0],
	   "full disk: the capture goes on, then: %s", err.text);
	ok(c->model->stats.nr_kept == 4000, "full disk: other outputs have all samples");
	f = outfile_free(f);
	ok(stat(in_dir("out"), &st) < 0 && errno == ENOENT, "full disk: no file is left");
}

static void test_no_regular_file(void)
{
	_cleanup_(capture_freep) struct capture *c = new_capture();
	_cleanup_(outfile_freep) struct outfile *f = NULL;
	_cleanup_(perf_data_freep) struct perf_data *d = NULL;
	struct pa_error err = { 0 };

	ok(open_stream(c, "/dev/full", &f, &d, &err) == -ESPIPE && strstr(err.text, "regular file"),
	   "a device is refused before the capture: %s", err.text);
}

int main(void)
{
	FILE *f;

	must(mkdtemp(directory));
	snprintf(kallsyms_path, sizeof(kallsyms_path), "%s/kallsyms", directory);
	f = fopen(kallsyms_path, "we");
	must(f &&
	     fputs("ffffffff81000000 T _stext\nffffffff81000000 T _text\n"
		   "ffffffff81000010 t a_text\nffffffff82000000 T _etext\n",
		   f) >= 0 &&
	     fclose(f) == 0);
	test_story();
	test_rounds();
	test_late_loss();
	test_late_exit();
	test_threads();
	test_late_name();
	test_forgetting();
	test_full_disk();
	test_no_regular_file();
	(void)unlink(kallsyms_path);
	(void)unlink(in_dir("out"));
	must(rmdir(directory) == 0);
	return tap_done();
}
