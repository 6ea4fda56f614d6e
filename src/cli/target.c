/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/target.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/scope.h"
#include "cli/terminal_text.h"

#define PIDNS_INIT_INUM 0xEFFFFFFCu /* include/linux/proc_ns.h: PROC_PID_INIT_INO */
#define COMM_SIZE 64                /* kernel threads have names longer than TASK_COMM_LEN */

bool target_is_namespaced(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino != PIDNS_INIT_INUM;
}

bool target_has_open_end(const struct options *o)
{
	return o->all || o->user_text || o->cgroup;
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

/* Describes processes or threads; a single one by number and name. */
static void describe_ids(const pid_t *ids, size_t nr, const char *one, const char *many,
			 char text[TARGET_TEXT_SIZE])
{
	char comm[COMM_SIZE];

	if (nr > 1) {
		(void)snprintf(text, TARGET_TEXT_SIZE, "%zu %s", nr, many);
		return;
	}
	read_comm(ids[0], comm);
	(void)snprintf(text, TARGET_TEXT_SIZE, *comm ? "%s %d (%s)" : "%s %d", one, (int)ids[0],
		       comm);
}

/* "processes named 'x'", "processes of 2 names and 1 PID" */
static void describe_names(const struct options *o, char text[TARGET_TEXT_SIZE])
{
	char pids[32] = "";

	if (o->nr_names == 1 && !o->nr_pids) {
		(void)snprintf(text, TARGET_TEXT_SIZE, "processes named '%.200s'", o->names[0]);
		return;
	}
	if (o->nr_pids)
		(void)snprintf(pids, sizeof(pids), " and %zu PID%s", o->nr_pids,
			       text_plural(o->nr_pids));
	(void)snprintf(text, TARGET_TEXT_SIZE, "processes of %zu name%s%s", o->nr_names,
		       text_plural(o->nr_names), pids);
}

const char *target_describe(const struct options *o, pid_t command_pid, char text[TARGET_TEXT_SIZE])
{
	if (o->command) {
		(void)snprintf(text, TARGET_TEXT_SIZE, "'%.200s' (PID %d)", o->command[0],
			       (int)command_pid);
	} else if (o->all) {
		(void)snprintf(text, TARGET_TEXT_SIZE, "%s",
			       target_is_namespaced() ? "the processes of this PID namespace"
						      : "all processes");
	} else if (o->user_text) {
		(void)snprintf(text, TARGET_TEXT_SIZE, "processes of user %.200s", o->user_text);
	} else if (o->cgroup) {
		(void)snprintf(text, TARGET_TEXT_SIZE, "cgroup %.200s", o->cgroup);
	} else if (o->nr_names) {
		describe_names(o, text);
	} else if (o->nr_tids) {
		describe_ids(o->tids, o->nr_tids, "TID", "threads", text);
	} else {
		describe_ids(o->pids, o->nr_pids, "PID", "processes", text);
	}
	return text;
}

const char *target_command_line(char *const *command, char text[TARGET_TEXT_SIZE])
{
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; command[i] && len < TARGET_TEXT_SIZE - 1; i++) {
		(void)snprintf(text + len, TARGET_TEXT_SIZE - len, "%s%s", i ? " " : "",
			       command[i]);
		len += strlen(text + len);
	}
	return text;
}

const char *target_auto_name(const char *path, char name[TARGET_AUTO_NAME_SIZE])
{
	(void)snprintf(name, TARGET_AUTO_NAME_SIZE, "%s", text_base_name(path)); /* truncated */
	return name;
}
