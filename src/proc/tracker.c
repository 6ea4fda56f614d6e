/* SPDX-License-Identifier: Apache-2.0 */
/* Which process has which PID, what /proc and the side-band report about it, and what is forgotten.
 * */
#include "proc/tracker.h"

#include <errno.h>

#include "base/array.h"
#include "base/clock.h"
#include "proc/file_world.h"
#include "proc/maptree.h"
#include "proc/memory_kind.h"
#include "proc/moved_text.h"
#include "proc/process.h"
#include "proc/procfs.h"

/* PIDs lead to processes through pages: no hash, and nothing to clean up when a process ends. */
#define PID_PAGE_BITS 12
#define PID_PAGE_SIZE (1u << PID_PAGE_BITS)
#define NR_PID_PAGES (TRACKER_MAX_PROCESSES >> PID_PAGE_BITS)

#define UPPER_HALF (1ull << 63)

#define EXEC_MAX_NS 1000000000ull  /* from the side-band's exec event to the end of the exec */
#define SCAN_HURRY_NS 200000000ull /* for a scan to finish after the user has asked to finish */

struct pid_page {
	struct process *newest[PID_PAGE_SIZE]; /* owned */
};

struct tracker {
	const struct procfs *procfs;              /* borrowed until tracker_free() */
	struct filestore *files;                  /* borrowed until tracker_free() */
	const struct code_recognizer *recognizer; /* borrowed likewise; NULL: none */
	struct memory_devices memory;
	struct moved_text_budget looks;
	struct history history;
	uint64_t last_id;
	uint64_t nr_bad_lines;
	uint32_t nr_processes;
	struct pid_page *pages[NR_PID_PAGES]; /* owned */
};

int tracker_new(const struct procfs *procfs, struct filestore *files, struct tracker **ret_tracker)
{
	struct tracker *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->procfs = procfs;
	t->files = files;
	memory_devices_init(&t->memory);
	moved_text_budget_init(&t->looks);
	t->history.nodes.files = files;
	*ret_tracker = t;
	return 0;
}

void tracker_set_recognizer(struct tracker *t, const struct code_recognizer *recognizer)
{
	t->recognizer = recognizer;
}

/* Returns the previous process with the PID. */
static struct process *drop_process(struct tracker *t, struct process *p)
{
	struct process *older = p->older;

	process_free(&t->history, p);
	t->nr_processes--;
	return older;
}

struct tracker *tracker_free(struct tracker *t)
{
	if (!t)
		return NULL;
	for (uint32_t i = 0; i < NR_PID_PAGES; i++) {
		for (uint32_t j = 0; t->pages[i] && j < PID_PAGE_SIZE; j++)
			for (struct process *p = t->pages[i]->newest[j]; p;)
				p = drop_process(t, p);
		free(t->pages[i]);
	}
	maptree_pool_done(&t->history.nodes);
	free(t);
	return NULL;
}

/* ---- processes by PID ---- */

static struct process **slot_of(const struct tracker *t, pid_t pid)
{
	struct pid_page *page;

	if (pid <= 0 || (uint32_t)pid >= TRACKER_MAX_PROCESSES)
		return NULL;
	page = t->pages[(uint32_t)pid >> PID_PAGE_BITS];
	return page ? &page->newest[(uint32_t)pid % PID_PAGE_SIZE] : NULL;
}

static struct process *newest_of(const struct tracker *t, pid_t pid)
{
	struct process **slot = slot_of(t, pid);

	return slot ? *slot : NULL;
}

static int make_slot(struct tracker *t, pid_t pid, struct process ***ret_slot)
{
	struct pid_page **page;

	if (pid <= 0 || (uint32_t)pid >= TRACKER_MAX_PROCESSES)
		return -EINVAL;
	page = &t->pages[(uint32_t)pid >> PID_PAGE_BITS];
	if (!*page)
		*page = calloc(1, sizeof(**page));
	if (!*page)
		return -ENOMEM;
	*ret_slot = slot_of(t, pid);
	return 0;
}

/* Ends the previous process with this PID. */
static int add_process(struct tracker *t, uint64_t time_ns, pid_t pid, pid_t ppid,
		       struct process **ret_process)
{
	struct process **slot, *p;
	int r = make_slot(t, pid, &slot);

	if (r < 0)
		return r;
	if (t->nr_processes >= TRACKER_MAX_PROCESSES)
		return -E2BIG;
	if (*slot && time_ns < (*slot)->newest_ns)
		time_ns = (*slot)->newest_ns;
	p = process_new(pid, ppid, time_ns);
	if (!p)
		return -ENOMEM;
	if (*slot)
		process_end(&t->history, *slot, time_ns);
	p->id = ++t->last_id;
	p->versions[0].image = ++t->history.last_image;
	t->nr_processes++;
	p->older = *slot;
	*slot = p;
	*ret_process = p;
	return 0;
}

/* Adds a process that existed before we looked: since the beginning, or since the end of the
 * previous process with that PID. */
static int add_found(struct tracker *t, uint64_t time_ns, pid_t pid, pid_t ppid,
		     struct process **ret_process)
{
	struct process *before = newest_of(t, pid);
	uint64_t since_ns = 0;

	if (before)
		since_ns = process_has_ended(before) ? before->end_ns : time_ns;
	return add_process(t, since_ns, pid, ppid, ret_process);
}

/* ---- mappings ---- */

static bool has_prefix(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

/* ".../jit-<number>.dump" */
static bool is_jitdump_path(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t digits;

	if (!has_prefix(name, "jit-"))
		return false;
	digits = strspn(name + 4, "0123456789");
	return digits && strcmp(name + 4 + digits, ".dump") == 0;
}

/* An event reports that memory has become executable: its contents are complete by then. Memory of
 * files is not read, because the file's server may not answer. */
static void recognize_code(const struct tracker *t, const struct mmap_event *e, struct mapping *m)
{
	const struct code_recognizer *known = t->recognizer;
	uint8_t code[CODE_LOOK_MAX_BYTES];
	ssize_t n;
	int number;

	if (!known || m->kind != MAPPING_ANON || !memory_has_no_file(&e->key) ||
	    (m->end - m->start) % known->size_unit)
		return;
	n = procfs_read_mem(t->procfs, e->pid, m->start, code, known->look_bytes);
	number = n < 0 ? -1 : known->find(code, (size_t)n);
	if (number < 0)
		return;
	m->kind = MAPPING_KNOWN;
	m->file = (uint32_t)number;
}

/* A container has its own /dev/zero. */
static bool is_zero_device(const struct file *f)
{
	return f->open_error == ENODEV && strcmp(f->path, "/dev/zero") == 0;
}

/* ---- moved code ---- */

/* What was mapped where an anonymous mapping is now, or what is next to it. */
static void note_origin(struct mapping *m, const struct mapping *other)
{
	if (m->kind != MAPPING_ANON || m->has_inode ||
	    (other->kind != MAPPING_FILE && !other->has_origin))
		return;
	m->has_origin = true;
	m->origin_file = other->kind == MAPPING_FILE ? other->file : other->origin_file;
	m->origin_bias = other->kind == MAPPING_FILE ? other->offset - other->start
						     : other->origin_bias;
}

static void look_at_moved_text(struct tracker *t, pid_t pid, uint32_t *nr_looks, struct mapping *m)
{
	const struct file *f = m->has_origin ? filestore_get(t->files, m->origin_file) : NULL;

	if (!f || !moved_text_may_look(&t->looks, nr_looks) ||
	    !moved_text_is_of_file(t->procfs, pid, m->start, m->end, f, m->start + m->origin_bias))
		return;
	m->kind = MAPPING_FILE;
	m->file = m->origin_file;
	m->content = f->content;
	m->offset = m->start + m->origin_bias;
	m->has_origin = false;
}

/* Searches for moved code among what the process had mapped there before. Bytes that are not copied
 * yet are checked again when the process makes them read-only, which is another event. */
static void find_moved_text(struct tracker *t, const struct process *p, uint32_t *nr_looks,
			    struct mapping *m)
{
	const struct mapping *before = p && m->kind == MAPPING_ANON
					       ? maptree_at_or_after(process_current(p), m->start)
					       : NULL;

	if (!before || before->start > m->start || before->end < m->end)
		return;
	note_origin(m, before);
	look_at_moved_text(t, p->pid, nr_looks, m);
}

/* Opens or finds the file. An anonymous mapping has the offset of its address in the side-band and
 * 0 in /proc: it is dropped, so that the two agree. */
static int describe_mapping(struct tracker *t, const struct mmap_event *e, pid_t ppid,
			    struct file_world in, struct mapping *ret_mapping)
{
	struct file_hint hint = { .pid = e->pid,
				  .ppid = ppid,
				  .start = e->start,
				  .end = e->end,
				  .root = in.root,
				  .payer = in.payer };
	struct mapping m = { .start = e->start,
			     .end = e->end,
			     .since_ns = e->time_ns,
			     .kind = memory_kind(&t->memory, &e->key, e->path),
			     .has_inode = !memory_has_no_file(&e->key) };
	int r;

	if (m.kind == MAPPING_FILE) {
		r = filestore_add(t->files, &e->key, e->path, NULL, &hint, &m.file);
		if (r < 0 && r != -EDQUOT)
			return r;
		if (r == -EDQUOT)
			m.kind = MAPPING_OTHER;
	}
	if (m.kind == MAPPING_FILE) {
		m.offset = e->offset;
		m.content = filestore_get(t->files, m.file)->content;
		m.is_jitdump = is_jitdump_path(filestore_get(t->files, m.file)->path);
		if (is_zero_device(filestore_get(t->files, m.file)))
			m = (struct mapping){ .start = e->start,
					      .end = e->end,
					      .since_ns = e->time_ns,
					      .kind = MAPPING_ANON,
					      .has_inode = true };
	}
	recognize_code(t, e, &m);
	*ret_mapping = m;
	return 0;
}

/* The world of a process: looked up once per program, not per mapping. */
static struct file_world world_of(struct tracker *t, struct process *p, uint64_t time_ns)
{
	if (p->is_world_old)
		p->world = file_world_find(t->files, p->pid, p->ppid, time_ns, p->world);
	p->is_world_old = false;
	return p->world;
}

/* ---- /proc ---- */

struct scan {
	struct tracker *t;
	uint64_t time_ns;
	pid_t pid;
	struct proc_stat stat;
	const struct process *known; /* the process that has the PID, if known before; or NULL */
	struct file_world world;
	bool has_world;
	struct mapping *found; /* owned; by address, disjoint */
	uint32_t nr_found, cap_found;
	uint32_t nr_looks; /* checks of this process for moved code */
	uint64_t hurry_ns; /* when the request to finish was first noticed; 0: not requested */
	int error;         /* the first limit that was reached; the rest is still used */
};

static void scan_done(struct scan *s)
{
	free(s->found);
}

/* Kernel threads, and processes without mappings, are not asked for theirs. */
static struct file_world scan_world(struct scan *s)
{
	if (!s->has_world)
		s->world = file_world_find(s->t->files, s->pid, s->stat.ppid, UINT64_MAX,
					   s->known ? s->known->world : file_world_none());
	s->has_world = true;
	return s->world;
}

/* True if the user has asked to finish some time ago: tens of thousands of mappings take
 * seconds. */
static bool is_too_late(struct scan *s)
{
	uint64_t now_ns;

	if (!procfs_is_in_a_hurry(s->t->procfs))
		return false;
	now_ns = clock_mono_ns();
	if (!s->hurry_ns)
		s->hurry_ns = now_ns;
	return now_ns - s->hurry_ns > SCAN_HURRY_NS;
}

static int scan_entry(void *ctx, const struct maps_entry *e)
{
	struct scan *s = ctx;
	struct mmap_event event = {
		.time_ns = s->time_ns,
		.pid = s->pid,
		.start = e->start,
		.end = e->end,
		.offset = e->offset,
		.key = { .major = e->major, .minor = e->minor, .inode = e->inode },
		.path = e->path
	};
	struct file_world in;
	struct mapping m;
	int r;

	if (!e->is_exec || e->end > UPPER_HALF)
		return 0;
	if (is_too_late(s))
		return -ECANCELED;
	if (s->nr_found && e->start < s->found[s->nr_found - 1].end)
		/* the text about a process that changes at the same time is not consistent */
		return 0;
	in = scan_world(s);
	in.root = filestore_place(s->t->files, in.root, &event.path);
	r = ARRAY_RESERVE(s->found, s->cap_found, s->nr_found + 1, TRACKER_MAX_MAPPINGS);
	if (r == 0)
		r = describe_mapping(s->t, &event, s->stat.ppid, in, &m);
	if (r == -E2BIG)
		s->error = r;
	else if (r == 0)
		s->found[s->nr_found++] = m;
	return r == -E2BIG ? 0 : r;
}

/* Reads nothing if the first thread has exited before the others. */
static int read_maps(struct scan *s)
{
	pid_t thread;
	int r = procfs_maps(s->t->procfs, s->pid, scan_entry, s, &s->t->nr_bad_lines);

	if (r < 0 || s->nr_found)
		return r;
	thread = procfs_live_thread(s->t->procfs, s->pid);
	if (!thread)
		return 0;
	s->pid = thread;
	return procfs_maps(s->t->procfs, thread, scan_entry, s, &s->t->nr_bad_lines);
}

/* A process that moved its code before it was watched has moved part of it: the rest of the file's
 * mapping is next to it. */
static void find_all_moved_text(struct scan *s)
{
	for (uint32_t i = 0; i < s->nr_found; i++) {
		struct mapping *m = &s->found[i];

		find_moved_text(s->t, s->known, &s->nr_looks, m);
		if (m->kind != MAPPING_ANON || m->has_origin)
			continue; /* found already, or checked already */
		if (i && m->start == m[-1].end)
			note_origin(m, &m[-1]);
		else if (i + 1 < s->nr_found && m->end == m[1].start)
			note_origin(m, &m[1]);
		look_at_moved_text(s->t, s->pid, &s->nr_looks, m);
	}
}

static bool is_another(const struct process *p, const struct proc_stat *st)
{
	if (p->start_ticks && st->start_ticks)
		return p->start_ticks != st->start_ticks;
	return process_has_ended(p);
}

/* Removes mappings that were not found again. */
static int remove_vanished(struct scan *s, struct process *p, uint64_t time_ns)
{
	struct maptree_node *before = maptree_ref(process_current(p));
	const struct mapping *m = maptree_at_or_after(before, 0);
	uint32_t i = 0;
	int r = 0;

	for (; m && r == 0; m = maptree_at_or_after(before, m->end)) {
		while (i < s->nr_found && s->found[i].start < m->start)
			i++;
		if (i < s->nr_found && mapping_eq(&s->found[i], m))
			continue;
		r = process_remove(&s->t->history, p, m, time_ns);
	}
	maptree_unref(&s->t->history.nodes, before);
	return r;
}

static int apply_scan(struct scan *s, struct process *p)
{
	uint64_t time_ns = process_advance(p, s->time_ns);
	/* If nothing is known of an image, what is found has been there since it began. */
	uint64_t since_ns = process_current(p) ? time_ns : p->versions[p->nr_versions - 1].from_ns;
	int r;

	r = remove_vanished(s, p, time_ns);
	for (uint32_t i = 0; i < s->nr_found && r == 0; i++) {
		s->found[i].since_ns = since_ns;
		r = process_put(&s->t->history, p, &s->found[i], time_ns);
	}
	return r < 0 ? r : s->error;
}

int tracker_scan(struct tracker *t, uint64_t time_ns, pid_t pid)
{
	_cleanup_(scan_done) struct scan s = { .t = t, .time_ns = time_ns, .pid = pid };
	struct process *p = newest_of(t, pid);
	int r;

	(void)procfs_stat(t->procfs, pid, &s.stat); /* without it there is less to compare */
	s.known = p && !is_another(p, &s.stat) ? p : NULL;
	s.nr_looks = s.known ? s.known->nr_looks : 0;
	r = read_maps(&s);
	if (r < 0)
		return r;
	find_all_moved_text(&s);
	if (!s.known) {
		r = add_found(t, time_ns, pid, s.stat.ppid, &p);
		if (r < 0)
			return r;
	}
	p->nr_looks = s.nr_looks;
	if (s.stat.start_ticks)
		p->start_ticks = s.stat.start_ticks;
	if (s.has_world) {
		p->world = s.world;
		p->is_world_old = false;
	}
	if (s.nr_found == 0)
		return s.error;
	p->end_ns = PROCESS_ALIVE;
	p->program_ns = time_ns;
	return apply_scan(&s, p);
}

/* ---- events ---- */

static bool is_fatal(int r)
{
	return r == -ENOMEM || r == -E2BIG || r == -EINVAL;
}

int tracker_fork(struct tracker *t, uint64_t time_ns, pid_t pid, pid_t ppid)
{
	struct process *parent = newest_of(t, ppid), *child;
	int r;

	if (pid == ppid)
		return -EINVAL;
	if (!parent && ppid > 0) {
		r = tracker_scan(t, time_ns, ppid);
		if (is_fatal(r))
			return r;
		parent = newest_of(t, ppid);
	}
	r = add_process(t, time_ns, pid, ppid, &child);
	if (r < 0)
		return r;
	if (parent) {
		process_share(child, parent);
		return 0;
	}
	r = tracker_scan(t, time_ns, pid);
	return is_fatal(r) ? r : 0;
}

/* The process of an exec: also one whose first thread has exited, if another of its threads did it.
 * */
static int find_for_exec(struct tracker *t, uint64_t time_ns, pid_t pid,
			 struct process **ret_process)
{
	struct process *p = newest_of(t, pid);
	struct proc_stat st = { 0 };

	if (p && !process_has_ended(p)) {
		*ret_process = p;
		return 0;
	}
	(void)procfs_stat(t->procfs, pid, &st); /* it may already be gone */
	if (!p || (p->start_ticks && st.start_ticks && p->start_ticks != st.start_ticks))
		return add_found(t, time_ns, pid, st.ppid, ret_process);
	p->end_ns = PROCESS_ALIVE;
	*ret_process = p;
	return 0;
}

int tracker_exec(struct tracker *t, uint64_t time_ns, pid_t pid)
{
	struct process *p;
	int r = find_for_exec(t, time_ns, pid, &p);

	if (r < 0)
		return r;
	return process_replace(&t->history, p, process_advance(p, time_ns));
}

int tracker_exec_heard(struct tracker *t, uint64_t time_ns, pid_t pid)
{
	struct process *p = newest_of(t, pid);
	int r;

	if (!p || p->program_ns + EXEC_MAX_NS >= time_ns)
		return 0;
	r = tracker_exec(t, time_ns, pid);
	if (r == 0)
		r = tracker_scan(t, time_ns, pid);
	return is_fatal(r) ? r : 1;
}

int tracker_exit(struct tracker *t, uint64_t time_ns, pid_t pid)
{
	struct process *p = newest_of(t, pid);

	if (p)
		process_end(&t->history, p, time_ns);
	return 0;
}

/* The process of a mapping, looked up or created if necessary. */
static int find_for_mmap(struct tracker *t, uint64_t time_ns, pid_t pid,
			 struct process **ret_process)
{
	struct process *p = newest_of(t, pid);
	int r;

	if (!p || (process_has_ended(p) && time_ns > p->end_ns)) {
		r = tracker_scan(t, time_ns, pid);
		if (is_fatal(r))
			return r;
		p = newest_of(t, pid);
		if (r < 0)
			return add_found(t, time_ns, pid, 0, ret_process);
	}
	*ret_process = p;
	return 0;
}

/* There is no event for munmap. A process that maps at ever new addresses is compared with /proc
 * each time it seems to have twice as many mappings as it really had before. */
static int drop_unmapped(struct tracker *t, struct process *p, uint64_t time_ns)
{
	uint32_t nr_left;
	int r;

	if (maptree_nr(process_current(p)) < p->nr_to_check)
		return 0;
	r = tracker_scan(t, time_ns, p->pid);
	nr_left = maptree_nr(process_current(p));
	p->nr_to_check = nr_left > TRACKER_CHECK_MAPPINGS / 2 ? 2 * nr_left
							      : TRACKER_CHECK_MAPPINGS;
	return is_fatal(r) ? r : 0;
}

int tracker_mmap(struct tracker *t, const struct mmap_event *e)
{
	struct process *p;
	struct mapping m;
	int r;

	if (e->start >= e->end)
		return -EINVAL;
	if (e->end > UPPER_HALF)
		return 0;
	r = find_for_mmap(t, e->time_ns, e->pid, &p);
	if (r == 0)
		r = describe_mapping(t, e, p->ppid, world_of(t, p, e->time_ns), &m);
	if (r < 0)
		return r;
	find_moved_text(t, p, &p->nr_looks, &m);
	m.since_ns = process_advance(p, e->time_ns);
	r = process_put(&t->history, p, &m, m.since_ns);
	return r < 0 ? r : drop_unmapped(t, p, m.since_ns);
}

int tracker_build_id(struct tracker *t, pid_t pid, uint64_t start, const struct build_id *id)
{
	struct process *p = newest_of(t, pid);
	const struct mapping *m = p ? maptree_at_or_after(process_current(p), start) : NULL;
	struct file_hint hint;

	if (!m || m->start != start || m->kind != MAPPING_FILE)
		return -ENOENT;
	hint = (struct file_hint){ .pid = pid,
				   .ppid = p->ppid,
				   .start = m->start,
				   .end = m->end,
				   .root = p->world.root,
				   .payer = p->world.payer };
	return filestore_set_build_id(t->files, m->file, id, &hint);
}

/* ---- queries ---- */

const struct process *tracker_find(const struct tracker *t, pid_t pid, uint64_t time_ns)
{
	const struct process *p = newest_of(t, pid);

	while (p && p->start_ns > time_ns)
		p = p->older;
	return p;
}

/* ---- history ---- */

static void unlink_process(struct tracker *t, struct process *p)
{
	struct process **link = slot_of(t, p->pid);

	while (*link != p)
		link = &(*link)->older;
	*link = drop_process(t, p);
}

void tracker_forget(struct tracker *t, uint64_t time_ns)
{
	for (struct process *p = t->history.past, *next; p; p = next) {
		next = p->next;
		if (p->end_ns < time_ns)
			unlink_process(t, p);
		else if (!process_forget(&t->history, p, time_ns) && !process_has_ended(p))
			history_remove(&t->history, p);
	}
}

uint32_t tracker_nr_processes(const struct tracker *t)
{
	return t->nr_processes;
}

uint32_t tracker_nr_mappings(const struct tracker *t)
{
	return t->history.nodes.nr_used;
}

struct tracker_losses tracker_losses(const struct tracker *t)
{
	return (struct tracker_losses){ .nr_bad_lines = t->nr_bad_lines,
					.nr_versions = t->history.nr_versions_dropped };
}
