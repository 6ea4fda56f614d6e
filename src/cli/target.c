/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/target.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/scope.h"
#include "cli/text.h"

#define PIDNS_INIT_INUM 0xEFFFFFFCu /* include/linux/proc_ns.h: PROC_PID_INIT_INO */
#define COMM_SIZE 64                /* kernel threads have longer ones than TASK_COMM_LEN */

bool target_is_namespaced(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != PIDNS_INIT_INUM;
}

static void read_comm(pid_t pid, char comm[COMM_SIZE])
{
	_cleanup_(closep) int fd = -1;
	char path[32];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, comm, COMM_SIZE - 1);
	comm[n > 0 ? n : 0] = '\0';
	if (n > 0 && comm[n - 1] == '\n')
		comm[n - 1] = '\0';
}

const char *target_describe(const struct options *o, pid_t command_pid, char text[TARGET_TEXT_SIZE])
{
	char comm[COMM_SIZE];

	if (o->command) {
		(void)snprintf(text, TARGET_TEXT_SIZE, "'%.200s' (PID %d)", o->command[0],
			       (int)command_pid);
	} else if (o->all) {
		(void)snprintf(text, TARGET_TEXT_SIZE, "%s",
			       target_is_namespaced() ? "the processes of this PID namespace"
						      : "all processes");
	} else if (o->nr_pids > 1) {
		(void)snprintf(text, TARGET_TEXT_SIZE, "%zu processes", o->nr_pids);
	} else {
		read_comm(o->pids[0], comm);
		(void)snprintf(text, TARGET_TEXT_SIZE, *comm ? "PID %d (%s)" : "PID %d",
			       (int)o->pids[0], comm);
	}
	return text;
}

const char *target_auto_name(const char *path, char name[TARGET_AUTO_NAME_SIZE])
{
	(void)snprintf(name, TARGET_AUTO_NAME_SIZE, "%s", text_base_name(path)); /* cut, as comm */
	return name;
}
