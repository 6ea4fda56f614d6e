/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/outfile.h"
#include "tap.h"

/* Stands before libc's: a file system without nameless files, or one that cannot rename without
 * replacing, at will. */
static bool no_tmpfile, no_noreplace;

int openat(int dir_fd, const char *path, int flags, ...);
int openat(int dir_fd, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	if (no_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return (int)syscall(SYS_openat, dir_fd, path, flags, mode);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned int flags)
{
	if (no_noreplace && flags) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

static char dir[] = "/tmp/outfile.XXXXXX";

static const char *in_dir(const char *name)
{
	static char paths[4][256];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static const char *contents(const char *path)
{
	static char text[256];
	FILE *f = fopen(path, "r");
	size_t n;

	if (!f)
		return NULL;
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	fclose(f);
	return text;
}

static bool has_text(const char *path, const char *text)
{
	const char *got = contents(path);

	return got && strcmp(got, text) == 0;
}

static void put_file(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	must(f && fputs(text, f) >= 0 && fclose(f) == 0 && chmod(path, mode) == 0);
}

static int nr_entries(void)
{
	DIR *d = opendir(dir);
	int n = 0;

	must(d);
	for (struct dirent *e; (e = readdir(d));)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(d);
	return n;
}

/* Removes what a test made, so that each begins with an empty directory. */
static void sweep(void)
{
	DIR *d = opendir(dir);

	must(d);
	for (struct dirent *e; (e = readdir(d));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			must(unlinkat(dirfd(d), e->d_name, 0) == 0 ||
			     unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR) == 0);
	closedir(d);
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

/* Opens, writes, commits; the result of the first that fails. */
static int save(const char *path, const struct outfile_options *opts, const char *text,
		struct pa_error *err)
{
	struct outfile *f = NULL;
	int r = outfile_open(path, opts, &f, err);

	if (r == 0)
		r = outfile_write(f, text, strlen(text), err);
	if (r == 0)
		r = outfile_commit(f, err);
	outfile_free(f);
	return r;
}

static void test_appears_whole_or_not(void)
{
	struct outfile *f = NULL;

	must(outfile_open(in_dir("a.pb.gz"), NULL, &f, NULL) == 0);
	must(outfile_write(f, "hello", 5, NULL) == 0);
	ok(access(in_dir("a.pb.gz"), F_OK) < 0 && !outfile_is_committed(f),
	   "before commit the final name does not exist");
	ok(nr_entries() == (no_tmpfile ? 1 : 0), "before commit there is at most one hidden file");
	ok(outfile_commit(f, NULL) == 0 && has_text(in_dir("a.pb.gz"), "hello"),
	   "after commit the file is there, complete");
	ok(outfile_size(f) == 5 && outfile_is_committed(f),
	   "after commit the size of the file is known");
	ok(strcmp(outfile_path(f), in_dir("a.pb.gz")) == 0, "the path is the one asked for");
	outfile_free(f);
	ok(nr_entries() == 1, "after commit nothing else is left");
	must(outfile_open(in_dir("b"), NULL, &f, NULL) == 0);
	must(outfile_write(f, "x", 1, NULL) == 0);
	outfile_free(f);
	ok(nr_entries() == 1, "a file that is not committed leaves nothing");
	sweep();
}

static void test_replaces(void)
{
	struct outfile *f = NULL;

	put_file(in_dir("a"), "old", 0640);
	must(outfile_open(in_dir("a"), NULL, &f, NULL) == 0);
	must(outfile_write(f, "new", 3, NULL) == 0);
	ok(has_text(in_dir("a"), "old"), "the old file stays until commit");
	ok(outfile_commit(f, NULL) == 0 && has_text(in_dir("a"), "new"),
	   "commit replaces the old file");
	ok(mode_of(in_dir("a")) == 0640, "a replaced file keeps its mode");
	outfile_free(f);
	ok(nr_entries() == 1, "after replacing nothing else is left");
	sweep();
}

static void test_new_mode_obeys_umask(void)
{
	mode_t old = umask(027);

	must(save(in_dir("a"), NULL, "x", NULL) == 0);
	umask(old);
	ok(mode_of(in_dir("a")) == 0640, "a new file has mode 0666 minus the umask");
	sweep();
}

static void test_unique(void)
{
	const struct outfile_options opts = { .unique = true };
	struct outfile *f = NULL, *g = NULL;

	put_file(in_dir("a.pb.gz"), "old", 0600);
	must(outfile_open(in_dir("a.pb.gz"), &opts, &f, NULL) == 0);
	must(outfile_open(in_dir("a.pb.gz"), &opts, &g, NULL) == 0);
	must(outfile_write(f, "1", 1, NULL) == 0 && outfile_write(g, "2", 1, NULL) == 0);
	ok(outfile_commit(g, NULL) == 0 && outfile_commit(f, NULL) == 0,
	   "two agents open the same automatic name");
	ok(has_text(in_dir("a.pb.gz"), "old"), "automatic names never replace an existing file");
	ok(has_text(in_dir("a-1.pb.gz"), "2"), "the first to commit gets number 1");
	ok(has_text(in_dir("a-2.pb.gz"), "1"), "the second to commit gets number 2");
	ok(strcmp(outfile_path(f), in_dir("a-2.pb.gz")) == 0,
	   "the second agent reports its number");
	outfile_free(f);
	outfile_free(g);
	ok(nr_entries() == 3, "two agents leave nothing else");
	sweep();
	must(symlink("nowhere", in_dir("a")) == 0);
	must(save(in_dir("a"), &opts, "x", NULL) == 0);
	ok(has_text(in_dir("a-1"), "x"), "a dangling link counts as a taken name");
	sweep();
}

static bool are_same(const char *a, const char *b, const struct outfile_options *opts)
{
	_cleanup_(outfile_freep) struct outfile *f = NULL, *g = NULL;

	must(outfile_open(a, opts, &f, NULL) == 0 && outfile_open(b, opts, &g, NULL) == 0);
	return outfile_is_same(f, g);
}

static void test_same_file(void)
{
	const struct outfile_options unique = { .unique = true };

	must(symlink(".", in_dir("here")) == 0 && symlink("a", in_dir("link")) == 0);
	ok(are_same(in_dir("a"), in_dir("./a"), NULL), "two spellings of a path are the same file");
	ok(are_same(in_dir("a"), in_dir("here/a"), NULL),
	   "paths through a link to the directory are the same file");
	ok(are_same(in_dir("link"), in_dir("a"), NULL),
	   "a link is the same file as the one it will create");
	put_file(in_dir("a"), "old", 0600);
	ok(are_same(in_dir("link"), in_dir("a"), NULL),
	   "a link is the same file as the one it replaces");
	ok(!are_same(in_dir("a"), in_dir("b"), NULL), "two names in a directory are two files");
	ok(!are_same(in_dir("a"), in_dir("a"), &unique), "automatic names never meet");
	ok(!are_same("/dev/null", "/dev/null", NULL) && !are_same("-", "-", NULL),
	   "outputs written in place replace nothing");
	must(link(in_dir("a"), in_dir("hard")) == 0);
	ok(!are_same(in_dir("a"), in_dir("hard"), NULL),
	   "hard links are two names, of which each is replaced alone");
	sweep();
}

static void test_links_are_followed(void)
{
	put_file(in_dir("target"), "old", 0600);
	must(symlink("target", in_dir("link")) == 0 && symlink("link", in_dir("second")) == 0);
	ok(save(in_dir("second"), NULL, "new", NULL) == 0, "a link to a link is written through");
	ok(has_text(in_dir("target"), "new"), "the target of the link has the bytes");
	ok(readlink(in_dir("second"), (char[8]){ 0 }, 8) == 4, "the link is still a link");
	sweep();
	must(symlink(in_dir("later"), in_dir("link")) == 0);
	ok(save(in_dir("link"), NULL, "new", NULL) == 0 && has_text(in_dir("later"), "new"),
	   "a link to nothing creates its target");
	sweep();
	must(symlink("b", in_dir("a")) == 0 && symlink("a", in_dir("b")) == 0);
	ok(save(in_dir("a"), NULL, "x", NULL) == -ELOOP, "a loop of links is an error");
	sweep();
}

static void test_foreign_links_in_sticky_directories(void)
{
	if (geteuid() != 0) {
		tap_skip("needs root to make a link of another user");
		return;
	}
	put_file(in_dir("target"), "old", 0600);
	must(chmod(dir, 01777) == 0 && symlink("target", in_dir("link")) == 0);
	must(lchown(in_dir("link"), 12345, 12345) == 0);
	ok(save(in_dir("link"), NULL, "new", NULL) == -EACCES && has_text(in_dir("target"), "old"),
	   "a link that another user put into a directory like /tmp is not followed");
	must(chmod(dir, 0700) == 0);
	sweep();
}

static void test_errors_name_path_and_advice(void)
{
	struct pa_error err = { 0 };
	char expected[600];
	char *path = NULL;

	must(asprintf(&path, "%s/no/a.pb.gz", dir) > 0);
	snprintf(expected, sizeof(expected),
		 "cannot write '%s': no such directory '%s/no': create it or choose another path",
		 path, dir);
	ok(save(path, NULL, "x", &err) == -ENOENT, "a missing directory is an error at open");
	ok(strcmp(err.text, expected) == 0, "'%s'", err.text);
	free(path);

	err = (struct pa_error){ 0 };
	put_file(in_dir("file"), "", 0600);
	ok(save(in_dir("file/a"), NULL, "x", &err) == -ENOTDIR, "'%s'", err.text);
	err = (struct pa_error){ 0 };
	ok(save(dir, NULL, "x", &err) == -EISDIR, "'%s'", err.text);
	err = (struct pa_error){ 0 };
	ok(save(in_dir(""), NULL, "x", &err) == -EISDIR, "'%s'", err.text);
	err = (struct pa_error){ 0 };
	ok(save("", NULL, "x", &err) == -EINVAL, "'%s'", err.text);
	err = (struct pa_error){ 0 };
	must(asprintf(&path, "%s/%0300d", dir, 0) > 0);
	ok(save(path, NULL, "x", &err) == -ENAMETOOLONG, "a name of 300 bytes is an error at open");
	free(path);
	ok(nr_entries() == 1, "failed opens leave nothing");
	sweep();
}

static void test_places_without_files(void)
{
	struct pa_error err = { 0 };
	int before = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	must(before >= 0);
	ok(save("/proc/x", NULL, "x", &err) == -EOPNOTSUPP &&
		   strstr(err.text, "file system of '/proc' does not allow creating files"),
	   "'%s'", err.text);
	err = (struct pa_error){ 0 };
	if (geteuid() != 0)
		tap_skip("only root may try to create files in /sys");
	else
		ok(save("/sys/x", NULL, "x", &err) == -EOPNOTSUPP, "'%s'", err.text);
	err = (struct pa_error){ 0 };
	must(mkdir(in_dir("gone"), 0700) == 0 && chdir(in_dir("gone")) == 0);
	must(rmdir(in_dir("gone")) == 0);
	ok(save("x", NULL, "x", &err) == -ESTALE && strstr(err.text, "'.' has been deleted"),
	   "'%s'", err.text);
	must(fchdir(before) == 0);
	close(before);
}

static void test_no_permission(void)
{
	struct pa_error err = { 0 };

	if (geteuid() == 0) {
		tap_skip("root may write everywhere");
		return;
	}
	must(chmod(dir, 0500) == 0);
	ok(save(in_dir("a"), NULL, "x", &err) == -EACCES, "'%s'", err.text);
	must(chmod(dir, 0700) == 0);
}

static void test_in_place(void)
{
	struct pa_error err = { 0 };
	char text[8] = "";
	pid_t pid;
	int fd, status;

	ok(save("/dev/null", NULL, "x", NULL) == 0 && access("/dev/null", F_OK) == 0 &&
		   mode_of("/dev/null") == 0666,
	   "/dev/null is written in place");
	must(mkfifo(in_dir("fifo"), 0600) == 0);
	pid = fork();
	must(pid >= 0);
	if (pid == 0)
		_exit(save(in_dir("fifo"), NULL, "through", NULL) == 0 ? 0 : 1);
	fd = open(in_dir("fifo"), O_RDONLY);
	must(fd >= 0 && waitpid(pid, &status, 0) == pid);
	ok(status == 0 && read(fd, text, 7) == 7 && strcmp(text, "through") == 0,
	   "a FIFO is written in place");
	close(fd);
	if (access("/dev/full", W_OK) == 0)
		ok(save("/dev/full", NULL, "x", &err) == -ENOSPC &&
			   strncmp(err.text, "disk full while writing '/dev/full'", 35) == 0,
		   "'%s'", err.text);
	else
		tap_skip("needs /dev/full");
	sweep();
}

/* In a child, whose standard output is fd; the result of save(). */
static int save_with_stdout(const char *path, int fd, const char *text)
{
	pid_t pid = fork();
	int status;

	must(pid >= 0);
	if (pid == 0) {
		(void)dup2(fd, STDOUT_FILENO);
		_exit(-save(path, NULL, text, NULL));
	}
	must(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -1000;
}

static void test_standard_output(void)
{
	int fd = open(in_dir("out"), O_CREAT | O_RDWR | O_CLOEXEC, 0600);

	must(fd >= 0);
	ok(save_with_stdout("-", fd, "one ") == 0 && has_text(in_dir("out"), "one "),
	   "'-' is standard output");
	ok(save_with_stdout("/dev/stdout", fd, "two") == 0 && has_text(in_dir("out"), "one two"),
	   "/dev/stdout is standard output, also if it is a file");
	ok(nr_entries() == 1, "writing to standard output leaves nothing else");
	close(fd);
	sweep();
}

static void test_slow_reader(void)
{
	static char big[4u << 20]; /* not on the heap: the child exits in the middle of it */
	size_t size = sizeof(big), got = 0;
	int p[2], status;
	char buf[4096];
	pid_t pid;

	must(pipe2(p, O_CLOEXEC | O_NONBLOCK) == 0);
	memset(big, 'x', size - 1);
	pid = fork();
	must(pid >= 0);
	if (pid == 0) {
		close(p[0]);
		(void)dup2(p[1], STDOUT_FILENO);
		_exit(-save("-", NULL, big, NULL));
	}
	close(p[1]);
	must(fcntl(p[0], F_SETFL, 0) == 0);
	for (ssize_t n; (n = read(p[0], buf, sizeof(buf))) > 0;)
		got += (size_t)n;
	must(waitpid(pid, &status, 0) == pid);
	ok(status == 0 && got == size - 1, "a non-blocking pipe gets all of %zu bytes", got);
	close(p[0]);
}

static atomic_bool is_cancelled;

static void *cancel_soon(void *unused)
{
	(void)unused;
	usleep(50000); /* not a wait for something: the time in which a write gets stuck */
	atomic_store(&is_cancelled, true);
	return NULL;
}

static bool was_cancelled(void *unused)
{
	(void)unused;
	return atomic_load(&is_cancelled);
}

/* Writes where nobody reads, until it is cancelled; what outfile_write() said. */
static int write_until_cancelled(const char *path)
{
	static const char bytes[1u << 20];
	const struct outfile_options opts = { .is_cancelled = was_cancelled };
	struct outfile *f = NULL;
	pthread_t thread;
	int r;

	atomic_store(&is_cancelled, false);
	must(outfile_open(path, &opts, &f, NULL) == 0);
	must(pthread_create(&thread, NULL, cancel_soon, NULL) == 0);
	alarm(20); /* ends the test if it cannot be cancelled */
	r = outfile_write(f, bytes, sizeof(bytes), NULL);
	alarm(0);
	pthread_join(thread, NULL);
	if (outfile_commit(f, NULL) != -ECANCELED)
		r = 0;
	outfile_free(f);
	return r;
}

/* The flags of the pipe that standard output was, afterwards, in *ret_flags. */
static int write_stdout_until_cancelled(int fd, int *ret_flags)
{
	int r, saved = dup(STDOUT_FILENO);

	fflush(stdout);
	must(saved >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
	r = write_until_cancelled("-");
	must(dup2(saved, STDOUT_FILENO) >= 0);
	close(saved);
	*ret_flags = fcntl(fd, F_GETFL);
	return r;
}

static void test_cancelled_while_blocked(void)
{
	int p[2], sockets[2], flags, fd, terminal;

	must(mkfifo(in_dir("fifo"), 0600) == 0);
	fd = open(in_dir("fifo"), O_RDWR | O_CLOEXEC); /* a reader that does not read */
	must(fd >= 0);
	ok(write_until_cancelled(in_dir("fifo")) == -ECANCELED, "a full FIFO can be cancelled");
	close(fd);
	terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal < 0 || grantpt(terminal) < 0 || unlockpt(terminal) < 0 ||
	    access(ptsname(terminal), W_OK) < 0)
		tap_skip("needs pseudo-terminals");
	else
		ok(write_until_cancelled(ptsname(terminal)) == -ECANCELED,
		   "writing to a terminal can be cancelled");
	if (terminal >= 0)
		close(terminal);
	must(pipe2(p, O_CLOEXEC) == 0);
	ok(write_stdout_until_cancelled(p[1], &flags) == -ECANCELED,
	   "writing to standard output can be cancelled");
	ok(!(flags & O_NONBLOCK), "the shared flags of standard output are unchanged");
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
	ok(write_stdout_until_cancelled(sockets[0], &flags) == -ECANCELED,
	   "writing to a socket, which cannot be reopened, can be cancelled");
	close(p[0]);
	close(p[1]);
	close(sockets[0]);
	close(sockets[1]);
	sweep();
}

static void test_closed_pipe(void)
{
	struct pa_error err = { 0 };
	struct outfile *f = NULL;
	struct sigaction before, after;
	sigset_t mask_before, mask_after, pending;
	int p[2], saved = dup(STDOUT_FILENO);

	must(pipe2(p, O_CLOEXEC) == 0 && saved >= 0);
	fflush(stdout);
	must(dup2(p[1], STDOUT_FILENO) >= 0);
	must(outfile_open("-", NULL, &f, NULL) == 0);
	must(dup2(saved, STDOUT_FILENO) >= 0);
	close(p[0]);
	must(sigaction(SIGPIPE, NULL, &before) == 0 && before.sa_handler == SIG_DFL);
	pthread_sigmask(SIG_BLOCK, NULL, &mask_before);
	ok(outfile_write(f, "x", 1, &err) == -EPIPE, "a pipe without a reader is an error");
	ok(strcmp(err.text, "cannot write standard output: its reader is gone") == 0, "'%s'",
	   err.text);
	pthread_sigmask(SIG_BLOCK, NULL, &mask_after);
	sigpending(&pending);
	must(sigaction(SIGPIPE, NULL, &after) == 0);
	ok(!sigismember(&mask_after, SIGPIPE), "the signal mask is unchanged after EPIPE");
	ok(!sigismember(&pending, SIGPIPE), "no signal is left pending after EPIPE");
	ok(after.sa_handler == SIG_DFL, "the signal disposition is unchanged after EPIPE");
	ok(outfile_commit(f, NULL) == -EPIPE && !outfile_is_committed(f),
	   "a file whose write failed cannot be committed");
	outfile_free(f);
	close(p[1]);
	close(saved);
}

static void test_file_size_limit(void)
{
	pid_t pid = fork();
	int status;

	must(pid >= 0);
	if (pid == 0) {
		const struct rlimit limit = { 2, 2 };

		(void)setrlimit(RLIMIT_FSIZE, &limit);
		_exit(-save(in_dir("a"), NULL, "more than two", NULL));
	}
	must(waitpid(pid, &status, 0) == pid);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == EFBIG,
	   "exceeding the file size limit is an error, not a fatal signal");
	ok(nr_entries() == 0, "exceeding the file size limit leaves nothing");
}

/* 0, or what stands in the way: a step's name and its errno. */
static int mount_small_disk(const char *at, const char **ret_step)
{
	*ret_step = "a mount namespace";
	if (unshare(CLONE_NEWNS) < 0)
		return -errno;
	/* A chroot's / often is not a mount point: nothing can be said about its propagation. */
	*ret_step = "/ to be a mount point";
	if (mount("none", "/", "", MS_REC | MS_PRIVATE, "") < 0)
		return -errno;
	*ret_step = "a tmpfs";
	return mount("none", at, "tmpfs", 0, "size=64k") < 0 ? -errno : 0;
}

static void skip_small_disk(const char *step, int r)
{
	char why[128];

	snprintf(why, sizeof(why), "a small disk needs %s%s: %s", step,
		 geteuid() == 0 ? "" : " (and so root)", strerror(-r));
	tap_skip(why);
}

static void test_full_disk(void)
{
	const char *disk = in_dir("disk");
	struct pa_error err = { 0 };
	char path[300], expected[400], *big = calloc(1, 100001);
	const char *step;
	int r;

	must(big && mkdir(disk, 0700) == 0);
	memset(big, 'x', 100000);
	r = mount_small_disk(disk, &step);
	if (r < 0) {
		skip_small_disk(step, r);
		free(big);
		rmdir(disk);
		return;
	}
	snprintf(path, sizeof(path), "%s/a.pb.gz", disk);
	snprintf(expected, sizeof(expected),
		 "disk full while writing '%s': nothing was left under that name", path);
	ok(save(path, NULL, big, &err) == -ENOSPC, "a full disk is an error");
	ok(strcmp(err.text, expected) == 0, "'%s'", err.text);
	ok(access(path, F_OK) < 0, "a full disk leaves no file");
	put_file(path, "old", 0600);
	err = (struct pa_error){ 0 };
	ok(save(path, NULL, big, &err) == -ENOSPC && has_text(path, "old"),
	   "a full disk leaves an existing file unchanged");
	ok(strstr(err.text, "the old file is unchanged") != NULL, "'%s'", err.text);
	ok(save(path, NULL, "new", NULL) == 0 && has_text(path, "new"),
	   "disk space is released at once");
	must(umount2(disk, MNT_DETACH) == 0);
	sweep();
	free(big);
}

static void test_owner(void)
{
	const struct outfile_options mine = { .set_owner = true, .uid = getuid(), .gid = getgid() };
	const struct outfile_options other = { .set_owner = true, .uid = 12345, .gid = 12346 };
	struct pa_error err = { 0 };
	struct stat st;

	ok(save(in_dir("a"), &mine, "x", NULL) == 0, "a file may be given to oneself");
	if (geteuid() != 0) {
		ok(save(in_dir("b"), &other, "x", &err) == -EPERM, "'%s'", err.text);
	} else {
		must(save(in_dir("b"), &other, "x", NULL) == 0 && stat(in_dir("b"), &st) == 0);
		ok(st.st_uid == 12345 && st.st_gid == 12346,
		   "root gives the file to the caller of sudo");
	}
	sweep();
}

static void test_naming(void)
{
	test_appears_whole_or_not();
	test_replaces();
	test_new_mode_obeys_umask();
	test_unique();
	test_same_file();
}

static void test_patch(void)
{
	_cleanup_(outfile_freep) struct outfile *f = NULL, *in_place = NULL;
	struct pa_error err = { 0 };

	must(outfile_open(in_dir("a"), NULL, &f, NULL) == 0);
	must(outfile_write(f, "0000 and more", 13, NULL) == 0);
	ok(outfile_can_patch(f) && outfile_patch(f, 1, "12", 2, NULL) == 0 &&
		   outfile_write(f, ".", 1, NULL) == 0 && outfile_commit(f, NULL) == 0 &&
		   has_text(in_dir("a"), "0120 and more."),
	   "bytes can be replaced; what is written then follows the end");
	f = outfile_free(f);
	must(outfile_open(in_dir("b"), NULL, &f, NULL) == 0 &&
	     outfile_write(f, "0000", 4, NULL) == 0);
	ok(outfile_patch(f, 3, "12", 2, &err) == -ESPIPE && outfile_commit(f, NULL) == -ESPIPE,
	   "only bytes that were written before can be patched: %s", err.text);
	must(outfile_open("/dev/null", NULL, &in_place, NULL) == 0);
	ok(!outfile_can_patch(in_place) && outfile_write(in_place, "0", 1, NULL) == 0 &&
		   outfile_patch(in_place, 0, "1", 1, NULL) == -ESPIPE,
	   "a file that is written in place cannot be patched");
	sweep();
}

int main(void)
{
	must(mkdtemp(dir));
	test_patch();
	test_naming();
	no_tmpfile = true;
	test_naming();
	no_noreplace = true;
	test_unique();
	no_tmpfile = no_noreplace = false;
	test_links_are_followed();
	test_foreign_links_in_sticky_directories();
	test_errors_name_path_and_advice();
	test_places_without_files();
	test_no_permission();
	test_in_place();
	test_standard_output();
	test_slow_reader();
	test_cancelled_while_blocked();
	test_closed_pipe();
	test_file_size_limit();
	test_owner();
	test_full_disk();
	must(rmdir(dir) == 0);
	return tap_done();
}
