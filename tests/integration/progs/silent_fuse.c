// SPDX-License-Identifier: Apache-2.0
/*
 * silent_fuse FUSE-DEVICE MODE FILE [UID]: a hostile process. It serves a FUSE file system in a user and a
 * mount namespace of its own, whose only file, /f, has the bytes of FILE (a static "spin"), and which
 * stops answering when SIGUSR1 comes (in the last mode: is slow from then on). MODE says what is done with it:
 *
 * With UID, which root alone can give, the file system is mounted for that user as fusermount3 would, who
 * has no privileges: outside the user namespace, memory of its files can be read by others too.
 *
 *   plain    /f is executed where it is
 *   taken    likewise, but requests are taken and not answered: not even SIGKILL ends such a wait
 *   overlay  /f is executed through overlayfs on top of the file system
 *   sysv     an executable mapping of /f has a path that begins with /SYSV
 *   random   the page of AT_RANDOM is a mapping of /f, in the forked child of a process with JIT code
 *   tmp      /tmp of a process with JIT code is on such an overlayfs
 *   lock     a thread of the process waits for the server in mmap(), and holds the mmap_lock
 *   slow     hundreds of files, /f0 and so on, are mapped through overlayfs; opening one fails late
 *
 * "ready" is said when the process under test runs; its PID comes before. All ends with SIGTERM or with
 * the parent; the connection is closed then, and whoever waits for the server goes on with an error.
 * Truth: the target spins. Status 77: the kernel does not allow what is needed here; why is said.
 */
#include <fcntl.h>
#include <grp.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "prog.h"

#define MAX_READ (128u << 10)
#define REQUEST_BYTES (MAX_READ + 4096)
#define ARENA_BYTES 65536u
#define SLOW_FILES 400
#define SLOW_MS 40

static volatile sig_atomic_t is_silent, is_over;
static bool is_slow_only, is_taker;
static int file_fd;
static struct stat file_st;
static pid_t server, target;

static void fail(const char *what)
{
	printf("needs %s: %s\n", what, strerror(errno));
	fflush(stdout);
	_exit(77);
}

static void on_signal(int sig)
{
	if (sig == SIGUSR1)
		is_silent = 1;
	else
		is_over = 1;
}

/* ---- the server ---- */

static void reply(int fuse_fd, uint64_t unique, int error, const void *bytes, size_t len)
{
	struct fuse_out_header head = { .len = (uint32_t)(sizeof(head) + len),
					.error = error,
					.unique = unique };
	struct iovec io[] = { { &head, sizeof(head) }, { (void *)(uintptr_t)bytes, len } };

	(void)!writev(fuse_fd, io, len ? 2 : 1); /* who asked may be gone */
}

static struct fuse_attr attr_of(uint64_t node)
{
	struct fuse_attr a = { .ino = node, .nlink = 1, .blksize = 4096 };

	a.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0777 : S_IFREG | 0777;
	a.size = node == FUSE_ROOT_ID ? 0 : (uint64_t)file_st.st_size;
	a.blocks = a.size / 512;
	return a;
}

static void serve_lookup(int fuse_fd, const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out out = { .attr_valid = 1 };

	if (name[0] != 'f' && strcmp(name, "SYSVevil")) {
		reply(fuse_fd, in->unique, -ENOENT, NULL, 0);
		return;
	}
	out.nodeid = 2 + strtoul(name + 1, NULL, 10);
	out.attr = attr_of(out.nodeid);
	reply(fuse_fd, in->unique, 0, &out, sizeof(out));
}

static void serve_read(int fuse_fd, const struct fuse_in_header *in, const struct fuse_read_in *rd)
{
	static char bytes[MAX_READ];
	size_t want = rd->size < MAX_READ ? rd->size : MAX_READ;
	ssize_t n = pread(file_fd, bytes, want, (off_t)rd->offset);

	reply(fuse_fd, in->unique, n < 0 ? -errno : 0, bytes, n < 0 ? 0 : (size_t)n);
}

static void serve_one(int fuse_fd, const struct fuse_in_header *in)
{
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
				      .minor = 26,
				      .max_write = 4096 };
	struct fuse_attr_out attr = { .attr_valid = 0, .attr = attr_of(in->nodeid) };
	struct fuse_open_out opened = { .fh = in->nodeid };
	struct fuse_kstatfs fs = { .bsize = 4096, .namelen = 255 };

	switch (in->opcode) {
	case FUSE_INIT:
		reply(fuse_fd, in->unique, 0, &init, FUSE_COMPAT_22_INIT_OUT_SIZE);
		break;
	case FUSE_LOOKUP:
		serve_lookup(fuse_fd, in, (const char *)(in + 1));
		break;
	case FUSE_GETATTR:
		reply(fuse_fd, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		if (is_silent) { /* slow only */
			usleep(SLOW_MS * 1000);
			reply(fuse_fd, in->unique, -EIO, NULL, 0);
			break;
		}
		reply(fuse_fd, in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_OPENDIR:
		reply(fuse_fd, in->unique, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		serve_read(fuse_fd, in, (const void *)(in + 1));
		break;
	case FUSE_STATFS:
		reply(fuse_fd, in->unique, 0, &fs, sizeof(fs));
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_ACCESS:
		reply(fuse_fd, in->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	case FUSE_GETXATTR:
	case FUSE_LISTXATTR:
		reply(fuse_fd, in->unique, -EOPNOTSUPP, NULL, 0);
		break;
	default:
		reply(fuse_fd, in->unique, -ENOSYS, NULL, 0);
	}
}

/* Until SIGTERM, or until the file system is unmounted. Silent, it still holds the connection. */
static _Noreturn void serve(int fuse_fd)
{
	static char request[REQUEST_BYTES] __attribute__((aligned(8)));
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	while (!is_over) {
		bool is_mute = is_silent && !is_slow_only && !is_taker;
		struct pollfd p = { .fd = is_mute ? -1 : fuse_fd, .events = POLLIN };

		if (poll(&p, 1, 100) <= 0 || (is_silent && !is_slow_only && !is_taker))
			continue;
		if (read(fuse_fd, request, sizeof(request)) > 0 && !(is_silent && is_taker))
			serve_one(fuse_fd, (const void *)request);
		else if (errno == ENODEV)
			break;
	}
	_exit(0);
}

/* ---- namespaces ---- */

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail(path);
	close(fd);
}

/* What fusermount3 is for, but where nobody else sees it. */
static void enter_mount_namespace(void)
{
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		fail("a mount namespace");
}

static void become(uid_t uid)
{
	if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
		fail("to become a user");
	prctl(PR_SET_DUMPABLE, 1); /* its own /proc/self/uid_map */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void enter_namespaces(void)
{
	uid_t uid = getuid();
	gid_t gid = getgid();
	char map[64];

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		fail("user namespaces");
	write_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	write_text("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	write_text("/proc/self/gid_map", map);
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		fail("a private mount namespace");
}

/* The server is a child: closing its end is what ends the waiting of everybody else. */
static pid_t start_server(const char *device, const char *at, uid_t uid)
{
	int fd = open(device, O_RDWR | O_CLOEXEC);
	char options[128];
	pid_t pid;

	if (fd < 0)
		fail(device);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u", fd, uid,
		 uid);
	if (mount("silent", at, "fuse", MS_NOSUID | MS_NODEV, options) < 0)
		fail("FUSE in a user namespace");
	if (uid)
		become(uid);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(fd);
	}
	close(fd);
	return pid;
}

/* ---- what is done with it ---- */

static NOINLINE uint64_t spin_silent(uint64_t x)
{
	while (!is_over)
		x = burn_steps(x, 100000);
	return x;
}

static void must_map(void *map, const char *what)
{
	if (map == MAP_FAILED)
		fail(what);
}

/* A loop in memory of its own: what a JIT makes. */
static void *make_code(void)
{
#if defined(__x86_64__)
	static const unsigned char loop[] = { 0x55, 0x48, 0x89, 0xe5, 0xf3, 0x90, 0xeb, 0xfc };
#else
	static const unsigned char loop[] = { 0x00, 0x00, 0x00, 0x14 }; /* b . */
#endif
	unsigned char *code =
		mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must_map(code, "memory");
	memcpy(code, loop, sizeof(loop));
	if (mprotect(code, ARENA_BYTES, PROT_READ | PROT_EXEC) < 0)
		fail("executable memory");
	return code;
}

/* Names and variables, and the first frames, which are never returned to. */
static NOINLINE void replace_page(uintptr_t page, int fd, void *code)
{
	printf("%d\n", (int)getpid());
	prog_say_ready();
	while (!is_silent) /* so that nobody has read it before */
		usleep(1000);
	must_map(mmap((void *)page, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0), "the page");
	((void (*)(void))code)();
}

static void run_random(const char *at)
{
	uintptr_t page = (uintptr_t)getauxval(AT_RANDOM) & ~4095ull;
	volatile char below[16384] __attribute__((unused)); /* of that page */
	char path[256];
	void *code = make_code();
	pid_t child = fork();
	int fd;

	if (child < 0)
		fail("fork");
	if (child > 0) { /* the child's code is its parent's, if both have come out of one exec */
		while (waitpid(child, NULL, WNOHANG) == 0) {
			if (is_silent)
				kill(child, SIGUSR1);
			usleep(10000);
		}
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)below[0];
	snprintf(path, sizeof(path), "%s/f", at);
	fd = open(path, O_RDONLY);
	replace_page(page, fd, code);
}

static void mount_overlay(const char *at)
{
	char options[512];

	if (mount("none", "/mnt", "tmpfs", 0, NULL) < 0 || mkdir("/mnt/lower", 0755) ||
	    mkdir("/mnt/merged", 0755))
		fail("tmpfs");
	snprintf(options, sizeof(options), "lowerdir=%s:/mnt/lower", at);
	if (mount("overlay", "/mnt/merged", "overlay", 0, options) < 0)
		fail("overlayfs on FUSE in a user namespace");
}

static void run_tmp(const char *at)
{
	void *code = make_code();

	mount_overlay(at);
	if (mount("/mnt/merged", "/tmp", NULL, MS_BIND, NULL) < 0)
		fail("a bind mount");
	printf("%d\n", (int)getpid());
	prog_say_ready();
	((void (*)(void))code)();
}

/* The file system becomes the root of a mount namespace: what paths begin with. */
static void run_sysv(const char *at)
{
	void *code;
	int fd;

	enter_namespaces();
	if (mount(at, at, NULL, MS_BIND, NULL) < 0 || chdir(at) < 0 ||
	    syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0)
		fail("pivot_root");
	fd = open("/SYSVevil", O_RDONLY);
	code = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	must_map(code, "an executable mapping of a FUSE file");
	printf("%d\n", (int)getpid());
	prog_say_ready();
	spin_silent(1);
}

static void *replace_when_silent(void *map)
{
	while (!is_silent)
		usleep(1000);
	return mmap(map, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

/* Closing a mapping writes back what was written to it. Where another takes its place, that is waited
 * for with the lock held for writing. */
static void run_lock(const char *at)
{
	char path[256], *map;
	pthread_t thread;
	int fd;

	snprintf(path, sizeof(path), "%s/f", at);
	fd = open(path, O_RDWR);
	map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must_map(map, "a shared mapping of a FUSE file");
	map[0] = 1;
	if (pthread_create(&thread, NULL, replace_when_silent, map))
		fail("threads");
	printf("%d\n", (int)getpid());
	prog_say_ready();
	spin_silent(1);
}

static void run_file(const char *at)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/f", at);
	printf("%d\n", (int)getpid());
	prog_say_ready();
	execl(path, "f", "0", (char *)NULL);
	fail("to execute a FUSE file");
}

static void run_overlay(const char *at)
{
	mount_overlay(at);
	run_file("/mnt/merged");
}

static void run_slow(const char *at)
{
	char path[256];

	mount_overlay(at);
	for (int i = 0; i < SLOW_FILES; i++) {
		int fd;

		snprintf(path, sizeof(path), "/mnt/merged/f%d", i);
		fd = open(path, O_RDONLY);
		must_map(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0),
			 "an executable mapping through overlayfs");
		close(fd);
	}
	printf("%d\n", (int)getpid());
	prog_say_ready();
	spin_silent(1);
}

static void run(const char *mode, const char *at)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (strcmp(mode, "random") == 0)
		run_random(at);
	else if (strcmp(mode, "tmp") == 0)
		run_tmp(at);
	else if (strcmp(mode, "sysv") == 0)
		run_sysv(at);
	else if (strcmp(mode, "lock") == 0)
		run_lock(at);
	else if (strcmp(mode, "overlay") == 0)
		run_overlay(at);
	else if (strcmp(mode, "slow") == 0)
		run_slow(at);
	else
		run_file(at);
	_exit(0);
}

/* Until the target ends, whose status is returned, or SIGTERM comes. */
static int watch(const char *mode)
{
	int status;

	for (bool was_silent = false; !is_over;) {
		if (waitpid(target, &status, WNOHANG) == target)
			return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
		if (is_silent && !was_silent) {
			kill(server, SIGUSR1);
			usleep(200000); /* longer than it waits for a request */
			if (!strcmp(mode, "lock") || !strcmp(mode, "random"))
				kill(target, SIGUSR1);
			was_silent = true;
		}
		usleep(10000);
	}
	return 0;
}

static void mount_and_serve(const char *device, const char *at, uid_t uid)
{
	if (uid && chown(at, uid, uid) < 0)
		fail("chown");
	if (uid)
		enter_mount_namespace();
	else
		enter_namespaces();
	server = start_server(device, at, uid);
}

int main(int argc, char **argv)
{
	char at[] = "/tmp/silent_fuse.XXXXXX";
	struct sigaction sa = { .sa_handler = on_signal };
	int status;

	if (argc != 4 && argc != 5)
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	is_slow_only = strcmp(argv[2], "slow") == 0;
	is_taker = strcmp(argv[2], "taken") == 0;
	if (is_taker) /* what is executed there is about to be quicker than others, if it may */
		(void)setpriority(PRIO_PROCESS, 0, -20);
	file_fd = open(argv[3], O_RDONLY | O_CLOEXEC);
	if (file_fd < 0 || fstat(file_fd, &file_st) < 0 || !mkdtemp(at))
		fail(argv[3]);
	mount_and_serve(argv[1], at, (uid_t)arg_number(argc, argv, 4, 0));
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	target = fork();
	if (target == 0)
		run(argv[2], at);
	status = watch(argv[2]);
	kill(server, SIGKILL); /* first: the target may wait for it */
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	waitpid(server, NULL, 0);
	return status;
}
