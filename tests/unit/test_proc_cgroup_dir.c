/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/cgroup_dir.h"

#include "fake_proc.h"

struct seen {
	pid_t pids[16];
	int nr;
};

static int note_pid(void *ctx, pid_t pid)
{
	struct seen *s = ctx;

	must(s->nr < 16);
	s->pids[s->nr++] = pid;
	return pid == 99 ? -ECANCELED : 0;
}

static int pids_below(const struct fake *f, const char *name, struct seen *s)
{
	char path[PATH_MAX];
	int fd = open(fake_path(f, name, path), O_PATH | O_DIRECTORY), r;

	must(fd >= 0);
	*s = (struct seen){ 0 };
	r = cgroup_dir_each_pid(fd, note_pid, s);
	close(fd);
	return r;
}

static void test_each_pid(const struct fake *f)
{
	struct seen s;

	fake_write(f, "a/cgroup.procs", "11\n0\n12\n");
	fake_write(f, "a/b/cgroup.procs", "13\n");
	fake_write(f, "a/b/c/cgroup.procs", "14\n");
	fake_write(f, "a/empty/cgroup.procs", "");
	fake_write(f, "z/cgroup.procs", "15\n");
	ok(pids_below(f, "a", &s) == 0 && s.nr == 4,
	   "cgroup: its processes and those below it are listed, but for PID 0");
	ok(pids_below(f, "a/b/c", &s) == 0 && s.nr == 1 && s.pids[0] == 14,
	   "cgroup: processes above and beside it are not listed");
	fake_write(f, "a/b/cgroup.procs", "99\n98\n");
	ok(pids_below(f, "a/b", &s) == -ECANCELED && s.nr == 1,
	   "cgroup: an error of the callback ends the list");
	fake_write(f, "a/b/cgroup.procs", "no number\n");
	ok(pids_below(f, "a/b", &s) == 0 && s.nr == 1,
	   "cgroup: a list that does not parse is left out");
}

static void test_deep(const struct fake *f)
{
	char name[1024] = "deep/";
	struct seen s;

	for (int i = 0; i < 100; i++)
		strcat(name, "d/");
	strcat(name, "cgroup.procs");
	fake_write(f, name, "16\n");
	ok(pids_below(f, "deep", &s) == 0 && s.nr == 0,
	   "cgroup: 100 levels down is too deep to be listed");
}

static void test_open(const struct fake *f)
{
	struct pa_error err = { 0 };
	int fd = -1, r = cgroup_dir_open(f->dir, &fd, &err);

	ok(r < 0 && fd == -1 && strcmp(err.field, "cgroup") == 0,
	   "cgroup: a directory elsewhere is refused: %s", err.text);
	err = (struct pa_error){ 0 };
	r = cgroup_dir_open("no/such/cgroup", &fd, &err);
	ok(r < 0 && fd == -1 && strcmp(err.field, "cgroup") == 0,
	   "cgroup: a path that does not exist is refused: %s", err.text);
}

int main(void)
{
	struct fake f;

	fake_init(&f);
	test_each_pid(&f);
	test_deep(&f);
	test_open(&f);
	fake_done(&f);
	return tap_done();
}
