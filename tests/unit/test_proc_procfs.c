/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <sys/auxv.h>
#include <sys/wait.h>

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

	fake_write(f, "10/maps", "1000-2000 r-xp 0 0:0 1 /a\n3000-4000 r--p 0 0:0 1 /a\n");
	fake_write(f, "11/maps", "");
	ok(procfs_maps(&f->procfs, 10, count, &nr) == 0 && nr == 2, "every line of maps is seen");
	nr = 0;
	ok(procfs_maps(&f->procfs, 11, count, &nr) == 0 && nr == 0,
	   "an empty maps (a kernel thread) is no entry and no error");
	ok(procfs_maps(&f->procfs, 12, count, &nr) == -ESRCH, "no such process is -ESRCH");
	ok(procfs_maps(&f->procfs, -1, count, &nr) == -EINVAL, "no PID is -EINVAL");
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
	   "a kernel worker's long name is cut");
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
	   "the parent is read behind the last parenthesis");
	ok(procfs_stat(&f->procfs, 10, &st) == 0 && st.start_ticks == 987654,
	   "field 22 is the start time");
	fake_write(f, "10/stat", "10 (a) S 1\n");
	ok(procfs_stat(&f->procfs, 10, &st) == 0 && st.ppid == 1 && st.start_ticks == 0,
	   "a short line has no start time");
	fake_write(f, "10/stat", "10 (a) S");
	ok(procfs_parent(&f->procfs, 10, &ppid) == -EBADMSG, "no field 4 is -EBADMSG");
	fake_write(f, "10/stat", "10 (a) S 99999999999\n");
	ok(procfs_parent(&f->procfs, 10, &ppid) == -EBADMSG, "a PID that is none is -EBADMSG");
	fake_write(f, "10/stat", "10");
	ok(procfs_parent(&f->procfs, 10, &ppid) == -EBADMSG, "no name is -EBADMSG");
}

/* A program's random bytes: of type 25 in auxv, where they are in memory. */
static void test_exec_bytes(struct fake *f)
{
	uint64_t auxv[] = { 6, 4096, 25, 8, 0, 0 };
	uint8_t bytes[PROC_EXEC_BYTES];

	ok(procfs_exec_bytes(&f->procfs, 12, bytes) == -ESRCH, "exec: no such process is -ESRCH");
	fake_write(f, "10/auxv", "");
	ok(procfs_exec_bytes(&f->procfs, 10, bytes) == -ENOENT,
	   "exec: a kernel thread has no bytes");
	fake_write_bytes(f, "10/auxv", auxv, sizeof(auxv));
	ok(procfs_exec_bytes(&f->procfs, 10, bytes) < 0, "exec: nor has who has no memory");
	fake_write(f, "10/mem", "01234567abcdefghijklmnopqrst");
	ok(procfs_exec_bytes(&f->procfs, 10, bytes) == 0 && !memcmp(bytes, "abcdefghijklmnop", 16),
	   "exec: 16 bytes from where auxv says");
	fake_write(f, "10/mem", "01234567abcdefg");
	ok(procfs_exec_bytes(&f->procfs, 10, bytes) == -EBADMSG, "exec: less is -EBADMSG");
	fake_write_bytes(f, "10/auxv", auxv, 24);
	ok(procfs_exec_bytes(&f->procfs, 10, bytes) == -ENOENT, "exec: half an entry is none");
	auxv[2] = 0;
	auxv[4] = 25;
	fake_write_bytes(f, "10/auxv", auxv, sizeof(auxv));
	ok(procfs_exec_bytes(&f->procfs, 10, bytes) == -ENOENT,
	   "exec: behind the end there is none");
}

/* A child has them in common with its parent. */
static void test_exec_bytes_of_ourselves(void)
{
	uint8_t own[PROC_EXEC_BYTES] = { 0 }, of_child[PROC_EXEC_BYTES] = { 1 };
	struct procfs real;
	pid_t pid;

	must(procfs_open("/proc", &real) == 0);
	pid = fork();
	must(pid >= 0);
	if (pid == 0) {
		pause();
		_exit(0);
	}
	ok(procfs_exec_bytes(&real, getpid(), own) == 0 &&
		   procfs_exec_bytes(&real, pid, of_child) == 0 &&
		   memcmp(own, of_child, sizeof(own)) == 0 &&
		   memcmp(own, (const void *)getauxval(AT_RANDOM), sizeof(own)) == 0,
	   "exec: ours, and our child's, are what the kernel gave us");
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
	   "our own parent is the one getppid() tells");
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
	   "names that are PIDs are seen, each once, and no others");
	sum = 0;
	ok(procfs_each_pid(&f.procfs, sum_pids, &sum) == 0 && sum == 321, "a second time too");
	ok(procfs_each_pid(&f.procfs, stop_at_once, &calls) == 5 && calls == 1,
	   "the reader can stop, and its result comes back");
	fake_done(&f);
}

static void test_open_mapped(struct fake *f)
{
	char path[PATH_MAX], back[PATH_MAX], byte = 0;
	int fd;

	fake_write(f, "lib/a.so", "A");
	fake_link(f, "10/map_files/1000-2000", fake_path(f, "lib/a.so", path));
	fd = procfs_open_mapped(&f->procfs, 10, 0x1000, 0x2000);
	ok(fd >= 0 && read(fd, &byte, 1) == 1 && byte == 'A', "the mapped file is opened");
	ok(fcntl(fd, F_GETFD) == FD_CLOEXEC, "and not passed on to children");
	close(fd);
	ok(procfs_mapped_path(&f->procfs, 10, 0x1000, 0x2000, back, sizeof(back)) == 0 &&
		   strcmp(back, path) == 0,
	   "its path is told");
	ok(procfs_mapped_path(&f->procfs, 10, 0x1000, 0x2000, back, 4) == -ENAMETOOLONG,
	   "a path longer than the room is refused");
	ok(procfs_open_mapped(&f->procfs, 10, 0x1000, 0x3000) == -ENOENT, "no mapping: -ENOENT");
	ok(procfs_open_mapped(&f->procfs, 12, 0x1000, 0x2000) == -ESRCH, "no process: -ESRCH");
	must(mkfifo(fake_path(f, "10/map_files/3000-4000", path), 0600) == 0);
	ok(procfs_open_mapped(&f->procfs, 10, 0x3000, 0x4000) == -ENODEV,
	   "a FIFO is refused, and nobody waits for its writer");
	fake_link(f, "10/map_files/5000-6000", "/dev/null");
	ok(procfs_open_mapped(&f->procfs, 10, 0x5000, 0x6000) == -ENODEV, "a device is refused");
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
	ok(first_byte(procfs_open_in_root(&f->procfs, 10, "/usr/lib/b.so")) == 'B',
	   "a path counts from the process's root");
	ok(first_byte(procfs_open_in_root(&f->procfs, 10, "/lib/b.so")) == 'B',
	   "an absolute link stays inside that root");
	ok(procfs_open_in_root(&f->procfs, 10, "/out") == -ENOENT,
	   "a link to a file outside finds nothing");
	ok(procfs_open_in_root(&f->procfs, 10, "/up") == -ENOENT, "nor does one with ..");
	ok(procfs_open_in_root(&f->procfs, 10, "/../../secret") == -ENOENT, "nor a path with ..");
	ok(procfs_open_in_root(&f->procfs, 10, "/loop") == -ELOOP, "a link to itself is -ELOOP");
	ok(procfs_open_in_root(&f->procfs, 10, "/usr/lib") == -ENODEV, "a folder is refused");
	ok(procfs_open_in_root(&f->procfs, 0, "/dev/null") == -ENODEV, "a device is refused");
	ok(procfs_open_in_root(&f->procfs, 12, "/usr/lib/b.so") == -ESRCH, "no process: -ESRCH");
	ok(procfs_open_in_root(&f->procfs, 10, "usr/lib/b.so") == -ENOENT,
	   "a path that is not absolute is none");
	must(realpath(path, own));
	ok(first_byte(procfs_open_in_root(&f->procfs, 0, own)) == 'S', "PID 0 is our own root");
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
	ok(first_byte(procfs_open_no_link(&f->procfs, 10, "/tmp/a.map")) == 'A',
	   "a link on the way is followed");
	ok(procfs_open_no_link(&f->procfs, 10, "/tmp/link.map") == -ELOOP,
	   "a link at the end is refused, wherever it leads");
	ok(procfs_open_no_link(&f->procfs, 10, "/tmp/loop.map") == -ELOOP, "or does not lead");
	ok(procfs_open_no_link(&f->procfs, 10, "/tmp") == -ELOOP, "also one to a folder");
	ok(procfs_open_no_link(&f->procfs, 10, "/var") == -ENODEV, "a folder is no regular file");
	ok(procfs_open_no_link(&f->procfs, 10, "/tmp/b.map") == -ENOENT, "what is not there");
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
	   "status: one PID where there is one namespace");
	ok(status_of("Name:\tNSpid:\t1\nUid:\t1\t2\t3\t4\nNSpid:\t70\n", &st) == 0 &&
		   st.ns_pid == 70,
	   "status: a name is not a line");
	ok(status_of("Uid:\t1\t2\t3\t4\n", &st) == -EBADMSG, "status: without PIDs");
	ok(status_of("NSpid:\t70\n", &st) == -EBADMSG, "status: without users");
	ok(status_of("Uid:\t1\t2\t3\t4\nNSpid:\t70", &st) == -EBADMSG,
	   "status: a line without its end");
	ok(status_of("Uid:\t1\t99999999999\t3\t4\nNSpid:\t99999999999\n", &st) == -EBADMSG,
	   "status: numbers that are none");
	fake_write(f, "10/status", "Uid:\t5\t6\t7\t8\nNSpid:\t10\t1\n");
	ok(procfs_status(&f->procfs, 10, &st) == 0 && st.euid == 6 && st.ns_pid == 1,
	   "status: of a process");
	ok(procfs_status(&f->procfs, 12, &st) == -ESRCH, "status: of none");
}

/* The kernel's own text. */
static void test_status_of_ourselves(void)
{
	struct proc_status st = { 0 };
	struct procfs p;

	must(procfs_open("/proc", &p) == 0);
	ok(procfs_status(&p, getpid(), &st) == 0 && st.euid == geteuid() && st.ns_pid == getpid(),
	   "status: our own says who we are");
	procfs_close(&p);
}

int main(void)
{
	struct fake f;

	fake_init(&f);
	test_maps(&f);
	test_comm(&f);
	test_stat(&f);
	test_exec_bytes(&f);
	test_exec_bytes_of_ourselves();
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
