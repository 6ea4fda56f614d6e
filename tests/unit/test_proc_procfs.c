/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "fake_proc.h"

static int count(void *ctx, const struct maps_entry *e)
{
	(void)e;
	++*(int *)ctx;
	return 0;
}

static void test_maps(struct fake *f)
{
	int nr = 0;
	uint64_t nr_bad = 0;

	fake_write(f, "10/maps", "1000-2000 r-xp 0 0:0 1 /a\n3000-4000 r--p 0 0:0 1 /a\n");
	fake_write(f, "11/maps", "");
	fake_write(f, "13/maps", "1000-2000 r-xp 0 0:0 1 /a\n3000-4000 r-xp 0 0-0 1 /b\n");
	ok(procfs_maps(&f->procfs, 10, count, &nr, NULL) == 0 && nr == 2,
	   "every line of maps is seen");
	nr = 0;
	ok(procfs_maps(&f->procfs, 11, count, &nr, NULL) == 0 && nr == 0,
	   "an empty maps (a kernel thread) has no entry and is not an error");
	ok(procfs_maps(&f->procfs, 13, count, &nr, &nr_bad) == 0 && nr == 1 && nr_bad == 1,
	   "a line that does not parse is skipped and counted");
	ok(procfs_maps(&f->procfs, 12, count, &nr, NULL) == -ESRCH, "no such process is -ESRCH");
	ok(procfs_maps(&f->procfs, -1, count, &nr, NULL) == -EINVAL, "no PID is -EINVAL");
}

static void test_comm(struct fake *f)
{
	char comm[PROC_COMM_SIZE];

	fake_write(f, "10/comm", "worker 1\n");
	ok(procfs_comm(&f->procfs, 10, comm) == 0 && strcmp(comm, "worker 1") == 0,
	   "the name has no newline");
	fake_write(f, "10/comm", "a\nb)\x01\xff\n\n");
	ok(procfs_comm(&f->procfs, 10, comm) == 0 && strcmp(comm, "a\nb)\x01\xff\n") == 0,
	   "a name may hold any byte, newlines too");
	fake_write(f, "10/comm", "kworker/u8:3-events_unbound\n");
	ok(procfs_comm(&f->procfs, 10, comm) == 0 && strcmp(comm, "kworker/u8:3-ev") == 0,
	   "a kernel worker's long name is truncated");
	fake_write(f, "10/comm", "");
	ok(procfs_comm(&f->procfs, 10, comm) == 0 && comm[0] == '\0', "a name may be empty");
	ok(procfs_comm(&f->procfs, 12, comm) == -ESRCH, "no such process is -ESRCH");
}

static void test_stat(struct fake *f)
{
	struct proc_stat st = { 0 };
	pid_t ppid = -1;

	fake_write(
		f, "10/stat",
		"10 (a) 77 (b) c) S 4242 10 10 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1\n");
	ok(procfs_parent(&f->procfs, 10, &ppid) == 0 && ppid == 4242,
	   "stat: the parent is read after the last parenthesis");
	ok(procfs_stat(&f->procfs, 10, &st) == 0 && st.start_ticks == 987654,
	   "stat: field 22 is the start time");
	fake_write(f, "10/stat", "10 (a) S 1\n");
	ok(procfs_stat(&f->procfs, 10, &st) == 0 && st.ppid == 1 && st.start_ticks == 0,
	   "stat: a short line has no start time");
	fake_write(f, "10/stat", "10 (a) S");
	ok(procfs_parent(&f->procfs, 10, &ppid) == -EBADMSG, "stat: no field 4 is -EBADMSG");
	fake_write(f, "10/stat", "10 (a) S 99999999999\n");
	ok(procfs_parent(&f->procfs, 10, &ppid) == -EBADMSG, "stat: an invalid parent is -EBADMSG");
	fake_write(f, "10/stat", "10");
	ok(procfs_parent(&f->procfs, 10, &ppid) == -EBADMSG, "stat: no name is -EBADMSG");
}

/* Addresses that the kernel chose at random, equal in both, are of one exec. */
static void test_same_exec(struct fake *f)
{
	uint64_t auxv[] = { 6, 4096, 25, 0x7ffd1000, 0, 0 };

	ok(!procfs_has_same_exec(&f->procfs, 14, 15),
	   "exec: nothing is known of a missing process");
	fake_write(f, "14/auxv", "");
	fake_write(f, "15/auxv", "");
	ok(!procfs_has_same_exec(&f->procfs, 14, 15), "exec: kernel threads have no auxv");
	fake_write_bytes(f, "14/auxv", auxv, sizeof(auxv));
	fake_write_bytes(f, "15/auxv", auxv, sizeof(auxv));
	ok(procfs_has_same_exec(&f->procfs, 14, 15), "exec: equal random addresses mean one exec");
	fake_write(f, "14/personality", "00040000\n");
	ok(!procfs_has_same_exec(&f->procfs, 14, 15),
	   "exec: equal addresses that are not random mean nothing");
	fake_write(f, "14/personality", "00000000\n");
	fake_write(f, "sys/kernel/randomize_va_space", "0\n");
	ok(!procfs_has_same_exec(&f->procfs, 14, 15),
	   "exec: without any random address nothing is known");
	fake_write(f, "sys/kernel/randomize_va_space", "2\n");
	ok(procfs_has_same_exec(&f->procfs, 14, 15), "exec: usual random addresses are recognized");
	auxv[3]++;
	fake_write_bytes(f, "15/auxv", auxv, sizeof(auxv));
	ok(!procfs_has_same_exec(&f->procfs, 14, 15),
	   "exec: different addresses mean different execs");
	auxv[2] = 24;
	fake_write_bytes(f, "14/auxv", auxv, sizeof(auxv));
	fake_write_bytes(f, "15/auxv", auxv, sizeof(auxv));
	ok(!procfs_has_same_exec(&f->procfs, 14, 15), "exec: missing addresses mean nothing");
}

/* A child has them in common with its parent, until it executes another program. */
static void test_same_exec_of_ourselves(void)
{
	int ends[2];
	struct procfs real;
	char byte;
	pid_t pid;

	must(procfs_open("/proc", &real) == 0 && pipe2(ends, O_CLOEXEC) == 0);
	pid = fork();
	must(pid >= 0);
	if (pid == 0) {
		close(ends[0]);
		raise(SIGSTOP);
		execlp("sleep", "sleep", "60", (char *)NULL);
		_exit(1);
	}
	close(ends[1]);
	must(waitpid(pid, NULL, WUNTRACED) == pid);
	ok(procfs_has_same_exec(&real, getpid(), pid), "exec: our child comes from our exec");
	must(kill(pid, SIGCONT) == 0 && read(ends[0], &byte, 1) == 0);
	ok(!procfs_has_same_exec(&real, getpid(), pid),
	   "exec: a child that executes another program does not");
	must(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	close(ends[0]);
	procfs_close(&real);
}

static void *go_on(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static pid_t start_without_first(void)
{
	pid_t pid = fork();
	pthread_t thread;

	must(pid >= 0);
	if (pid)
		return pid;
	must(pthread_create(&thread, NULL, go_on, NULL) == 0);
	syscall(SYS_exit, 0);
	return 0;
}

static bool is_first_over(const struct procfs *p, pid_t pid)
{
	struct proc_status st;

	return procfs_status(p, pid, &st) == 0 && st.is_over;
}

static int find_own_code(void *ctx, const struct maps_entry *e)
{
	struct maps_entry *found = ctx;

	if (e->start > (uintptr_t)go_on || e->end <= (uintptr_t)go_on)
		return 0;
	*found = *e;
	return 1;
}

/* Its files in /proc are empty, cannot be opened, or lead nowhere. */
static void test_first_thread_gone(void)
{
	char memory[16], path[PATH_MAX], own[PATH_MAX];
	struct maps_entry code = { 0 };
	struct procfs real;
	pid_t pid, thread;
	int fd;

	must(procfs_open("/proc", &real) == 0);
	must(procfs_maps(&real, getpid(), find_own_code, &code, NULL) == 1);
	must(procfs_program(&real, getpid(), own, sizeof(own)) == 0);
	pid = start_without_first();
	while (!is_first_over(&real, pid))
		usleep(1000);
	thread = procfs_other_thread(&real, pid);
	ok(thread > 0 && thread != pid, "first thread gone: another one is found");
	ok(procfs_other_thread(&real, getpid()) == 0,
	   "none is looked for while the first is there");
	ok(procfs_read_mem(&real, pid, (uintptr_t)go_on, memory, sizeof(memory)) ==
			   sizeof(memory) &&
		   memcmp(memory, (const void *)(uintptr_t)go_on, sizeof(memory)) == 0,
	   "first thread gone: the memory is still read");
	ok(procfs_program(&real, pid, path, sizeof(path)) == 0 && strcmp(path, own) == 0,
	   "first thread gone: the program is known");
	ok(procfs_has_same_exec(&real, getpid(), pid), "first thread gone: so is its exec");
	fd = procfs_open_in_root(&real, pid, own, NULL);
	if (fd == -ENOSYS)
		tap_skip("needs openat2()");
	else
		ok(fd >= 0, "first thread gone: files are found in its root");
	closep(&fd);
	fd = procfs_open_mapped(&real, pid, code.start, code.end, NULL);
	if (fd == -EPERM)
		tap_skip("map_files needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE");
	else
		ok(fd >= 0 && procfs_mapped_path(&real, pid, code.start, code.end, path,
						 sizeof(path)) == 0,
		   "first thread gone: mapped files are opened");
	closep(&fd);
	must(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	procfs_close(&real);
}

static void test_stat_of_ourselves(void)
{
	struct procfs real;
	pid_t ppid;

	if (procfs_open("/proc", &real) < 0) {
		tap_skip("needs /proc");
		return;
	}
	ok(procfs_parent(&real, getpid(), &ppid) == 0 && ppid == getppid(),
	   "our own parent is getppid()");
	procfs_close(&real);
}

static int sum_pids(void *ctx, pid_t pid)
{
	*(int *)ctx += pid;
	return 0;
}

static int stop_at_once(void *ctx, pid_t pid)
{
	(void)pid;
	++*(int *)ctx;
	return 5;
}

static void test_each_pid(void)
{
	struct fake f;
	int sum = 0, calls = 0;

	fake_init(&f);
	fake_write(&f, "1/comm", "");
	fake_write(&f, "20/comm", "");
	fake_write(&f, "300/comm", "");
	fake_write(&f, "self/comm", "");
	fake_write(&f, "4a/comm", "");
	fake_write(&f, "007/comm", "");
	fake_write(&f, "99999999999999999999999/comm", "");
	ok(procfs_each_pid(&f.procfs, sum_pids, &sum) == 0 && sum == 321,
	   "every PID in /proc is reported once, and nothing else");
	sum = 0;
	ok(procfs_each_pid(&f.procfs, sum_pids, &sum) == 0 && sum == 321,
	   "PIDs can be listed a second time");
	ok(procfs_each_pid(&f.procfs, stop_at_once, &calls) == 5 && calls == 1,
	   "the callback can stop, and its result is returned");
	fake_done(&f);
}

static void test_open_mapped(struct fake *f)
{
	char path[PATH_MAX], back[PATH_MAX], byte = 0;
	int fd;

	fake_write(f, "lib/a.so", "A");
	fake_link(f, "10/map_files/1000-2000", fake_path(f, "lib/a.so", path));
	fd = procfs_open_mapped(&f->procfs, 10, 0x1000, 0x2000, NULL);
	ok(fd >= 0 && read(fd, &byte, 1) == 1 && byte == 'A', "the mapped file is opened");
	ok(fcntl(fd, F_GETFD) == FD_CLOEXEC, "a mapped file's descriptor is close-on-exec");
	close(fd);
	ok(procfs_mapped_path(&f->procfs, 10, 0x1000, 0x2000, back, sizeof(back)) == 0 &&
		   strcmp(back, path) == 0,
	   "the path of a mapped file is returned");
	ok(procfs_mapped_path(&f->procfs, 10, 0x1000, 0x2000, back, 4) == -ENAMETOOLONG,
	   "a path longer than the buffer is refused");
	ok(procfs_open_mapped(&f->procfs, 10, 0x1000, 0x3000, NULL) == -ENOENT,
	   "no mapping: -ENOENT");
	ok(procfs_open_mapped(&f->procfs, 12, 0x1000, 0x2000, NULL) == -ESRCH,
	   "no process: -ESRCH");
	must(mkfifo(fake_path(f, "10/map_files/3000-4000", path), 0600) == 0);
	ok(procfs_open_mapped(&f->procfs, 10, 0x3000, 0x4000, NULL) == -ENODEV,
	   "a FIFO is refused without waiting for its writer");
	fake_link(f, "10/map_files/5000-6000", "/dev/null");
	ok(procfs_open_mapped(&f->procfs, 10, 0x5000, 0x6000, NULL) == -ENODEV,
	   "a device is refused");
}

static char first_byte(int fd)
{
	char byte = 0;

	if (fd < 0 || read(fd, &byte, 1) != 1)
		byte = '?';
	if (fd >= 0)
		close(fd);
	return byte;
}

static void test_open_in_root(struct fake *f)
{
	char path[PATH_MAX], own[PATH_MAX];

	if (!fake_can_open_in_root(f)) {
		tap_skip("needs openat2()");
		return;
	}
	fake_write(f, "10/root/usr/lib/b.so", "B");
	fake_write(f, "secret", "S");
	fake_link(f, "10/root/lib", "/usr/lib");
	fake_link(f, "10/root/out", fake_path(f, "secret", path));
	fake_link(f, "10/root/up", "../../secret");
	fake_link(f, "10/root/loop", "loop");
	fake_link(f, "10/root/null", "/dev/null");
	ok(first_byte(procfs_open_in_root(&f->procfs, 10, "/usr/lib/b.so", NULL)) == 'B',
	   "root: a path is relative to the process's root");
	ok(first_byte(procfs_open_in_root(&f->procfs, 10, "/lib/b.so", NULL)) == 'B',
	   "root: an absolute link stays inside that root");
	ok(procfs_open_in_root(&f->procfs, 10, "/out", NULL) == -ENOENT,
	   "root: a link to a file outside finds nothing");
	ok(procfs_open_in_root(&f->procfs, 10, "/up", NULL) == -ENOENT,
	   "root: a link with .. finds nothing outside");
	ok(procfs_open_in_root(&f->procfs, 10, "/../../secret", NULL) == -ENOENT,
	   "root: a path with .. finds nothing outside");
	ok(procfs_open_in_root(&f->procfs, 10, "/loop", NULL) == -ELOOP,
	   "root: a link to itself is -ELOOP");
	ok(procfs_open_in_root(&f->procfs, 10, "/usr/lib", NULL) == -ENODEV,
	   "root: a directory is refused");
	ok(procfs_open_in_root(&f->procfs, 0, "/dev/null", NULL) == -ENODEV,
	   "root: a device is refused");
	ok(procfs_open_in_root(&f->procfs, 0, "/proc/self/stat", NULL) == -ENODEV,
	   "root: a pseudo file of the kernel is refused");
	ok(procfs_open_in_root(&f->procfs, 12, "/usr/lib/b.so", NULL) == -ESRCH,
	   "root: no process is -ESRCH");
	ok(procfs_open_in_root(&f->procfs, 10, "usr/lib/b.so", NULL) == -ENOENT,
	   "root: a relative path is refused");
	must(realpath(path, own));
	ok(first_byte(procfs_open_in_root(&f->procfs, 0, own, NULL)) == 'S',
	   "root: PID 0 is our own root");
}

static void test_open_no_link(struct fake *f)
{
	if (!fake_can_open_in_root(f)) {
		tap_skip("needs openat2()");
		return;
	}
	fake_write(f, "10/root/var/tmp/a.map", "A");
	fake_link(f, "10/root/tmp", "/var/tmp");
	fake_link(f, "10/root/var/tmp/link.map", "a.map");
	fake_link(f, "10/root/var/tmp/loop.map", "loop.map");
	ok(first_byte(procfs_open_no_link(&f->procfs, 10, "/tmp/a.map", NULL)) == 'A',
	   "no link: a link in the middle of a path is followed");
	ok(procfs_open_no_link(&f->procfs, 10, "/tmp/link.map", NULL) == -ELOOP,
	   "no link: a link at the end is refused, wherever it leads");
	ok(procfs_open_no_link(&f->procfs, 10, "/tmp/loop.map", NULL) == -ELOOP,
	   "no link: a dangling link at the end is refused");
	ok(procfs_open_no_link(&f->procfs, 10, "/tmp", NULL) == -ELOOP,
	   "no link: a link to a directory is refused");
	ok(procfs_open_no_link(&f->procfs, 10, "/var", NULL) == -ENODEV,
	   "no link: a directory is refused");
	ok(procfs_open_no_link(&f->procfs, 10, "/tmp/b.map", NULL) == -ENOENT,
	   "no link: a missing file is -ENOENT");
}

static int status_of(const char *text, struct proc_status *st)
{
	*st = (struct proc_status){ 0 };
	return status_parse(text, strlen(text), st);
}

static void test_status(struct fake *f)
{
	struct proc_status st;

	ok(status_of("Name:\tx\nUid:\t1\t2\t3\t4\nNSpid:\t70\t8\t9\n", &st) == 0 && st.euid == 2 &&
		   st.ns_pid == 9 && st.nr_pids == 3,
	   "status: the effective user, and the innermost PID of three");
	ok(status_of("Uid:\t1\t2\t3\t4\nNSpid:\t70\n", &st) == 0 && st.ns_pid == 70 &&
		   st.nr_pids == 1,
	   "status: one PID without nested namespaces");
	ok(status_of("Name:\tNSpid:\t1\nUid:\t1\t2\t3\t4\nNSpid:\t70\n", &st) == 0 &&
		   st.ns_pid == 70,
	   "status: a name cannot fake a line");
	ok(status_of("Uid:\t1\t2\t3\t4\n", &st) == -EBADMSG, "status: without PIDs");
	ok(status_of("NSpid:\t70\n", &st) == -EBADMSG, "status: a missing Uid line is refused");
	ok(status_of("Uid:\t1\t2\t3\t4\nNSpid:\t70", &st) == -EBADMSG,
	   "status: an unterminated line is refused");
	ok(status_of("Uid:\t1\t99999999999\t3\t4\nNSpid:\t99999999999\n", &st) == -EBADMSG,
	   "status: invalid numbers are refused");
	ok(status_of("State:\tS (sleeping)\nTgid:\t7\nUid:\t1\t2\t3\t4\nNSpid:\t70\n", &st) == 0 &&
		   st.tgid == 7 && !st.is_over,
	   "status: a sleeping thread is alive");
	ok(status_of("State:\tZ (zombie)\nUid:\t1\t2\t3\t4\nNSpid:\t70\n", &st) == 0 &&
		   st.tgid == 0 && st.is_over,
	   "status: a zombie is not");
	fake_write(f, "10/status", "Uid:\t5\t6\t7\t8\nNSpid:\t10\t1\n");
	ok(procfs_status(&f->procfs, 10, &st) == 0 && st.euid == 6 && st.ns_pid == 1,
	   "status: a process is read");
	ok(procfs_status(&f->procfs, 12, &st) == -ESRCH, "status: a missing process is -ESRCH");
}

/* The kernel's own text. */
static void test_status_of_ourselves(void)
{
	struct proc_status st = { 0 };
	struct procfs p;

	must(procfs_open("/proc", &p) == 0);
	ok(procfs_status(&p, getpid(), &st) == 0 && st.euid == geteuid() && st.ns_pid == getpid() &&
		   st.tgid == getpid() && !st.is_over,
	   "status: our own shows our user");
	procfs_close(&p);
}

int main(void)
{
	struct fake f;

	fake_init(&f);
	test_maps(&f);
	test_comm(&f);
	test_stat(&f);
	test_same_exec(&f);
	test_same_exec_of_ourselves();
	test_first_thread_gone();
	test_stat_of_ourselves();
	test_each_pid();
	test_open_mapped(&f);
	test_open_in_root(&f);
	test_open_no_link(&f);
	test_status(&f);
	test_status_of_ourselves();
	fake_done(&f);
	return tap_done();
}
