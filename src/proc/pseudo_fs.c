/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/pseudo_fs.h"

#include <linux/magic.h>
#include <stddef.h>
#include <sys/vfs.h>

#ifndef CONFIGFS_MAGIC
#define CONFIGFS_MAGIC 0x62656570
#endif
#ifndef FUSECTL_MAGIC
#define FUSECTL_MAGIC 0x65735543
#endif
#ifndef MQUEUE_MAGIC
#define MQUEUE_MAGIC 0x19800202
#endif

bool pseudo_fs_is(int fd)
{
	static const unsigned int magics[] = {
		PROC_SUPER_MAGIC,     SYSFS_MAGIC,    DEBUGFS_MAGIC,       TRACEFS_MAGIC,
		SECURITYFS_MAGIC,     SELINUX_MAGIC,  SMACK_MAGIC,         BPF_FS_MAGIC,
		CGROUP_SUPER_MAGIC,   CONFIGFS_MAGIC, CGROUP2_SUPER_MAGIC, EFIVARFS_MAGIC,
		RDTGROUP_SUPER_MAGIC, PSTOREFS_MAGIC, BINFMTFS_MAGIC,      DEVPTS_SUPER_MAGIC,
		NSFS_MAGIC,           FUSECTL_MAGIC,  MQUEUE_MAGIC,
	};
	struct statfs st;

	if (fstatfs(fd, &st) < 0)
		return true; /* if even that is unavailable, the file must not be opened */
	for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++)
		if ((unsigned int)st.f_type == magics[i])
			return true;
	return false;
}
