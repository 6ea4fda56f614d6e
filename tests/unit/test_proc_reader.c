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
#include "proc/mountinfo.h"
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
	ok(read_text(r, "1/none", text) == -ENOENT, "one that is not there is -ENOENT");
	ok(reader_read(r, "1/big", 0, 1u << 20, NULL, &b) == 0 && b.len == 300000 &&
		   memcmp(b.data, big, b.len) == 0,
	   "one that is larger than a packet comes whole");
	buf_clear(&b);
	ok(reader_read(r, "1/big", 70000, 100000, NULL, &b) == 0 && b.len == 100000 &&
		   memcmp(b.data, big + 70000, b.len) == 0,
	   "or as much of it as is wanted");
	ok(read_text(r, "1/big", text) == 0 && reader_read(r, "1/big", 0, 64, NULL, &b) == 0,
	   "what is not wanted is not received");
	fake_link(f, "1/link", "/some/where");
	buf_clear(&b);
	ok(reader_link(r, "1/link", NULL, &b) == 0 && b.len == 11 &&
		   !memcmp(b.data, "/some/where", 11),
	   "a link is told");
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
	ok(read_text(r, "2/maps", text) == -ETIMEDOUT, "a file that never answers is given up");
	ok(has_text(r, "1/comm", "x\n"), "and the next one is read");
	after = reader_pid(r);
	ok(before != after && after > 0, "by another process");
	stats = reader_stats(r);
	ok(stats.nr_unanswered == 1 && stats.nr_abandoned == 1, "it is counted");
	ok(ends(before), "the one that waits was killed");
	reader_free(r);
	ok(ends(after), "and no reader outlives its session");
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
	ok(reader_read(r, "1/comm", 0, 64, &wait, &b) == 0, "a file answers at once");
	ok(wait.slept_ns < 10 * NS_PER_MS, "which costs nothing: %llu ns",
	   (unsigned long long)wait.slept_ns);
	wait.slept_ns = 0;
	/* On a busy machine the other end may come just when this one does. */
	for (int i = 0; i < 100 && result == -ESPIPE && wait.slept_ns <= NS_PER_MS; i++)
		result = reader_read(r, "3/slow", 0, 64, &wait, &b);
	ok(result == -ESPIPE, "a FIFO opens, but late");
	ok(wait.slept_ns > NS_PER_MS, "which costs that: %llu ns",
	   (unsigned long long)wait.slept_ns);
	wait = (struct reader_wait){ .deadline_ns = 20 * NS_PER_MS };
	ok(reader_read(r, "2/maps", 0, 64, &wait, &b) == -ETIMEDOUT, "another never opens");
	ok(wait.slept_ns >= wait.deadline_ns, "and who does not answer, the deadline: %llu ns",
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
	ok(nr == 8, "work of less than a tick is not sleep: %d of 8 times", nr);
	fake_write(f, "3/schedstat", "0 0 0\n");
	fd = open(fake_path(f, "3/schedstat", path), O_RDONLY | O_CLOEXEC);
	ok(counts_work(fd), "nor is it where the kernel keeps no statistics");
	fake_write(f, "3/schedstat", "1 9000000000000 5\n");
	diff_ns = run_clock_ns(fd) - clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	ok(diff_ns > 8999 * NS_PER_S && diff_ns < 9001 * NS_PER_S,
	   "waiting for a CPU is not sleep either");
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
	   "who asks for the end does not wait for a long deadline");
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

static void test_silent_file_system(const struct fake *f)
{
	struct reader_limits limits = { .deadline_ns = 3 * QUICK_NS, .silent_ns = 2 * NS_PER_S };
	struct reader_wait wait = { .deadline_ns = NS_PER_MS };
	struct silent_fs s;
	struct reader *r;

	if (!fake_can_open_in_root(f) || !silent_fs_begin(&s)) {
		tap_skip("needs openat2(), fanotify permissions and a tmpfs at /dev/shm");
		return;
	}
	must(reader_new(f->procfs.fd, &limits, &r) == 0);
	ok(open_there(r, &s, "/silent", &wait) == -ETIMEDOUT, "a file does not answer in time");
	if (wait.slept_ns < limits.deadline_ns)
		ok(!wait.is_device_spent && open_there(r, &s, "/usual", NULL) == 0,
		   "a short deadline says little of its file system");
	else
		tap_skip("the machine is too busy for a short deadline");
	wait = (struct reader_wait){ 0 };
	ok(open_there(r, &s, "/silent", &wait) == -ETIMEDOUT && wait.is_device_spent,
	   "within the usual deadline it does");
	ok(open_there(r, &s, "/usual", NULL) == -EHOSTDOWN, "it is not asked again");
	ok(opens_within_10_s(r, &s), "but after a while");
	reader_free(r);
	silent_fs_end(&s);
}

static void test_silent_reader_is_left(const struct fake *f)
{
	struct reader *r = new_reader(f);
	char text[64];

	must(kill(reader_pid(r), SIGSTOP) == 0);
	ok(read_text(r, "1/comm", text) == -ETIMEDOUT && has_text(r, "1/comm", "x\n"),
	   "a reader that was stopped is replaced");
	reader_free(r);
}

/* ---- accounts ---- */

#define USER 1000u

static const struct wait_limits few = { .user_ns = 10 * NS_PER_S,
					.all_ns = 15 * NS_PER_S,
					.root_ns = 20 * NS_PER_S,
					.hurry_ns = 2 * NS_PER_S,
					.deadline_ns = 5 * NS_PER_S,
					.short_deadline_ns = NS_PER_S };

static bool may_ask(struct wait_accounts *a, uint64_t payer, uint64_t deadline_ns)
{
	struct reader_wait wait;

	return wait_accounts_ask(a, payer, WAIT_FILE, &wait) == 0 &&
	       wait.deadline_ns == deadline_ns;
}

static void test_accounts(void)
{
	struct wait_accounts a;

	wait_accounts_init(&a, &few);
	wait_accounts_charge(&a, USER, WAIT_FILE, 9 * NS_PER_S);
	ok(may_ask(&a, USER, 5 * NS_PER_S), "a user is asked while his account lasts");
	wait_accounts_charge(&a, USER, WAIT_FILE, 2 * NS_PER_S);
	ok(!may_ask(&a, USER, 5 * NS_PER_S) && may_ask(&a, USER + 1, 5 * NS_PER_S),
	   "then others are");
	wait_accounts_charge(&a, USER + 1, WAIT_FILE, 8 * NS_PER_S);
	wait_accounts_charge(&a, USER + 2, WAIT_FILE, 3 * NS_PER_S);
	ok(may_ask(&a, USER + 1, NS_PER_S),
	   "over the limit of all, who had more than his part has a short deadline");
	ok(may_ask(&a, USER + 2, 5 * NS_PER_S) && may_ask(&a, USER + 3, 5 * NS_PER_S),
	   "and others pay nothing for him");
	ok(may_ask(&a, PAYER_ROOT, 5 * NS_PER_S), "root's deadline is not shorter");
	wait_accounts_charge(&a, PAYER_ROOT, WAIT_FILE, 30 * NS_PER_S);
	ok(may_ask(&a, PAYER_ROOT, NS_PER_S), "until it is slow itself; it is never refused");
	a.last_ns -= 1200 * NS_PER_S;
	ok(may_ask(&a, USER, 5 * NS_PER_S), "twenty minutes later it is forgiven");
	ok(wait_accounts_total_ns(&a) == 52 * NS_PER_S, "what was charged is known");
	wait_accounts_done(&a);
}

static void test_accounts_of_text(void)
{
	struct reader_wait wait = { 0 };
	struct wait_accounts a;

	wait_accounts_init(&a, &few);
	wait_accounts_charge(&a, USER, WAIT_FILE, 100 * NS_PER_S);
	ok(wait_accounts_ask(&a, USER, WAIT_TEXT, &wait) == 0 && wait.deadline_ns == NS_PER_S,
	   "who is spent is asked for text, with a short deadline");
	ok(wait_accounts_ask(&a, USER, WAIT_FILE, &wait) == -EDQUOT, "but not for files");
	wait_accounts_charge(&a, USER, WAIT_TEXT, 11 * NS_PER_S);
	ok(wait_accounts_ask(&a, USER, WAIT_TEXT, &wait) < 0, "until that is slow as well");
	wait_accounts_done(&a);
}

static void test_accounts_are_not_flushed(void)
{
	struct wait_accounts a;

	wait_accounts_init(&a, &few);
	a.limits.all_ns = 10000 * NS_PER_S;
	for (uint64_t i = 0; i < 1000; i++)
		wait_accounts_charge(&a, USER + i, WAIT_FILE, 11 * NS_PER_S);
	ok(!may_ask(&a, USER, 5 * NS_PER_S) && !may_ask(&a, USER + 999, 5 * NS_PER_S),
	   "a thousand users do not make room for the first again");
	ok(may_ask(&a, PAYER_ROOT, 5 * NS_PER_S) && may_ask(&a, PAYER_OWN_ROOT, 5 * NS_PER_S),
	   "nor do they keep root from having an account of its own");
	wait_accounts_done(&a);
}

static void test_accounts_in_a_hurry(void)
{
	struct wait_accounts a;
	bool hurries = false;

	wait_accounts_init(&a, &few);
	a.hurry = (struct cancel){ is_asked, &hurries };
	wait_accounts_charge(&a, USER, WAIT_FILE, 3 * NS_PER_S);
	hurries = true;
	ok(!may_ask(&a, USER, NS_PER_S) && may_ask(&a, USER + 1, NS_PER_S),
	   "in a hurry, who was slow is not asked");
	wait_accounts_charge(&a, PAYER_ROOT, WAIT_FILE, 3 * NS_PER_S);
	ok(!may_ask(&a, PAYER_ROOT, NS_PER_S), "and in the end nobody is");
	wait_accounts_done(&a);
}

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
	ok(nr > 20, "a slow user is not asked for ever: %d of 40 are not", nr);
	ok(f->procfs.unanswered->nr == 1 && f->procfs.unanswered->nr_pids == 0 &&
		   strstr(f->procfs.unanswered->items[0].what, "slow files of user"),
	   "which is reported, though each request was answered");
	fake_write(f, "140/stat", "140 (a) S 1 1\n");
	if (geteuid() == 0)
		ok(procfs_stat(&f->procfs, 140, &st) == 0, "others are asked");
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
	ok(procfs_maps(&f->procfs, 29, nothing, NULL) == 0 && procfs_stat(&f->procfs, 29, &st) == 0,
	   "a user whose files were slow still has mappings");
	ok(procfs_open_mapped(&f->procfs, 29, 0x1000, 0x2000, NULL) == -ETIMEDOUT,
	   "though no file of his is opened");
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
	   "a root is its user's, though his account is spent");
	ok(wait_accounts_root_payer(waits, other) == PAYER_OTHERS &&
		   wait_accounts_root_payer(waits, 1000) == PAYER_OTHERS,
	   "a root whose process has gone is not ours");
	ok(procfs_open_beneath(&f->procfs, fd, "/lib/a.so", NULL) == -ETIMEDOUT &&
		   procfs_open_beneath(&f->procfs, other, "/lib/a.so", NULL) == -ETIMEDOUT,
	   "who is spent is not asked for files");
	wait_accounts_charge(waits, PAYER_OWN_ROOT, WAIT_FILE, 100 * NS_PER_S);
	ok(wait_accounts_ask(waits, PAYER_OWN_ROOT, WAIT_FILE, &wait) < 0 &&
		   wait.deadline_ns == waits->limits.short_deadline_ns && wait.budget_ns,
	   "files of our own root that nobody can make slow have a bound as well");
	close(fd);
	close(other);
}

static void test_death(const struct fake *f)
{
	struct reader *r = new_reader(f);
	pid_t pid = reader_pid(r);

	must(kill(pid, SIGKILL) == 0);
	ok(has_text(r, "1/comm", "x\n") && reader_pid(r) != pid, "a reader that dies is replaced");
	ok(reader_stats(r).nr_unanswered == 0, "which is nobody's fault");
	ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD,
	   "a host that waits for its children sees none of ours");
	reader_free(r);
	ok(waitpid(-1, NULL, WNOHANG | __WALL) < 0 && errno == ECHILD,
	   "and none is left in the end");
}

static void test_signals(const struct fake *f)
{
	struct reader *r = new_reader(f);

	must(kill(reader_pid(r), SIGINT) == 0 && kill(reader_pid(r), SIGTERM) == 0);
	ok(has_text(r, "1/comm", "x\n") && getsid(reader_pid(r)) != getsid(0),
	   "a terminal's signals are not for it");
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
	   "a descriptor of the mapped file comes back");
	must(stat(path, &own) == 0);
	ok(!file.is_copy && file.st.st_ino == own.st_ino && file.st.st_dev == own.st_dev,
	   "with what is known of it; a local file is not copied");
	ok(fcntl(file.fd, F_GETFD) == FD_CLOEXEC, "and is not passed on to children");
	close(file.fd);
	if (!fake_can_open_in_root(f)) {
		tap_skip("needs openat2()");
		return;
	}
	ok(reader_open_beneath(r, &root, "/lib/a.so", NULL, &file) == 0, "so does one in a root");
	close(file.fd);
	fd = reader_open_root(r, "1", NULL, &st, &mount);
	must(stat(fake_path(f, "1", path), &own) == 0);
	ok(fd >= 0 && st.st_ino == own.st_ino && (fcntl(fd, F_GETFL) & O_PATH),
	   "and a root itself");
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
	   "a file that is not local is copied, with its time and size");
	ok(pread(file.fd, bytes, 5, 0) == 5 && !memcmp(bytes, "begin", 5) &&
		   pread(file.fd, bytes, 3, 64 << 20) == 3 && !memcmp(bytes, "end", 3),
	   "and its bytes");
	ok(st.st_blocks < 1000, "what is not stored is not copied: %ld blocks", (long)st.st_blocks);
	must(stat(path, &st) == 0);
	ok(file.st.st_ino == st.st_ino && file.st.st_dev == st.st_dev,
	   "what is told is of the file");
	close(file.fd);
	ok(open_copy(f, "/far", (struct reader_limits){ .file_bytes = 4096 }, &file) == -EFBIG &&
		   open_copy(f, "/far", (struct reader_limits){ .copy_bytes = 4096 }, &file) ==
			   -EFBIG,
	   "one that is too large is refused");
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
	   "what its owner names is opened");
	close(file.fd);
	root.owner++;
	ok(reader_open_beneath(r, &root, "/lib/a.so", NULL, &file) == -EACCES,
	   "and not for others");
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
	ok(nr_wrong == 0, "four threads at once have 800 right answers");
}

/* ---- who is not asked again ---- */

static void test_process_is_asked_once(struct fake *f)
{
	struct proc_stat st;

	make_fifo(f, "20/maps");
	fake_write(f, "20/stat", "20 (a) S 1 1\n");
	ok(procfs_stat(&f->procfs, 20, &st) == 0, "a process answers");
	ok(procfs_maps(&f->procfs, 20, nothing, NULL) == -ETIMEDOUT, "until it does not");
	ok(procfs_maps(&f->procfs, 20, nothing, NULL) == -ETIMEDOUT &&
		   procfs_stat(&f->procfs, 20, &st) == -ETIMEDOUT &&
		   reader_stats(f->procfs.reader).nr_unanswered == 1,
	   "it is not asked again, for anything");
	ok(f->procfs.unanswered->nr == 1 && f->procfs.unanswered->items[0].pid == 20 &&
		   !strcmp(f->procfs.unanswered->items[0].what, "maps"),
	   "and known by name");
}

static void test_places(void)
{
	struct unanswered u;

	unanswered_init(&u);
	unanswered_note_path(&u, 7, "/usr/lib/debug/a");
	ok(unanswered_has_path(&u, 7, "/other/b") && !unanswered_has_path(&u, 8, "/other/b"),
	   "a root is not searched again");
	unanswered_note_path(&u, -1, "/mnt/a/b");
	ok(unanswered_has_path(&u, -1, "/mnt/a/c") && !unanswered_has_path(&u, -1, "/mnt/b"),
	   "our own is, but not that folder");
	u.roots[0].until_ns = u.folders[0].until_ns = clock_mono_ns();
	ok(!unanswered_has_path(&u, 7, "/other/b") && !unanswered_has_path(&u, -1, "/mnt/a/c"),
	   "after a while both are tried again");
	for (int i = 0; i < 300; i++)
		unanswered_note_pid(&u, 1000010 + i, "a path that is longer than the room for it");
	ok(u.nr == 2 + 300 && u.nr_items == UNANSWERED_MAX_ITEMS, "all are counted");
	unanswered_note_path(&u, 7, "/usr/lib/debug/a");
	ok(u.nr == 2 + 300, "each once");
	unanswered_done(&u);
}

/* A PID is free for another process when its owner has gone. */
static void test_pid_is_reused(void)
{
	struct unanswered u;
	pid_t pid = fork();

	must(pid >= 0);
	if (pid == 0) {
		pause();
		_exit(0);
	}
	unanswered_init(&u);
	unanswered_note_pid(&u, pid, "maps");
	ok(unanswered_has_pid(&u, pid), "a process that did not answer");
	u.pids[0].until_ns = clock_mono_ns();
	ok(!unanswered_has_pid(&u, pid), "is asked again after a while");
	u.pids[0].until_ns += 60 * NS_PER_S;
	must(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	if (u.pids[0].pidfd < 0)
		tap_skip("needs pidfd_open(), which valgrind 3.19 does not know");
	else
		ok(!unanswered_has_pid(&u, pid), "is not the one that has its PID next");
	unanswered_done(&u);
}

static bool is_mount(const char *line, uint64_t id, uint32_t minor, bool is_overlay)
{
	struct mount_line m = { 0 };

	return mountinfo_parse(line, strlen(line), &m) && m.id == id && m.minor == minor &&
	       m.is_overlay == is_overlay;
}

static void test_mountinfo(void)
{
	struct mount_line m;

	ok(is_mount("36 35 0:52 / /mnt rw,noatime master:1 shared:2 - overlay overlay rw,x=y", 36,
		    52, true),
	   "mountinfo: an overlay");
	ok(is_mount("36 35 98:0 / /mnt rw - ext4 /dev/root rw", 36, 0, false), "mountinfo: a disk");
	ok(is_mount("36 35 0:5 / /a\\040-\\040overlay rw - fuse x rw", 36, 5, false),
	   "mountinfo: a path that looks like an overlay");
	ok(is_mount("36 35 0:5 / /a rw - overlayx x rw", 36, 5, false), "mountinfo: a longer name");
	ok(!mountinfo_parse("36 35 0:5 / /a rw overlay x rw", 30, &m) &&
		   !mountinfo_parse("", 0, &m) && !mountinfo_parse("36 35 0:", 8, &m) &&
		   !mountinfo_parse("99999999999 1 0:5 / / rw - overlay", 34, &m),
	   "mountinfo: damaged lines");
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
	test_accounts();
	test_accounts_of_text();
	test_accounts_are_not_flushed();
	test_accounts_in_a_hurry();
	test_signals(&f);
	test_process_is_asked_once(&f);
	test_places();
	test_pid_is_reused();
	test_mountinfo();
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
