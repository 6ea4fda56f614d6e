/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/roots.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "proc/procfs.h"

void roots_done(struct roots *r)
{
	for (uint32_t i = 0; i < r->nr; i++)
		if (r->items[i].fd >= 0)
			close(r->items[i].fd);
	r->nr = 0;
}

/* stx_mnt_id is 0 before Linux 5.8; roots that are one folder are then one. */
static int identify(int fd, struct root *ret_root)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &st) < 0)
		return -errno;
	*ret_root = (struct root){ .dev = makedev(st.stx_dev_major, st.stx_dev_minor),
				   .ino = st.stx_ino,
				   .mount = st.stx_mask & STATX_MNT_ID ? st.stx_mnt_id : 0,
				   .fd = fd };
	return 0;
}

/* Takes *fd if it is kept. */
static int find_or_add(struct roots *r, int *fd, uint32_t *ret_number)
{
	struct root found;
	int res = identify(*fd, &found);

	if (res < 0)
		return res;
	for (uint32_t i = 0; i < r->nr; i++) {
		const struct root *known = &r->items[i];

		if (known->dev == found.dev && known->ino == found.ino &&
		    known->mount == found.mount) {
			*ret_number = i;
			return 0;
		}
	}
	if (r->nr == ROOTS_MAX)
		return -E2BIG;
	(void)TAKE_FD(*fd); /* the table's now */
	*ret_number = r->nr;
	r->items[r->nr++] = found;
	return 0;
}

static int add_pid(struct roots *r, const struct procfs *p, pid_t pid, uint32_t *ret_number)
{
	_cleanup_(closep) int fd = procfs_open_root(p, pid);

	return fd < 0 ? fd : find_or_add(r, &fd, ret_number);
}

uint32_t roots_of(struct roots *r, const struct procfs *p, pid_t pid, pid_t ppid)
{
	uint32_t number;

	if (!r->nr && add_pid(r, p, 0, &number) < 0)
		return ROOT_OWN; /* asked again the next time */
	if (pid > 0 && add_pid(r, p, pid, &number) == 0)
		return number;
	if (ppid > 0 && add_pid(r, p, ppid, &number) == 0)
		return number;
	return ROOT_OWN;
}

int roots_fd(const struct roots *r, uint32_t number)
{
	return number < r->nr ? r->items[number].fd : -1;
}
