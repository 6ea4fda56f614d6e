/* SPDX-License-Identifier: Apache-2.0 */
/* A FIFO that nobody writes to is a file that never answers: opening it waits for ever. */
#include <pthread.h>
#include <signal.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "fake_proc.h"
#include "proc/run_clock.h"
#include "proc/unanswered.h"
#include "proc/wait_accounts.h"

#define QUICK_NS (50 * NS_PER_MS)

static const struct reader_limits quick = { .deadline_ns = QUICK_NS };

static struct reader *new_reader(const struct fake *f)
{
	struct reader *r;

	must(reader_new(f->procfs.fd, &quick, &r) == 0);
	return r;
}

static void make_fifo(const struct fake *f, const char *name)
{
	char path[PATH_MAX];

	fake_parents(f, name);
	must(mkfifo(fake_path(f, name, path), 0600) == 0);
}

/* The text of a file, or "" and the error. */
static int read_text(struct reader *r, const char *name, char text[64])
{
	_cleanup_(buf_done) struct buf b = BUF_INIT(63);
	int result = reader_read(r, name, 0, 63, NULL, &b);

	memcpy(text, b.data ? b.data : "", b.len);
	text[b.len] = '\0';
	return result;
}

static bool has_text(struct reader *r, const char *name, const char *wanted)
{
	char text[64];

	return read_text(r, name, text) == 0 && strcmp(text, wanted) == 0;
}

static void test_reads(const struct fake *f, struct reader *r)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT(1u << 20);
	_cleanup_(freep) char *big = malloc(300000);
	char text[64];

	must(big);
	for (size_t i = 0; i < 300000; i++)
		big[i] = (char)(i % 251);
	fake_write(f, "1/comm", "x\n");
	fake_write_bytes(f, "1/big", big, 300000);
	ok(has_text(r, "1/comm", "x\n"), "a file is read");
	ok(read_text(r, "1/none", text) == -ENOENT, "a missing file is -ENOENT");
	ok(reader_read(r, "1/big", 0, 1u << 20, NULL, &b) == 0 && b.len == 300000 &&
		   memcmp(b.data, big, b.len) == 0,
	   "a file larger than a packet is read completely");
	buf_clear(&b);
	ok(reader_read(r, "1/big", 70000, 100000, NULL, &b) == 0 && b.len == 100000 &&
		   memcmp(b.data, big + 70000, b.len) == 0,
	   "no more of a file is read than asked for");
	ok(read_text(r, "1/big", text) == 0 && reader_read(r, "1/big", 0, 64, NULL, &b) == 0,
	   "unwanted text is not received");
	fake_link(f, "1/link", "/some/where");
	buf_clear(&b);
	ok(reader_link(r, "1/link", NULL, &b) == 0 && b.len == 11 &&
		   !memcmp(b.data, "/some/where", 11),
	   "the target of a link is returned");
}

/* Within five seconds; one that has ended may not have been waited for yet. */
static bool ends(pid_t pid)
{
	char path[64], state = 'Z';
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	for (int i = 0; i < 500; i++) {
		f = fopen(path, "re");
		if (!f)
			return true;
		(void)!fscanf(f, "%*d (%*[^)]) %c", &state);
		fclose(f);
		if (state == 'Z' || state == 'X')
			return true;
		usleep(10000);
	}
	return false;
}

static void test_no_answer(const struct fake *f)
{
	struct reader *r = new_reader(f);
	pid_t before = reader_pid(r), after;
	struct reader_stats stats;
	char text[64];

	make_fifo(f, "2/maps");
	ok(read_text(r, "2/maps", text) == -ETIMEDOUT, "a file that never answers is abandoned");
	ok(has_text(r, "1/comm", "x\n"), "after an abandoned request the next one is answered");
	after = reader_pid(r);
	ok(before != after && after > 0, "after an abandoned request another process answers");
	stats = reader_stats(r);
	ok(stats.nr_unanswered == 1 && stats.nr_abandoned == 1, "an abandoned reader is counted");
	ok(ends(before), "an abandoned reader is killed");
	reader_free(r);
	ok(ends(after), "no reader outlives its session");
}

/* ---- slow files ---- */

#define SLOW_NS (20 * NS_PER_MS)

/* A FIFO that is answered, but late. */
struct slow {
	pthread_t thread;
	char path[PATH_MAX];
	atomic_bool is_over;
};

static void *serve_slowly(void *ctx)
{
	struct slow *s = ctx;
	struct timespec delay = { 0, SLOW_NS };

	while (!s->is_over) {
		int fd;

		nanosleep(&delay, NULL);
		fd = open(s->path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		closep(&fd); /* -1: nobody opens it now */
	}
	return NULL;
}

static void slow_begin(struct slow *s, const struct fake *f, const char *name)
{
	make_fifo(f, name);
	fake_path(f, name, s->path);
	s->is_over = false;
	must(pthread_create(&s->thread, NULL, serve_slowly, s) == 0);
}

static void slow_end(struct slow *s)
{
	s->is_over = true;
	must(pthread_join(s->thread, NULL) == 0);
}

static void test_sleep_is_measured(const struct fake *f)
{
	struct reader *r = new_reader(f);
	struct reader_wait wait = { .deadline_ns = 10 * NS_PER_S };
	_cleanup_(buf_done) struct buf b = BUF_INIT(64);
	int result = -ESPIPE;
	struct slow s;

	slow_begin(&s, f, "3/slow");
	ok(reader_read(r, "1/comm", 0, 64, &wait, &b) == 0, "sleep: a file answers at once");
	/* A host may take the CPU away meanwhile, which looks like sleep; the time before a request always would. */
	for (int i = 0; i < 100 && (i == 0 || wait.slept_ns >= 10 * NS_PER_MS); i++) {
		usleep(20000);
		buf_clear(&b);
		must(reader_read(r, "1/comm", 0, 64, &wait, &b) == 0);
	}
	ok(wait.slept_ns < 10 * NS_PER_MS,
	   "sleep: a file that answers at once costs nothing: %llu ns",
	   (unsigned long long)wait.slept_ns);
	wait.slept_ns = 0;
	/* On a busy machine the other end may come just when this one does. */
	for (int i = 0; i < 100 && result == -ESPIPE && wait.slept_ns <= NS_PER_MS; i++)
		result = reader_read(r, "3/slow", 0, 64, &wait, &b);
	ok(result == -ESPIPE, "sleep: a FIFO opens late");
	ok(wait.slept_ns > NS_PER_MS, "sleep: opening late costs that time: %llu ns",
	   (unsigned long long)wait.slept_ns);
	wait = (struct reader_wait){ .deadline_ns = 20 * NS_PER_MS };
	ok(reader_read(r, "2/maps", 0, 64, &wait, &b) == -ETIMEDOUT,
	   "sleep: another FIFO never opens");
	ok(wait.slept_ns >= wait.deadline_ns, "sleep: no answer costs the deadline: %llu ns",
	   (unsigned long long)wait.slept_ns);
	slow_end(&s);
	reader_free(r);
}

/* Whether the clock counts two milliseconds of work. No system call comes between, which would bring the
 * kernel's statistics up to date. */
static bool counts_work(int sched_fd)
{
	uint64_t before_ns = run_clock_ns(sched_fd), ran_ns,
		 cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t end_ns = clock_mono_ns() + 2 * NS_PER_MS;

	while (clock_mono_ns() < end_ns)
		continue;
	ran_ns = run_clock_ns(sched_fd) - before_ns;
	cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
	return ran_ns + NS_PER_MS / 4 > cpu_ns;
}

static void test_run_clock(const struct fake *f)
{
	int own = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC), fd, nr = 0;
	char path[PATH_MAX];
	uint64_t diff_ns;

	for (int i = 0; i < 8; i++)
		nr += counts_work(own);
	ok(nr == 8, "sleep: work below a tick does not count: %d of 8 times", nr);
	fake_write(f, "3/schedstat", "0 0 0\n");
	fd = open(fake_path(f, "3/schedstat", path), O_RDONLY | O_CLOEXEC);
	ok(counts_work(fd), "sleep: work does not count without kernel statistics either");
	fake_write(f, "3/schedstat", "1 9000000000000 5\n");
	diff_ns = run_clock_ns(fd) - clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	ok(diff_ns > 8999 * NS_PER_S && diff_ns < 9001 * NS_PER_S,
	   "sleep: waiting for a CPU does not count");
	closep(&fd);
	closep(&own);
}

static bool is_asked(const void *ctx)
{
	return *(const bool *)ctx;
}

static void test_hurry_shortens_a_wait(const struct fake *f)
{
	struct reader *r = new_reader(f);
	bool hurries = true;
	struct cancel cancel = { is_asked, &hurries };
	struct reader_wait wait = { .deadline_ns = 600 * NS_PER_S,
				    .cancel = &cancel,
				    .cancelled_deadline_ns = NS_PER_MS };
	_cleanup_(buf_done) struct buf b = BUF_INIT(64);

	ok(reader_read(r, "2/maps", 0, 64, &wait, &b) == -ETIMEDOUT,
	   "a request to stop shortens a long deadline");
	reader_free(r);
}

/* ---- file systems ---- */

/* A file system without a block device, with a file whose opening nobody permits and one that is as
 * usual. */
struct silent_fs {
	char dir[64];
	int dir_fd, fanotify_fd;
};

static void silent_fs_file(const struct silent_fs *s, const char *name)
{
	int fd = openat(s->dir_fd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	must(fd >= 0 && write(fd, "x", 1) == 1);
	close(fd);
}

static void silent_fs_end(struct silent_fs *s)
{
	closep(&s->fanotify_fd);
	(void)unlinkat(s->dir_fd, "silent", 0);
	(void)unlinkat(s->dir_fd, "usual", 0);
	closep(&s->dir_fd);
	(void)rmdir(s->dir);
}

/* False: it cannot be had here. */
static bool silent_fs_begin(struct silent_fs *s)
{
	struct stat st;

	*s = (struct silent_fs){ "/dev/shm/test_reader_XXXXXX", -1, -1 };
	if (!mkdtemp(s->dir))
		return false;
	s->dir_fd = open(s->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(s->dir_fd >= 0 && fstat(s->dir_fd, &st) == 0);
	silent_fs_file(s, "silent");
	silent_fs_file(s, "usual");
	s->fanotify_fd = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC);
	if (major(st.st_dev) == 0 && s->fanotify_fd >= 0 &&
	    fanotify_mark(s->fanotify_fd, FAN_MARK_ADD, FAN_OPEN_PERM, s->dir_fd, "silent") == 0)
		return true;
	silent_fs_end(s);
	return false;
}

static int open_there(struct reader *r, const struct silent_fs *s, const char *path,
		      struct reader_wait *wait)
{
	struct reader_root root = { .fd = s->dir_fd, .path = "" };
	struct reader_file file = { .fd = -1 };
	int result = reader_open_beneath(r, &root, path, wait, &file);

	closep(&file.fd);
	return result;
}

static bool opens_within_10_s(struct reader *r, const struct silent_fs *s)
{
	for (int i = 0; i < 1000; i++, usleep(10000))
		if (open_there(r, s, "/usual", NULL) == 0)
			return true;
	return false;
}

/* A reader that has waited for a silent file, and not much longer than its deadline: a busy machine may
 * wake it up too late, more than once. */
static struct reader *reader_after_short_wait(const struct fake *f,
					      const struct reader_limits *limits,
					      const struct silent_fs *s, struct reader_wait *wait)
{
	struct reader *r = NULL;

	for (int i = 0; i < 100; i++) {
		*wait = (struct reader_wait){ .deadline_ns = NS_PER_MS };
		must(reader_new(f->procfs.fd, limits, &r) == 0);
		must(open_there(r, s, "/silent", wait) == -ETIMEDOUT);
		if (wait->slept_ns < limits->deadline_ns)
			break;
		r = reader_free(r);
	}
	must(r);
	return r;
}

static void test_silent_file_system(const struct fake *f)
{
	struct reader_limits limits = { .deadline_ns = 3 * QUICK_NS, .silent_ns = 2 * NS_PER_S };
	struct reader_wait wait;
	struct silent_fs s;
	struct reader *r;

	if (!fake_can_open_in_root(f) || !silent_fs_begin(&s)) {
		tap_skip("needs openat2(), fanotify permissions and a tmpfs at /dev/shm");
		return;
	}
	r = reader_after_short_wait(f, &limits, &s, &wait);
	ok(!wait.is_device_spent && open_there(r, &s, "/usual", NULL) == 0,
	   "device: missing a short deadline says little about the file system");
	wait = (struct reader_wait){ 0 };
	ok(open_there(r, &s, "/silent", &wait) == -ETIMEDOUT && wait.is_device_spent,
	   "device: missing the regular deadline marks the file system");
	ok(open_there(r, &s, "/usual", NULL) == -EHOSTDOWN,
	   "device: a marked file system is not asked again");
	ok(opens_within_10_s(r, &s), "device: it is asked again after a while");
	reader_free(r);
	silent_fs_end(&s);
}

static void test_silent_reader_is_left(const struct fake *f)
{
	struct reader *r = new_reader(f);
	char text[64];

	must(kill(reader_pid(r), SIGSTOP) == 0);
	ok(read_text(r, "1/comm", text) == -ETIMEDOUT && has_text(r, "1/comm", "x\n"),
	   "a stopped reader is replaced");
	reader_free(r);
}

/* ---- slow users ---- */

#define USER 1000u

/* Forty processes of one user, of which each answers late, but does. */
static void test_slow_user(struct fake *f)
{
	struct proc_stat st;
	char name[32], path[PATH_MAX];
	struct slow s;
	int nr = 0;

	f->procfs.waits->limits.user_ns = 5 * SLOW_NS;
	f->procfs.waits->limits.deadline_ns = 10 * NS_PER_S; /* the machine may be busy */
	slow_begin(&s, f, "4/slow");
	for (int pid = 100; pid < 140; pid++) {
		(void)snprintf(name, sizeof(name), "%d/stat", pid);
		fake_parents(f, name);
		must(symlink("../4/slow", fake_path(f, name, path)) == 0);
		(void)snprintf(name, sizeof(name), "%d", pid);
		if (geteuid() == 0)
			must(chown(fake_path(f, name, path), USER, USER) == 0);
		nr += procfs_stat(&f->procfs, pid, &st) == -ETIMEDOUT;
	}
	ok(nr > 20, "slow user: not asked forever: %d of 40 are not", nr);
	ok(f->procfs.unanswered->nr == 1 && f->procfs.unanswered->nr_pids == 0 &&
		   strstr(f->procfs.unanswered->items[0].what, "slow files of user"),
	   "slow user: reported, although each request was answered");
	fake_write(f, "140/stat", "140 (a) S 1 1\n");
	if (geteuid() == 0)
		ok(procfs_stat(&f->procfs, 140, &st) == 0, "slow user: others are asked");
	else
		tap_skip("needs root, to have files of two users");
	slow_end(&s);
}

/* The folder of a process, of a user who is not root if that can be had. */
static uint64_t give_to_user(const struct fake *f, const char *pid)
{
	char path[PATH_MAX];

	if (geteuid() != 0)
		return geteuid();
	must(chown(fake_path(f, pid, path), USER, USER) == 0);
	return USER;
}

static int nothing(void *ctx, const struct maps_entry *e)
{
	(void)ctx, (void)e;
	return 0;
}

static void test_spent_user_has_mappings(struct fake *f)
{
	char path[PATH_MAX];
	struct proc_stat st;
	uint64_t user;

	fake_write(f, "29/maps", "1000-2000 r-xp 0 0:0 1 /a\n");
	fake_write(f, "29/stat", "29 (a) S 1 1\n");
	fake_write(f, "29/a.so", "A");
	fake_link(f, "29/map_files/1000-2000", fake_path(f, "29/a.so", path));
	user = give_to_user(f, "29");
	wait_accounts_charge(f->procfs.waits, user, WAIT_FILE, 100 * NS_PER_S);
	ok(procfs_maps(&f->procfs, 29, nothing, NULL, NULL) == 0 &&
		   procfs_stat(&f->procfs, 29, &st) == 0,
	   "slow user: still has mappings");
	ok(procfs_open_mapped(&f->procfs, 29, 0x1000, 0x2000, NULL) == -ETIMEDOUT,
	   "slow user: no file is opened");
}

static void test_root_has_its_payer(struct fake *f)
{
	struct wait_accounts *waits = f->procfs.waits;
	struct reader_wait wait = { 0 };
	char path[PATH_MAX];
	uint64_t user;
	int fd, other;

	if (!fake_can_open_in_root(f)) {
		tap_skip("needs openat2()");
		return;
	}
	fake_write(f, "30/root/lib/a.so", "A");
	user = give_to_user(f, "30");
	fd = open(fake_path(f, "30/root", path), O_PATH | O_CLOEXEC);
	other = open(path, O_PATH | O_CLOEXEC);
	must(fd >= 0 && other >= 0);
	wait_accounts_charge(waits, user, WAIT_FILE, 100 * NS_PER_S);
	wait_accounts_charge(waits, PAYER_OTHERS, WAIT_FILE, 100 * NS_PER_S);
	procfs_keep_root(&f->procfs, fd, 30);
	procfs_keep_root(&f->procfs, other, 31);
	ok(wait_accounts_root_payer(waits, fd) == user,
	   "a root is charged to its user, although the account is used up");
	ok(wait_accounts_root_payer(waits, other) == PAYER_OTHERS &&
		   wait_accounts_root_payer(waits, 1000) == PAYER_OTHERS,
	   "a root whose process has gone is not charged to us");
	ok(procfs_open_beneath(&f->procfs, fd, "/lib/a.so", NULL) == -ETIMEDOUT &&
		   procfs_open_beneath(&f->procfs, other, "/lib/a.so", NULL) == -ETIMEDOUT,
	   "a used-up account allows no files of a root");
	wait_accounts_charge(waits, PAYER_OWN_ROOT, WAIT_FILE, 100 * NS_PER_S);
	ok(wait_accounts_ask(waits, PAYER_OWN_ROOT, WAIT_FILE, &wait) < 0 &&
		   wait.deadline_ns == waits->limits.short_deadline_ns && wait.budget_ns,
	   "files of our own root that no one can make slow have a limit as well");
	close(fd);
	close(other);
}

static void test_death(const struct fake *f)
{
	struct reader *r = new_reader(f);
	pid_t pid = reader_pid(r);

	must(kill(pid, SIGKILL) == 0);
	ok(has_text(r, "1/comm", "x\n") && reader_pid(r) != pid, "a killed reader is replaced");
	ok(reader_stats(r).nr_unanswered == 0, "a killed reader is charged to no one");
	ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD,
	   "a host that waits for its children sees none of ours");
	reader_free(r);
	ok(waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD,
	   "no child of ours is left in the end");
}

static void test_signals(const struct fake *f)
{
	struct reader *r = new_reader(f);

	must(kill(reader_pid(r), SIGINT) == 0 && kill(reader_pid(r), SIGTERM) == 0);
	ok(has_text(r, "1/comm", "x\n") && getsid(reader_pid(r)) != getsid(0),
	   "signals of a terminal do not reach the reader");
	reader_free(r);
}

/* ---- descriptors ---- */

static void test_open(const struct fake *f, struct reader *r)
{
	struct reader_file file;
	char path[PATH_MAX], byte = 0;
	struct reader_root root = { .fd = f->procfs.fd, .path = "" };
	uint64_t mount = 0;
	struct stat st, own;
	int fd;

	fake_write(f, "lib/a.so", "A");
	fake_link(f, "1/map_files/1000-2000", fake_path(f, "lib/a.so", path));
	ok(reader_open_link(r, "1/map_files/1000-2000", "", NULL, &file) == 0 &&
		   read(file.fd, &byte, 1) == 1 && byte == 'A',
	   "open: a descriptor of the mapped file is returned");
	must(stat(path, &own) == 0);
	ok(!file.is_copy && file.st.st_ino == own.st_ino && file.st.st_dev == own.st_dev,
	   "open: with its attributes; a local file is not copied");
	ok(fcntl(file.fd, F_GETFD) == FD_CLOEXEC, "open: the descriptor is close-on-exec");
	close(file.fd);
	if (!fake_can_open_in_root(f)) {
		tap_skip("needs openat2()");
		return;
	}
	ok(reader_open_beneath(r, &root, "/lib/a.so", NULL, &file) == 0, "open: a path in a root");
	close(file.fd);
	fd = reader_open_root(r, "1", NULL, &st, &mount);
	must(stat(fake_path(f, "1", path), &own) == 0);
	ok(fd >= 0 && st.st_ino == own.st_ino && (fcntl(fd, F_GETFL) & O_PATH),
	   "open: a root itself");
	close(fd);
}

/* As if nothing were local. */
static int open_copy(const struct fake *f, const char *path, struct reader_limits limits,
		     struct reader_file *ret_file)
{
	struct reader_root root = { .fd = f->procfs.fd, .path = "" };
	struct reader *r;
	int result;

	limits.copies_all = true;
	must(reader_new(f->procfs.fd, &limits, &r) == 0);
	result = reader_open_beneath(r, &root, path, NULL, ret_file);
	reader_free(r);
	return result;
}

static void test_copy(const struct fake *f)
{
	struct timespec times[2] = { { 1000, 0 }, { 2000, 0 } };
	char path[PATH_MAX], bytes[8] = "";
	struct reader_file file;
	struct stat st;
	int fd;

	if (!fake_can_open_in_root(f)) {
		tap_skip("needs openat2()");
		return;
	}
	fake_write(f, "far", "begin");
	fd = open(fake_path(f, "far", path), O_WRONLY | O_CLOEXEC);
	must(fd >= 0 && pwrite(fd, "end", 3, 64 << 20) == 3 && futimens(fd, times) == 0);
	close(fd);
	ok(open_copy(f, "/far", quick, &file) == 0 && file.is_copy && fstat(file.fd, &st) == 0 &&
		   st.st_mtim.tv_sec == 2000 && st.st_size == (64 << 20) + 3,
	   "copy: a file that is not local is copied, with its time and size");
	ok(pread(file.fd, bytes, 5, 0) == 5 && !memcmp(bytes, "begin", 5) &&
		   pread(file.fd, bytes, 3, 64 << 20) == 3 && !memcmp(bytes, "end", 3),
	   "copy: with its bytes");
	ok(st.st_blocks < 1000, "copy: holes are not copied: %ld blocks", (long)st.st_blocks);
	must(stat(path, &st) == 0);
	ok(file.st.st_ino == st.st_ino && file.st.st_dev == st.st_dev,
	   "copy: attributes are those of the file");
	close(file.fd);
	ok(open_copy(f, "/far", (struct reader_limits){ .file_bytes = 4096 }, &file) == -EFBIG &&
		   open_copy(f, "/far", (struct reader_limits){ .copy_bytes = 4096 }, &file) ==
			   -EFBIG,
	   "copy: a file that is too large is refused");
}

static void test_readable(const struct fake *f, struct reader *r)
{
	struct reader_root root = { .fd = f->procfs.fd, .path = "", .must_be_readable = true };
	struct reader_file file;

	if (!fake_can_open_in_root(f)) {
		tap_skip("needs openat2()");
		return;
	}
	root.owner = getuid();
	ok(reader_open_beneath(r, &root, "/lib/a.so", NULL, &file) == 0,
	   "readable: a file of the given owner is opened");
	close(file.fd);
	root.owner++;
	ok(reader_open_beneath(r, &root, "/lib/a.so", NULL, &file) == -EACCES,
	   "readable: for other owners it is not");
}

static void *use_reader(void *ctx)
{
	intptr_t nr_wrong = 0;

	for (int i = 0; i < 200; i++)
		nr_wrong += !has_text(ctx, "1/comm", "x\n");
	return (void *)nr_wrong;
}

static void test_threads(struct reader *r)
{
	pthread_t threads[4];
	intptr_t nr_wrong = 0;
	void *result;

	for (int i = 0; i < 4; i++)
		must(pthread_create(&threads[i], NULL, use_reader, r) == 0);
	for (int i = 0; i < 4; i++) {
		must(pthread_join(threads[i], &result) == 0);
		nr_wrong += (intptr_t)result;
	}
	ok(nr_wrong == 0, "four concurrent threads get 800 right answers");
}

/* ---- who is not asked again ---- */

static void test_process_is_asked_once(struct fake *f)
{
	struct proc_stat st;

	make_fifo(f, "20/maps");
	fake_write(f, "20/stat", "20 (a) S 1 1\n");
	ok(procfs_stat(&f->procfs, 20, &st) == 0, "silent: a process answers");
	ok(procfs_maps(&f->procfs, 20, nothing, NULL, NULL) == -ETIMEDOUT,
	   "silent: a process does not answer");
	ok(procfs_maps(&f->procfs, 20, nothing, NULL, NULL) == -ETIMEDOUT &&
		   procfs_stat(&f->procfs, 20, &st) == -ETIMEDOUT &&
		   reader_stats(f->procfs.reader).nr_unanswered == 1,
	   "silent: it is not asked again, for anything");
	ok(f->procfs.unanswered->nr == 1 && f->procfs.unanswered->items[0].pid == 20 &&
		   !strcmp(f->procfs.unanswered->items[0].what, "maps"),
	   "silent: it is reported by name");
}

int main(void)
{
	struct reader *r;
	struct fake f;

	fake_init(&f);
	r = new_reader(&f);
	test_reads(&f, r);
	test_open(&f, r);
	test_readable(&f, r);
	test_copy(&f);
	test_threads(r);
	reader_free(r);
	test_no_answer(&f);
	test_sleep_is_measured(&f);
	test_run_clock(&f);
	test_hurry_shortens_a_wait(&f);
	test_silent_file_system(&f);
	test_silent_reader_is_left(&f);
	test_signals(&f);
	test_process_is_asked_once(&f);
	fake_done(&f);
	fake_init(&f);
	test_slow_user(&f);
	fake_done(&f);
	fake_init(&f);
	test_spent_user_has_mappings(&f);
	fake_done(&f);
	fake_init(&f);
	test_root_has_its_payer(&f);
	fake_done(&f);
	fake_init(&f);
	fake_write(&f, "1/comm", "x\n");
	procfs_close(&f.procfs);
	f.procfs.fd = open(f.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	test_death(&f); /* while there is no other child */
	fake_done(&f);
	return tap_done();
}
