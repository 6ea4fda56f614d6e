/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/process.h"

#include <errno.h>

#include "base/array.h"
#include "base/bisect.h"

#define PROGRAM_SHIFT 40 /* process numbers stay below this */

static void history_add(struct history *h, struct process *p)
{
	if (p->is_in_past)
		return;
	p->is_in_past = true;
	p->prev = NULL;
	p->next = h->past;
	if (h->past)
		h->past->prev = p;
	h->past = p;
}

void history_remove(struct history *h, struct process *p)
{
	if (!p->is_in_past)
		return;
	if (p->prev)
		p->prev->next = p->next;
	else
		h->past = p->next;
	if (p->next)
		p->next->prev = p->prev;
	p->is_in_past = false;
}

struct process *process_new(pid_t pid, pid_t ppid, uint64_t time_ns)
{
	_cleanup_(freep) struct process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	if (ARRAY_RESERVE(p->versions, p->cap_versions, 1, TRACKER_MAX_VERSIONS) < 0)
		return NULL;
	p->pid = pid;
	p->ppid = ppid;
	p->start_ns = p->newest_ns = time_ns;
	p->end_ns = PROCESS_ALIVE;
	p->nr_to_check = TRACKER_CHECK_MAPPINGS;
	p->world = file_world_none();
	p->is_world_old = true;
	p->versions[0] = (struct version){ .from_ns = time_ns };
	p->nr_versions = 1;
	return TAKE(p);
}

void process_free(struct history *h, struct process *p)
{
	history_remove(h, p);
	for (uint32_t i = 0; i < p->nr_versions; i++)
		maptree_unref(&h->nodes, p->versions[i].root);
	free(p->versions);
	free(p);
}

uint64_t process_advance(struct process *p, uint64_t time_ns)
{
	if (time_ns > p->newest_ns)
		p->newest_ns = time_ns;
	return p->newest_ns;
}

void process_end(struct history *h, struct process *p, uint64_t time_ns)
{
	if (process_has_ended(p))
		return;
	p->end_ns = process_advance(p, time_ns);
	history_add(h, p);
}

/* ---- versions ---- */

static struct version *newest_version(const struct process *p)
{
	return &p->versions[p->nr_versions - 1];
}

struct maptree_node *process_current(const struct process *p)
{
	return newest_version(p)->root;
}

static void drop_versions(struct history *h, struct process *p, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		maptree_unref(&h->nodes, p->versions[i].root);
	p->nr_versions -= nr;
	memmove(p->versions, p->versions + nr, p->nr_versions * sizeof(*p->versions));
}

/* Ensures that the newest version begins at time_ns: the previous state is kept, and the two share
 * their tree until the new one changes. */
static int begin_version(struct history *h, struct process *p, uint64_t time_ns)
{
	struct version *v;
	int r;

	if (newest_version(p)->from_ns == time_ns)
		return 0; /* no earlier time will be looked up */
	if (p->nr_versions == TRACKER_MAX_VERSIONS) {
		drop_versions(h, p, TRACKER_MAX_VERSIONS / 2);
		h->nr_versions_dropped += TRACKER_MAX_VERSIONS / 2;
	}
	r = ARRAY_RESERVE(p->versions, p->cap_versions, p->nr_versions + 1, TRACKER_MAX_VERSIONS);
	if (r < 0)
		return r;
	v = newest_version(p);
	v[1] = (struct version){ .from_ns = time_ns,
				 .image = v->image,
				 .exec_ns = v->exec_ns,
				 .nr_execs = v->nr_execs,
				 .nr_jitdumps = v->nr_jitdumps,
				 .root = maptree_ref(v->root) };
	p->nr_versions++;
	history_add(h, p);
	return 0;
}

bool process_forget(struct history *h, struct process *p, uint64_t time_ns)
{
	uint32_t nr = 0;

	while (nr + 1 < p->nr_versions && p->versions[nr + 1].from_ns <= time_ns)
		nr++;
	drop_versions(h, p, nr);
	return p->nr_versions > 1;
}

/* ---- changes ---- */

/* /proc and the side-band may report different paths for one file: in a chroot, or after a rename.
 * */
static bool is_same_file(const struct mapping *a, const struct mapping *b)
{
	return a->kind == MAPPING_FILE ? a->content == b->content : a->file == b->file;
}

bool mapping_eq(const struct mapping *a, const struct mapping *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->kind == b->kind && is_same_file(a, b);
}

/* A mapping that is reported again, whole or in part, is the same code; and all code without a file
 * is equivalent, since none has a table. */
static bool shows_same_code(const struct mapping *a, const struct mapping *b)
{
	if (a->kind != MAPPING_FILE || b->kind != MAPPING_FILE)
		return a->kind == b->kind;
	return a->content == b->content && a->start - a->offset == b->start - b->offset;
}

static bool replaces_code(const struct maptree_node *root, const struct mapping *m)
{
	const struct mapping *there = maptree_at_or_after(root, m->start);

	for (; there && there->start < m->end; there = maptree_at_or_after(root, there->end))
		if (!shows_same_code(there, m))
			return true;
	return false;
}

int process_put(struct history *h, struct process *p, const struct mapping *m, uint64_t time_ns)
{
	const struct mapping *there = maptree_at_or_after(process_current(p), m->start);
	int r = 0;

	if (there && mapping_eq(there, m))
		return 0;
	/* A hole in the middle of a mapping leaves two. */
	if (maptree_nr(process_current(p)) + 2 > TRACKER_MAX_MAPPINGS)
		return -E2BIG;
	if (there && there->start < m->end)
		r = begin_version(h, p, time_ns);
	if (r < 0)
		return r;
	if (replaces_code(process_current(p), m))
		newest_version(p)->image = ++h->last_image;
	newest_version(p)->nr_jitdumps += m->is_jitdump;
	return maptree_put(&h->nodes, &newest_version(p)->root, m);
}

int process_remove(struct history *h, struct process *p, const struct mapping *m, uint64_t time_ns)
{
	int r = begin_version(h, p, time_ns);

	if (r < 0)
		return r;
	newest_version(p)->image = ++h->last_image;
	return maptree_remove(&h->nodes, &newest_version(p)->root, m->start, m->end);
}

int process_replace(struct history *h, struct process *p, uint64_t time_ns)
{
	int r = begin_version(h, p, time_ns);
	struct version *v = newest_version(p);

	if (r < 0)
		return r;
	maptree_unref(&h->nodes, v->root);
	v->root = NULL;
	v->image = ++h->last_image;
	v->exec_ns = time_ns;
	v->nr_execs++;
	v->nr_jitdumps = 0;
	p->program_ns = time_ns;
	p->is_world_old = true;
	return 0;
}

void process_share(struct process *child, const struct process *parent)
{
	newest_version(child)->root = maptree_ref(process_current(parent));
	newest_version(child)->image = parent->versions[parent->nr_versions - 1].image;
	child->origin_program = process_program(parent, UINT64_MAX);
	child->nr_to_check = parent->nr_to_check;
	child->world = parent->world;
	child->is_world_old = parent->is_world_old;
}

/* ---- queries ---- */

static const struct version *version_at(const struct process *p, uint64_t time_ns)
{
	uint32_t nr = BISECT(i, p->nr_versions, p->versions[i].from_ns <= time_ns);

	return nr ? &p->versions[nr - 1] : NULL;
}

uint64_t process_id(const struct process *p)
{
	return p->id;
}

static const struct version *version_or_first(const struct process *p, uint64_t time_ns)
{
	const struct version *v = version_at(p, time_ns);

	return v ? v : &p->versions[0];
}

uint64_t process_program(const struct process *p, uint64_t time_ns)
{
	return p->id + ((uint64_t)version_or_first(p, time_ns)->nr_execs << PROGRAM_SHIFT);
}

uint64_t process_exec_ns(const struct process *p, uint64_t time_ns)
{
	return version_or_first(p, time_ns)->exec_ns;
}

uint64_t process_image(const struct process *p, uint64_t time_ns)
{
	return version_or_first(p, time_ns)->image;
}

uint32_t process_nr_jitdumps(const struct process *p, uint64_t time_ns)
{
	return version_or_first(p, time_ns)->nr_jitdumps;
}

bool process_origin(const struct process *p, uint64_t time_ns, struct process_origin *ret_origin)
{
	if (!p->origin_program || version_or_first(p, time_ns)->nr_execs)
		return false;
	*ret_origin = (struct process_origin){ .program = p->origin_program,
					       .pid = p->ppid,
					       .fork_ns = p->start_ns };
	return true;
}

pid_t process_pid(const struct process *p)
{
	return p->pid;
}

pid_t process_parent(const struct process *p)
{
	return p->ppid;
}

const struct mapping *process_mapping(const struct process *p, uint64_t addr, uint64_t time_ns)
{
	const struct version *v = version_at(p, time_ns);
	const struct mapping *m = v ? maptree_at_or_after(v->root, addr) : NULL;

	return m && m->start <= addr && m->since_ns <= time_ns ? m : NULL;
}

const struct mapping *process_mapping_from(const struct process *p, uint64_t addr, uint64_t time_ns)
{
	const struct version *v = version_at(p, time_ns);

	return v ? maptree_at_or_after(v->root, addr) : NULL;
}

bool process_has_code_of(const struct process *p, uint64_t addr, uint64_t time_ns, uint64_t image)
{
	const struct mapping *m = process_mapping(p, addr, time_ns), *was = NULL;

	for (uint32_t i = p->nr_versions; i > 0 && !was; i--)
		if (p->versions[i - 1].image == image)
			was = maptree_at_or_after(p->versions[i - 1].root, addr);
	return m && was && was->start <= addr && shows_same_code(was, m);
}

bool process_is_over(const struct process *p)
{
	return process_has_ended(p);
}

uint64_t process_start_ns(const struct process *p)
{
	return p->start_ns;
}

uint64_t process_end_ns(const struct process *p)
{
	return p->end_ns;
}
