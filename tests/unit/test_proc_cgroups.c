/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/magic.h>
#include <sys/vfs.h>

#include "proc/cgroup_mount.h"
#include "proc/cgroups.h"

#include "fake_proc.h"

#define A "a1b2c3d4e5f60718293a4b5c6d7e8f90112233445566778899aabbccddeeff00"
#define B "0f1e2d3c4b5a69788796a5b4c3d2e1f00112233445566778899aabbccddeeff1"
#define UID "6f2c1d34-8a5e-4b7f-9c01-23456789abcd"
#define EXITING 4
#define LATER UINT64_MAX /* after every start */

struct fixture {
	struct fake fake;
	struct cgroups *c;
};

static void write_task(const struct fixture *t, pid_t pid, const char *cgroup, unsigned int flags)
{
	char name[64], text[256];

	(void)snprintf(name, sizeof(name), "%d/cgroup", (int)pid);
	fake_write(&t->fake, name, cgroup);
	(void)snprintf(name, sizeof(name), "%d/stat", (int)pid);
	(void)snprintf(text, sizeof(text),
		       "%d (x) S 1 0 0 0 -1 %u 0 0 0 0 0 0 0 0 20 0 1 0 500 0 0\n", (int)pid,
		       flags);
	fake_write(&t->fake, name, text);
}

/* An agent in this cgroup, in its own cgroup namespace or in the first one. */
static void begin(struct fixture *t, const char *own_cgroup, const char *namespace)
{
	const struct cgroups_config cfg = { { "web-0", "shop", "agent" }, .max_text_bytes = 5000 };
	char name[64];

	fake_init(&t->fake);
	if (own_cgroup)
		write_task(t, getpid(), own_cgroup, 0);
	(void)snprintf(name, sizeof(name), "%d/ns/cgroup", (int)getpid());
	fake_link(&t->fake, name, namespace);
	must(cgroups_new(&t->fake.procfs, &cfg, &t->c) == 0);
}

static void end(struct fixture *t)
{
	cgroups_free(t->c);
	fake_done(&t->fake);
}

#define INITIAL "cgroup:[4026531835]"
#define PRIVATE "cgroup:[4026532441]"

static const struct cgroup *find(struct fixture *t, pid_t tid)
{
	const struct cgroup *found = NULL;

	return cgroups_find(t->c, 0, tid, LATER, &found) == 0 ? found : NULL;
}

static bool is(const char *text, const char *wanted)
{
	return wanted ? text && strcmp(text, wanted) == 0 : !text;
}

static void test_tasks(void)
{
	const struct cgroup *first, *second, *none;
	struct fixture t;

	begin(&t, "1:name=systemd:/\n0::/\n", INITIAL);
	write_task(&t, 11, "2:memory:/docker/" A "\n0::/\n", 0);
	write_task(&t, 12, "2:memory:/docker/" A "\n0::/\n", 0);
	write_task(&t, 13, "2:memory:/\n0::/\n", 0);
	write_task(&t, 14, "2:memory:/\n0::/\n", EXITING);
	first = find(&t, 11);
	second = find(&t, 12);
	none = find(&t, 13);
	ok(first && is(first->container_id, A) && is(first->path, "/docker/" A) &&
		   is(first->pod_uid, NULL),
	   "a task's container, by a hierarchy of v1");
	ok(first == second && cgroups_stats(t.c).nr == 2, "a cgroup is known once");
	ok(none && is(none->path, "/") && is(none->container_id, NULL), "a task in the root");
	ok(first && is(first->pod_name, NULL) && is(none->pod_name, NULL),
	   "an agent in no pod has no names for one, whatever its environment says");
	ok(!find(&t, 14), "a task that exits is shown in the root of v1, which is not believed");
	ok(!find(&t, 15), "a task that is gone has no cgroup");
	end(&t);
}

/* The task that has the number now is a later one. */
static void test_reused(void)
{
	const struct cgroup *found;
	struct fixture t;

	begin(&t, "0::/\n", INITIAL);
	write_task(&t, 11, "0::/docker/" A "\n", 0);
	ok(cgroups_find(t.c, 0, 11, 1, &found) == -ESRCH,
	   "a task that started after the sample is another one");
	end(&t);
}

static void test_own_pod(void)
{
	const struct cgroup *own, *beside, *other;
	struct fixture t;

	begin(&t, "0::/kubepods/pod" UID "/" A "\n", INITIAL);
	write_task(&t, 11, "0::/kubepods/pod" UID "/" A "/child\n", 0);
	write_task(&t, 12, "0::/kubepods/pod" UID "/" B "\n", 0);
	write_task(&t, 13, "0::/kubepods/pod0b1c2d3e4f5061728394a5b6c7d8e9f0/" B "\n", 0);
	own = find(&t, 11);
	beside = find(&t, 12);
	other = find(&t, 13);
	ok(own && is(own->pod_name, "web-0") && is(own->pod_namespace, "shop") &&
		   is(own->container_name, "agent"),
	   "the agent's container has the names of pod, namespace and container");
	ok(beside && is(beside->pod_name, "web-0") && is(beside->pod_namespace, "shop") &&
		   is(beside->container_name, NULL),
	   "another container of the agent's pod has those of pod and namespace");
	ok(other && is(other->pod_name, NULL) && is(other->pod_namespace, NULL) &&
		   is(other->container_name, NULL),
	   "another pod has none");
	end(&t);
}

static void test_namespace(void)
{
	const struct cgroup *own, *beside, *other;
	struct fixture t;

	begin(&t, "0::/\n", PRIVATE);
	write_task(&t, 11, "0::/\n", 0);
	write_task(&t, 12, "0::/../cri-containerd-" B ".scope\n", 0);
	write_task(&t, 13,
		   "0::/../../kubepods-pod6f2c1d34_8a5e_4b7f_9c01_23456789abcd.slice/crio-" B
		   ".scope\n",
		   0);
	own = find(&t, 11);
	beside = find(&t, 12);
	other = find(&t, 13);
	ok(own && is(own->pod_name, "web-0") && is(own->container_name, "agent"),
	   "in a cgroup namespace, the agent's container is the root");
	ok(beside && is(beside->pod_name, "web-0") && is(beside->container_name, NULL) &&
		   is(beside->container_id, B),
	   "in a cgroup namespace, a container beside the agent's is of its pod");
	ok(other && is(other->pod_name, NULL) && is(other->pod_uid, UID),
	   "in a cgroup namespace, another pod has none of the names");
	end(&t);

	begin(&t, "0::/\n", INITIAL);
	write_task(&t, 11, "0::/\n", 0);
	own = find(&t, 11);
	ok(own && is(own->pod_name, NULL), "outside of one, the root is not a container");
	end(&t);

	begin(&t, NULL, PRIVATE);
	write_task(&t, 11, "0::/\n", 0);
	own = find(&t, 11);
	ok(own && is(own->pod_name, NULL), "an agent that does not see itself has no pod");
	end(&t);
}

static void test_long_paths(void)
{
	char text[3000] = "0::/docker/" A "/";
	const struct cgroup *found;
	struct fixture t;
	size_t len = strlen(text);

	begin(&t, "0::/\n", INITIAL);
	/* two bytes each, so that one would be divided */
	for (; len + 3 < sizeof(text); len += 2)
		memcpy(text + len, "é", 3);
	memcpy(text + len, "\n", 2);
	write_task(&t, 11, text, 0);
	found = find(&t, 11);
	ok(found && is(found->container_id, A) && strlen(found->path) < CGROUP_PATH_BYTES &&
		   strstr(found->path, "éé…"),
	   "a long path is truncated between two characters, and ends with an ellipsis");
	end(&t);
}

/* Of 1,000 bytes each, in 5,000. */
static void test_bound(void)
{
	char text[1006];
	struct fixture t;

	begin(&t, "0::/\n", INITIAL);
	for (int i = 0; i < 7; i++) {
		(void)snprintf(text, sizeof(text), "0::/%0999d\n", i);
		write_task(&t, 11 + i, text, 0);
		ok(!!find(&t, 11 + i) == (i < 5), "limit on bytes: cgroup %d", i);
	}
	ok(cgroups_stats(t.c).nr == 5 && cgroups_stats(t.c).nr_beyond == 2,
	   "what is beyond the limit is counted");
	ok(find(&t, 11), "what is known stays known");
	end(&t);
}

/* A real cgroup of v2, which takes privileges. */
static void test_by_id(void)
{
	struct cgroup_mount m;
	struct fixture t;
	const struct cgroup *found = NULL;
	char path[PATH_MAX + 64], inside[64], shown[PATH_MAX];
	struct stat st;

	cgroup_mount_open(&m);
	(void)snprintf(inside, sizeof(inside), "/perf-agent-test-%d", (int)getpid());
	(void)snprintf(path, sizeof(path), "%s%s", m.fd < 0 ? "/nowhere" : m.path, inside);
	if (mkdir(path, 0755) < 0) {
		tap_skip("a cgroup by its ID needs cgroup v2, and the right to create one");
		cgroup_mount_done(&m);
		return;
	}
	must(stat(path, &st) == 0);
	ok(cgroup_mount_has(&m, inside, strlen(inside), st.st_ino) &&
		   !cgroup_mount_has(&m, inside, strlen(inside), st.st_ino + 1),
	   "a cgroup's ID is checked");
	begin(&t, "0::/\n", INITIAL);
	if (cgroup_mount_path(&m, st.st_ino, shown)) {
		ok(strcmp(shown, inside) == 0, "a cgroup's path is found by its ID");
		ok(cgroups_find(t.c, st.st_ino, 99, LATER, &found) == 0 && is(found->path, inside),
		   "the cgroup of a task that is gone is found by its ID");
	} else {
		tap_skip("the path of a cgroup by its ID needs CAP_DAC_READ_SEARCH");
	}
	must(rmdir(path) == 0);
	ok(!cgroup_mount_path(&m, st.st_ino, shown), "a cgroup that was removed has no path");
	ok(!found || cgroups_find(t.c, st.st_ino, 99, LATER, &found) == 0,
	   "one that was known is still known");
	end(&t);
	begin(&t, "1:name=systemd:/\n0::/\n", INITIAL);
	ok(cgroups_find(t.c, st.st_ino, 99, LATER, &found) == -ESRCH,
	   "with hierarchies of v1 the ID is not enough");
	end(&t);
	cgroup_mount_done(&m);
}

int main(void)
{
	test_tasks();
	test_reused();
	test_own_pod();
	test_namespace();
	test_long_paths();
	test_bound();
	test_by_id();
	return tap_done();
}
