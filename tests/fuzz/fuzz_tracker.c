/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random events against a tracker, and against a model of it that is too simple to be wrong: a flat
 * list of what was mapped from when to when. Both must give the same answer for every process,
 * address and time that may still be asked about.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc/procfs.h"
#include "proc/roots.h"
#include "proc/tracker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NR_PIDS 4
#define NR_PAGES 24
#define PAGE 0x1000ull
#define MAX_EVENTS 48
#define MAX_FACTS (2 * MAX_EVENTS) /* of one page: one event makes at most one, or one per copy */
#define MAX_PROCS (MAX_EVENTS * 2)
#define NEVER UINT64_MAX

/* One page of one process: file page `page` of `file` from from_ns to until_ns. */
struct fact {
	uint32_t proc, file;
	uint64_t page, from_ns, until_ns, since_ns;
};

struct model_proc {
	int pid;
	uint64_t start_ns, end_ns, newest_ns;
};

struct model {
	struct fact facts[NR_PAGES][MAX_FACTS];
	uint32_t nr_facts[NR_PAGES];
	struct model_proc procs[MAX_PROCS];
	uint32_t nr_procs;
	uint64_t forgotten_ns;
};

static void require(bool is_true)
{
	if (!is_true)
		abort();
}

static int model_newest(const struct model *m, int pid)
{
	for (int i = (int)m->nr_procs - 1; i >= 0; i--)
		if (m->procs[i].pid == pid &&
		    (m->procs[i].end_ns >= m->forgotten_ns || m->procs[i].end_ns == NEVER))
			return i;
	return -1;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static int model_add_proc(struct model *m, int pid, uint64_t time)
{
	int before = model_newest(m, pid);

	if (before >= 0) {
		time = later(time, m->procs[before].newest_ns);
		m->procs[before].newest_ns = time;
		if (m->procs[before].end_ns == NEVER)
			m->procs[before].end_ns = time;
	}
	require(m->nr_procs < MAX_PROCS);
	m->procs[m->nr_procs] = (struct model_proc){ pid, time, NEVER, time };
	return (int)m->nr_procs++;
}

static uint64_t model_advance(struct model *m, int proc, uint64_t time)
{
	m->procs[proc].newest_ns = later(m->procs[proc].newest_ns, time);
	return m->procs[proc].newest_ns;
}

static struct fact *model_fact(struct model *m, uint32_t proc, uint32_t at)
{
	for (uint32_t i = 0; i < m->nr_facts[at]; i++)
		if (m->facts[at][i].proc == proc && m->facts[at][i].until_ns == NEVER)
			return &m->facts[at][i];
	return NULL;
}

static void model_push(struct model *m, uint32_t at, struct fact f)
{
	require(m->nr_facts[at] < MAX_FACTS);
	m->facts[at][m->nr_facts[at]++] = f;
}

static void model_fork(struct model *m, uint64_t time, int pid, int ppid)
{
	int parent = model_newest(m, ppid), child = model_add_proc(m, pid, time);

	for (uint32_t at = 0; at < NR_PAGES && parent >= 0; at++) {
		const struct fact *have = model_fact(m, (uint32_t)parent, at);
		struct fact f;

		if (!have)
			continue;
		f = *have;
		f.proc = (uint32_t)child;
		f.from_ns = m->procs[child].start_ns;
		model_push(m, at, f);
	}
}

/* Unknown, or exited before: one that was there since the other ended. */
static int model_found(struct model *m, int pid)
{
	int before = model_newest(m, pid);

	return model_add_proc(m, pid, before >= 0 ? m->procs[before].end_ns : 0);
}

static void model_exec(struct model *m, uint64_t time, int pid)
{
	int p = model_newest(m, pid);

	if (p < 0)
		p = model_found(m, pid);
	m->procs[p].end_ns = NEVER;
	time = model_advance(m, p, time);
	for (uint32_t at = 0; at < NR_PAGES; at++) {
		struct fact *f = model_fact(m, (uint32_t)p, at);

		if (f)
			f->until_ns = time;
	}
}

static void model_exit(struct model *m, uint64_t time, int pid)
{
	int p = model_newest(m, pid);

	if (p >= 0 && m->procs[p].end_ns == NEVER)
		m->procs[p].end_ns = model_advance(m, p, time);
}

/* The very same mapping again changes nothing: not even a page of it is younger then. */
static bool model_has(struct model *m, int p, uint32_t first, uint32_t nr, uint32_t file)
{
	uint64_t since = 0;

	for (uint32_t i = 0; i < nr; i++) {
		struct fact *f = model_fact(m, (uint32_t)p, first + i);

		if (!f || f->file != file || f->page != i || (i && f->since_ns != since))
			return false;
		since = f->since_ns;
	}
	return true;
}

static void model_mmap(struct model *m, uint64_t time, int pid, uint32_t first, uint32_t nr,
		       uint32_t file, bool is_known)
{
	int p = model_newest(m, pid);

	if (p < 0 || (m->procs[p].end_ns != NEVER && time > m->procs[p].end_ns))
		p = model_found(m, pid);
	time = model_advance(m, p, time);
	if (is_known)
		return;
	for (uint32_t i = 0; i < nr; i++) {
		struct fact *old = model_fact(m, (uint32_t)p, first + i);

		if (old)
			old->until_ns = time;
		model_push(m, first + i,
			   (struct fact){ .proc = (uint32_t)p,
					  .file = file,
					  .page = i,
					  .from_ns = time,
					  .until_ns = NEVER,
					  .since_ns = time });
	}
}

/* ---- comparison ---- */

static const struct fact *model_ask(const struct model *m, int proc, uint32_t at, uint64_t time)
{
	for (uint32_t i = 0; i < m->nr_facts[at]; i++) {
		const struct fact *f = &m->facts[at][i];

		if (f->proc == (uint32_t)proc && f->from_ns <= time && time < f->until_ns &&
		    f->since_ns <= time)
			return f;
	}
	return NULL;
}

static int model_find(const struct model *m, int pid, uint64_t time)
{
	for (int i = (int)m->nr_procs - 1; i >= 0; i--)
		if (m->procs[i].pid == pid && m->procs[i].start_ns <= time &&
		    (m->procs[i].end_ns >= m->forgotten_ns || m->procs[i].end_ns == NEVER))
			return i;
	return -1;
}

static void compare_at(const struct tracker *t, const struct model *m, int pid, uint64_t time)
{
	const struct process *p = tracker_find(t, pid, time);
	int q = model_find(m, pid, time);

	require((p != NULL) == (q >= 0));
	for (uint32_t at = 0; p && at < NR_PAGES; at++) {
		const struct mapping *map = process_mapping(p, at * PAGE + 5, time);
		const struct fact *f = model_ask(m, q, at, time);

		require((map != NULL) == (f != NULL));
		if (!map)
			continue;
		require(map->start <= at * PAGE && at * PAGE < map->end);
		require(map->file == f->file && map->since_ns == f->since_ns);
		require(map->offset + at * PAGE - map->start == f->page * PAGE);
	}
}

static void compare(const struct tracker *t, const struct model *m, uint64_t newest)
{
	uint64_t from = m->forgotten_ns;

	for (int pid = 1; pid <= NR_PIDS; pid++)
		for (uint64_t time = from; time <= newest + 1; time++)
			compare_at(t, m, pid, time);
}

/* ---- events ---- */

struct bytes {
	const uint8_t *at, *end;
};

static uint32_t take(struct bytes *b)
{
	return b->at < b->end ? *b->at++ : 0;
}

static uint32_t add_file(struct filestore *files, uint32_t nr, struct mmap_event *e, char path[16])
{
	struct file_hint hint = { .pid = 1, .root = ROOT_UNKNOWN };
	uint32_t id;

	snprintf(path, 16, "/fuzz.%u/no", nr);
	e->key = (struct file_key){ .minor = 9, .inode = nr + 1, .has_generation = true };
	e->path = path;
	require(filestore_add(files, &e->key, path, NULL, &hint, &id) == 0);
	return id;
}

/* Whether the tracker has exactly this mapping: its own borders count, so it is asked. */
static bool is_known(const struct tracker *t, const struct mmap_event *e, uint32_t file)
{
	const struct process *p = tracker_find(t, e->pid, NEVER);
	const struct mapping *m = p ? process_mapping(p, e->start, NEVER) : NULL;

	return m && m->start == e->start && m->end == e->end && m->offset == 0 && m->file == file;
}

static void do_mmap(struct tracker *t, struct filestore *files, struct model *m, struct bytes *b,
		    uint64_t time, int pid)
{
	uint32_t first = take(b) % NR_PAGES, nr = 1 + take(b) % (NR_PAGES - first);
	struct mmap_event e = {
		.time_ns = time, .pid = pid, .start = first * PAGE, .end = (first + nr) * PAGE
	};
	char path[16];
	uint32_t file = add_file(files, take(b) % 3, &e, path);
	int p = model_newest(m, pid);
	bool has_ended = p >= 0 && m->procs[p].end_ns != NEVER && time > m->procs[p].end_ns;
	bool known = !has_ended && is_known(t, &e, file);

	require(!known || model_has(m, p, first, nr, file));
	require(tracker_mmap(t, &e) == 0);
	model_mmap(m, time, pid, first, nr, file, known);
}

static void do_event(struct tracker *t, struct filestore *files, struct model *m, struct bytes *b,
		     uint64_t *now)
{
	uint32_t op = take(b), step = take(b);
	int pid = 1 + (int)(op >> 3) % NR_PIDS, other = 1 + pid % NR_PIDS;
	uint64_t time = *now + step % 4;

	if (step & 0x80 && time > 2)
		time -= 2; /* came late */
	*now = later(*now, time);
	switch (op % 8) {
	case 0:
		require(tracker_fork(t, time, pid, other) == 0);
		model_fork(m, time, pid, other);
		break;
	case 1:
		require(tracker_exec(t, time, pid) == 0);
		model_exec(m, time, pid);
		break;
	case 2:
		require(tracker_exit(t, time, pid) == 0);
		model_exit(m, time, pid);
		break;
	case 3:
		if (step % 16 == 0) {
			m->forgotten_ns = later(m->forgotten_ns, time);
			tracker_forget(t, time);
			break;
		}
		/* fall through */
	default:
		do_mmap(t, files, m, b, time, pid);
	}
}

static int open_empty_procfs(struct procfs *ret_procfs)
{
	char dir[] = "/tmp/fuzz_tracker_XXXXXX";
	int r;

	if (!mkdtemp(dir))
		return -1;
	r = procfs_open(dir, ret_procfs);
	(void)rmdir(dir); /* stays usable, and stays empty */
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = { data, data + size };
	struct model *m = calloc(1, sizeof(*m));
	struct filestore *files;
	struct tracker *t;
	struct procfs procfs;
	uint64_t now = 1;

	require(m && open_empty_procfs(&procfs) == 0);
	require(filestore_new(&procfs, 4, &files) == 0 && tracker_new(&procfs, files, &t) == 0);
	for (int i = 0; i < MAX_EVENTS && b.at < b.end; i++)
		do_event(t, files, m, &b, &now);
	compare(t, m, now);
	tracker_free(t);
	filestore_free(files);
	procfs_close(&procfs);
	free(m);
	return 0;
}
