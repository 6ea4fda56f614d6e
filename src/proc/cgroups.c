/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/cgroups.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/idtable.h"
#include "proc/cgroup_mount.h"
#include "proc/cgroup_path.h"
#include "proc/procfs.h"

#define TEXT_MAX_BYTES (64u << 10) /* of /proc/<pid>/cgroup */
#define MAX_IDS (1u << 17)
#define ELLIPSIS "…" /* ends a path that is longer than CGROUP_PATH_BYTES */
#define INITIAL_NAMESPACE "cgroup:[4026531835]" /* the kernel's PROC_CGROUP_INIT_INO */

struct item {
	struct cgroup pub;
	struct cgroup_identity identity;
	char path[]; /* NUL-terminated */
};

struct known_id {
	uint64_t id;
	uint32_t number;
};

struct cgroups {
	const struct procfs *procfs; /* borrowed */
	struct cgroups_config cfg;
	struct cgroup_identity own; /* of the agent itself */
	bool is_in_namespace;       /* the agent has a cgroup namespace of its own */
	bool has_v1;
	struct cgroup_mount mount;
	struct item **items; /* owned, by number */
	struct known_id *ids;
	uint32_t nr, cap_items, nr_ids, cap_ids;
	size_t text_bytes;
	struct idtable path_index, id_index;
	uint64_t seed; /* of the hashes of paths */
	uint64_t nr_beyond;
};

struct cgroups *cgroups_free(struct cgroups *c)
{
	if (!c)
		return NULL;
	for (uint32_t i = 0; i < c->nr; i++)
		free(c->items[i]);
	free(c->items);
	free(c->ids);
	idtable_done(&c->path_index);
	idtable_done(&c->id_index);
	cgroup_mount_done(&c->mount);
	free(c);
	return NULL;
}

static bool is_in_namespace(const struct procfs *p)
{
	char path[64], link[64];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%d/ns/cgroup", (int)getpid());
	n = readlinkat(p->fd, path, link, sizeof(link));
	return n > 0 && ((size_t)n != strlen(INITIAL_NAMESPACE) ||
			 memcmp(link, INITIAL_NAMESPACE, (size_t)n) != 0);
}

static int read_text(const struct cgroups *c, pid_t tid, struct buf *to,
		     struct cgroup_text *ret_text)
{
	int r = procfs_read(c->procfs, tid, "cgroup", TEXT_MAX_BYTES, to);

	if (r < 0)
		return r;
	return to->len && cgroup_text_parse(to->data, to->len, ret_text) ? 0 : -EBADMSG;
}

/* Who the agent is. If it cannot be known, every process is read, and none is of its pod. */
static void look_at_self(struct cgroups *c)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(TEXT_MAX_BYTES);
	struct cgroup_text t;

	c->has_v1 = true;
	if (read_text(c, getpid(), &text, &t) < 0)
		return;
	c->has_v1 = t.has_v1;
	c->is_in_namespace = is_in_namespace(c->procfs);
	cgroup_identify(t.path, t.len, &c->own);
}

int cgroups_new(const struct procfs *p, const struct cgroups_config *cfg,
		struct cgroups **ret_cgroups)
{
	struct cgroups *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->procfs = p;
	c->cfg = *cfg;
	if (!c->cfg.max_text_bytes)
		c->cfg.max_text_bytes = CGROUPS_MAX_TEXT;
	c->seed = hash_new_seed(c);
	look_at_self(c);
	cgroup_mount_open(&c->mount);
	*ret_cgroups = c;
	return 0;
}

struct cgroups_stats cgroups_stats(const struct cgroups *c)
{
	return (struct cgroups_stats){ c->nr, c->nr_beyond };
}

/* ---- a new cgroup ---- */

static bool is_same(const char *a, const char *b)
{
	return a[0] && strcmp(a, b) == 0;
}

static void name_own(const struct cgroups *c, struct item *of, enum cgroup_kin kin)
{
	const struct own_pod *own = &c->cfg.own_pod;
	bool is_container = is_same(c->own.container_id, of->identity.container_id) ||
			    (c->is_in_namespace && kin == CGROUP_OWN);
	bool is_pod = is_container || is_same(c->own.pod_uid, of->identity.pod_uid) ||
		      (c->is_in_namespace && kin == CGROUP_SIBLING);

	if (is_container)
		of->pub.container_name = own->container_name;
	if (is_pod) {
		of->pub.pod_name = own->pod_name;
		of->pub.pod_namespace = own->pod_namespace;
	}
}

static struct item *new_item(const struct cgroups *c, const char *path, size_t len)
{
	struct item *one = calloc(1, sizeof(*one) + len + 1);

	if (!one)
		return NULL;
	memcpy(one->path, path, len);
	cgroup_identify(path, len, &one->identity);
	one->pub.path = one->path;
	if (one->identity.pod_uid[0])
		one->pub.pod_uid = one->identity.pod_uid;
	if (one->identity.container_id[0])
		one->pub.container_id = one->identity.container_id;
	name_own(c, one, cgroup_kin(path, len));
	return one;
}

static int add_item(struct cgroups *c, const char *path, uint64_t hash)
{
	size_t len = strlen(path);
	struct item *one;
	int r;

	if (c->text_bytes + len > c->cfg.max_text_bytes)
		return -E2BIG;
	r = ARRAY_RESERVE(c->items, c->cap_items, c->nr + 1, CGROUPS_MAX);
	if (r == 0)
		r = idtable_reserve(&c->path_index);
	if (r < 0)
		return r;
	one = new_item(c, path, len);
	if (!one)
		return -ENOMEM;
	one->pub.number = c->nr;
	c->text_bytes += len;
	c->items[c->nr] = one;
	idtable_insert(&c->path_index, hash, c->nr++);
	return 0;
}

static bool has_path(const void *owner, uint32_t id, const void *key)
{
	return strcmp(((const struct cgroups *)owner)->items[id]->path, key) == 0;
}

/* Truncates a long path between two characters. */
static void keep_path(const char *path, size_t len, char to[CGROUP_PATH_BYTES])
{
	bool is_long = len >= CGROUP_PATH_BYTES;
	size_t kept = is_long ? CGROUP_PATH_BYTES - sizeof(ELLIPSIS) : len;

	while (is_long && kept && (path[kept] & 0xc0) == 0x80)
		kept--;
	(void)snprintf(to, CGROUP_PATH_BYTES, "%.*s%s", (int)kept, path, is_long ? ELLIPSIS : "");
}

static int intern(struct cgroups *c, const char *path, size_t len, uint32_t *ret_number)
{
	char kept[CGROUP_PATH_BYTES];
	uint64_t hash;
	int r;

	keep_path(path, len, kept);
	hash = hash_bytes_seeded(c->seed, kept, strlen(kept));
	if (idtable_find(&c->path_index, hash, has_path, c, kept, ret_number))
		return 0;
	*ret_number = c->nr;
	r = add_item(c, kept, hash);
	c->nr_beyond += r == -E2BIG;
	return r;
}

/* ---- by ID ---- */

static bool has_id(const void *owner, uint32_t i, const void *key)
{
	return ((const struct cgroups *)owner)->ids[i].id == *(const uint64_t *)key;
}

static bool find_id(const struct cgroups *c, uint64_t id, uint32_t *ret_number)
{
	uint32_t at;

	if (!idtable_find(&c->id_index, hash_mix(0, id), has_id, c, &id, &at))
		return false;
	*ret_number = c->ids[at].number;
	return true;
}

/* Without room, the next sample looks again. */
static void know_id(struct cgroups *c, uint64_t id, uint32_t number)
{
	if (ARRAY_RESERVE(c->ids, c->cap_ids, c->nr_ids + 1, MAX_IDS) < 0 ||
	    idtable_reserve(&c->id_index) < 0)
		return;
	c->ids[c->nr_ids] = (struct known_id){ id, number };
	idtable_insert(&c->id_index, hash_mix(0, id), c->nr_ids++);
}

/* 1: found. */
static int look_up_id(struct cgroups *c, uint64_t id, uint32_t *ret_number)
{
	char path[PATH_MAX];
	int r;

	if (c->has_v1 || !id)
		return 0;
	if (find_id(c, id, ret_number))
		return 1;
	if (!cgroup_mount_path(&c->mount, id, path))
		return 0;
	r = intern(c, path, strlen(path), ret_number);
	if (r < 0)
		return r;
	know_id(c, id, *ret_number);
	return 1;
}

/* ---- by task ---- */

/* Whether what was read in /proc is of the task that was sampled. The kernel shows the root of v1 for
 * a task that exits. */
static bool is_task(const struct cgroups *c, pid_t tid, uint64_t time_ns,
		    const struct cgroup_text *t)
{
	struct proc_stat stat;

	if (procfs_stat(c->procfs, tid, &stat) < 0 || !proc_stat_began_by(&stat, time_ns))
		return false;
	return !(t->has_v1 && t->is_v1_root && stat.is_exiting);
}

static int read_task(struct cgroups *c, uint64_t id, pid_t tid, uint64_t time_ns,
		     uint32_t *ret_number)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(TEXT_MAX_BYTES);
	struct cgroup_text t;
	int r = read_text(c, tid, &text, &t);

	if (r == -ENOMEM)
		return r;
	if (r < 0 || !is_task(c, tid, time_ns, &t))
		return -ESRCH;
	r = intern(c, t.path, t.len, ret_number);
	/* The task may have moved since the sample. */
	if (r == 0 && !c->has_v1 && cgroup_mount_has(&c->mount, t.path, t.len, id))
		know_id(c, id, *ret_number);
	return r;
}

int cgroups_find(struct cgroups *c, uint64_t id, pid_t tid, uint64_t time_ns,
		 const struct cgroup **ret_cgroup)
{
	uint32_t number;
	int r = look_up_id(c, id, &number);

	if (r == 0)
		r = read_task(c, id, tid, time_ns, &number);
	if (r < 0)
		return r;
	*ret_cgroup = &c->items[number]->pub;
	return 0;
}
