/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/cgroup_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/cleanup.h"
#include "base/open_dir.h"

#define MAX_DEPTH 32 /* each holds a descriptor; systemd and Kubernetes nest less than ten deep */

static int open_path(const char *path)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static bool is_on(int fd, long magic)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == magic;
}

/* Finds where cgroup v2 is mounted; false if it is not. */
static bool find_mount(char *to, size_t size)
{
	FILE *f = setmntent("/proc/self/mounts", "re");
	char line[2 * PATH_MAX];
	struct mntent entry;
	bool is_found = false;

	while (f && !is_found && getmntent_r(f, &entry, line, sizeof(line)))
		is_found = !strcmp(entry.mnt_type, "cgroup2") &&
			   (size_t)snprintf(to, size, "%s", entry.mnt_dir) < size;
	if (f)
		(void)endmntent(f);
	return is_found;
}

/* Opens a path relative to the mount point of cgroup v2. */
static int open_below_mount(const char *path, int *ret_fd, struct pa_error *err)
{
	_cleanup_(closep) int fd = -1;
	char mount[PATH_MAX], whole[PATH_MAX];

	if (!find_mount(mount, sizeof(mount)))
		return error_set(err, ENODEV,
				 "pa_options.cgroup '%s': cgroup v2 is not mounted; mount it "
				 "(mount -t cgroup2 none /sys/fs/cgroup/unified)",
				 path);
	if ((size_t)snprintf(whole, sizeof(whole), "%s/%s", mount, path) >= sizeof(whole))
		return error_set(err, ENAMETOOLONG, "pa_options.cgroup: the path is too long");
	fd = open_path(whole);
	if (fd < 0 || !is_on(fd, CGROUP2_SUPER_MAGIC))
		return error_set(err, fd < 0 ? -fd : ENOENT,
				 "pa_options.cgroup '%s': no such cgroup; give a directory of "
				 "cgroup v2, below %s",
				 path, mount);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int cgroup_dir_open(const char *path, int *ret_fd, struct pa_error *err)
{
	_cleanup_(capabilities_raise) struct capabilities held = CAPABILITIES_HELD;
	_cleanup_(closep) int fd = -1;

	if (capabilities_lower(&held) < 0)
		return error_set(err, EPERM, "cannot open the cgroup '%s' without capabilities",
				 path);
	if (path[0] == '/')
		fd = open_path(path);

	if (fd >= 0 && is_on(fd, CGROUP2_SUPER_MAGIC)) {
		*ret_fd = TAKE_FD(fd);
		return 0;
	}
	if (fd >= 0 && is_on(fd, CGROUP_SUPER_MAGIC))
		return error_set(err, EINVAL,
				 "pa_options.cgroup '%s': it is of cgroup v1; give a directory of "
				 "cgroup v2",
				 path);
	return open_below_mount(path, ret_fd, err);
}

/* A cgroup whose processes have threads in other cgroups has no list of processes, but an ancestor
 * has. */
static int each_pid_of(int dir_fd, proc_pid_fn fn, void *ctx)
{
	int fd = openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC), r = 0, pid;
	_cleanup_(fclosep) FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	if (!f && fd >= 0)
		close(fd);
	while (f && r == 0 && fscanf(f, "%d", &pid) == 1)
		if (pid > 0) /* 0: outside of our PID namespace */
			r = fn(ctx, pid);
	return r;
}

static int each_pid_below(int at_fd, const char *name, int depth, proc_pid_fn fn, void *ctx)
{
	_cleanup_(dirclosep) DIR *d = NULL;
	struct dirent *e;
	int r;

	if (depth > MAX_DEPTH || open_dir_at(at_fd, name, O_NOFOLLOW, &d) < 0)
		/* removed in the meantime; or unusual, and then found when it is sampled */
		return 0;
	r = each_pid_of(dirfd(d), fn, ctx);
	while (r == 0 && (e = readdir(d)))
		if (e->d_type == DT_DIR && e->d_name[0] != '.')
			r = each_pid_below(dirfd(d), e->d_name, depth + 1, fn, ctx);
	return r;
}

int cgroup_dir_each_pid(int dir_fd, proc_pid_fn fn, void *ctx)
{
	return each_pid_below(dir_fd, ".", 0, fn, ctx);
}
