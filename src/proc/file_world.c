/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/file_world.h"

#include "proc/accounts.h"
#include "proc/filestore.h"
#include "proc/procfs.h"
#include "proc/roots.h"

struct file_world file_world_none(void)
{
	return (struct file_world){ .root = ROOT_UNKNOWN, .payer = PAYER_OTHERS };
}

static uint32_t root_of_pid(struct filestore *files, pid_t pid, uint64_t time_ns)
{
	uint32_t root = pid > 0 ? filestore_find_root(files, pid) : ROOT_UNKNOWN;
	struct proc_stat st;

	if (root == ROOT_OWN || root == ROOT_UNKNOWN)
		return root;
	if (procfs_stat(filestore_procfs(files), pid, &st) < 0 || !proc_stat_began_by(&st, time_ns))
		return ROOT_UNKNOWN;
	return root;
}

/* Leaving a root requires privileges over it. */
static uint32_t find_root(struct filestore *files, pid_t pid, pid_t ppid, uint64_t time_ns,
			  uint32_t known)
{
	uint32_t root = root_of_pid(files, pid, time_ns);

	if (root == ROOT_UNKNOWN)
		root = known;
	return root == ROOT_UNKNOWN ? root_of_pid(files, ppid, time_ns) : root;
}

/* The user may be that of another process, if the PID was reused in the meantime. */
static uint64_t find_payer(const struct procfs *procfs, pid_t pid, pid_t ppid, uint64_t known)
{
	uint64_t payer;

	if (procfs_payer(procfs, pid, &payer) == 0)
		return payer;
	if (known != PAYER_OTHERS)
		return known;
	return ppid > 0 && procfs_payer(procfs, ppid, &payer) == 0 ? payer : PAYER_OTHERS;
}

struct file_world file_world_find(struct filestore *files, pid_t pid, pid_t ppid, uint64_t time_ns,
				  struct file_world known)
{
	return (struct file_world){ .root = find_root(files, pid, ppid, time_ns, known.root),
				    .payer = find_payer(filestore_procfs(files), pid, ppid,
							known.payer) };
}
