/* SPDX-License-Identifier: Apache-2.0 */
/* Fetching, with a program that behaves as its "servers" say: this one, started again. */
#include "fetch/fetcher.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "fetch/child.h"
#include "fetch/exit_status.h"
#include "tap.h"

#define MANY 40
#define INHERITED_FD 77

static char dir[PATH_MAX];

/* ---- the program ---- */

static void write_result(const char *text)
{
	int fd = open(CHILD_RESULT, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		_exit(1);
	close(fd);
}

/* Writes until something stops it. */
static int write_endlessly(void)
{
	static const char block[65536];
	int fd = open("cache", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	while (write(fd, block, sizeof(block)) > 0)
		;
	return 1;
}

static bool has_capabilities(void)
{
	_cleanup_(fclosep) FILE *status = fopen("/proc/self/status", "re");
	char line[256];

	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, "CapPrm:", 7) && strtoull(line + 7, NULL, 16) == 0)
			return false;
	return true;
}

static bool is_confined(void)
{
	const char *path = getenv("DEBUGINFOD_CACHE_PATH"), *s = getenv("DEBUGINFOD_TIMEOUT");
	struct rlimit lim;

	return path && path[0] != '/' && s && !strcmp(s, "5") && !getenv("SECRET") &&
	       getenv("http_proxy") && getrlimit(RLIMIT_FSIZE, &lim) == 0 &&
	       lim.rlim_cur == 1000000 && getsid(0) == getpid() && !has_capabilities() &&
	       fcntl(INHERITED_FD, F_GETFD) < 0;
}

static void write_log(const char *text)
{
	int fd = open(CHILD_LOG, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		_exit(1);
	close(fd);
}

#define ASKED "init server 0 http://h:1/buildid\n"

/* With a log, as libdebuginfod leaves one. */
static int behave_and_tell(const char *how)
{
	if (!strcmp(how, "tell refused")) {
		write_log(ASKED "server response Couldn't connect to server\nurl 0 x\n");
		return EXIT_RESULT_BASE + FETCH_SERVER_FAILED;
	}
	if (!strcmp(how, "tell wrong")) {
		write_log(ASKED "committed to url 0\n");
		write_result("ffff");
		return 0;
	}
	write_log(ASKED);
	pause();
	return 0;
}

/* Notes in the file $HOME what may be written by all that run now, and the most that it ever was. */
static void add_to_limits(int64_t bytes)
{
	int fd = open(getenv("HOME"), O_RDWR | O_CLOEXEC);
	int64_t sums[2];

	if (fd < 0 || flock(fd, LOCK_EX) < 0 ||
	    pread(fd, sums, sizeof(sums), 0) != (ssize_t)sizeof(sums))
		_exit(1);
	sums[0] += bytes;
	if (sums[0] > sums[1])
		sums[1] = sums[0];
	if (pwrite(fd, sums, sizeof(sums), 0) != (ssize_t)sizeof(sums))
		_exit(1);
	close(fd);
}

/* Half of all that may ever be written, by one that may write less: it dies as by the kernel. */
static int write_half(const char *hex)
{
	const struct timespec while_others_start = { .tv_nsec = 50000000 };
	struct rlimit lim;

	if (getrlimit(RLIMIT_FSIZE, &lim) < 0)
		return 1;
	add_to_limits((int64_t)lim.rlim_cur);
	nanosleep(&while_others_start, NULL);
	add_to_limits(-(int64_t)lim.rlim_cur);
	if (lim.rlim_cur < 500000)
		raise(SIGXFSZ);
	write_result(hex);
	return 0;
}

/* In a session of its own, where it is not killed with its parent: waits until the file is taken, changes
 * it and tells so in the file $HOME. */
static _Noreturn void outlive(int result_fd, int ready_fd)
{
	const struct timespec wait = { .tv_nsec = 1000000 };
	int told_fd = open(getenv("HOME"), O_WRONLY | O_CLOEXEC);

	if (setsid() < 0 || told_fd < 0 || write(ready_fd, "", 1) != 1)
		_exit(1);
	for (int i = 0; i < 20000 && access(CHILD_RESULT, F_OK) == 0; i++)
		nanosleep(&wait, NULL);
	if (access(CHILD_RESULT, F_OK) == 0 || pwrite(result_fd, "ffff", 4, 0) != 4)
		_exit(1);
	_exit(write(told_fd, "", 1) != 1);
}

static int leave_daemon(void)
{
	int fd = open(CHILD_RESULT, O_RDWR | O_CLOEXEC), ready_fds[2];
	char byte;
	pid_t pid;

	if (fd < 0 || pipe2(ready_fds, O_CLOEXEC) < 0)
		return 1;
	pid = fork();
	if (pid == 0)
		outlive(fd, ready_fds[1]);
	close(ready_fds[1]);
	return pid < 0 || read(ready_fds[0], &byte, 1) != 1;
}

/* The right bytes, in a way that they must not be taken, or with somebody left who changes them. */
static int behave_badly(const char *how, const char *hex)
{
	write_result(hex);
	if (!strcmp(how, "leave symlink"))
		return rename(CHILD_RESULT, "real") < 0 || symlink("real", CHILD_RESULT) < 0;
	if (!strcmp(how, "leave hardlink"))
		return link(CHILD_RESULT, "another") < 0;
	return leave_daemon();
}

static bool is_nobody(void)
{
	return getuid() == CHILD_NOBODY && geteuid() == CHILD_NOBODY && getgid() == CHILD_NOBODY &&
	       getgroups(0, NULL) == 0;
}

/* Whether the process is as it should be when it writes what it was asked for. */
static bool is_as_told(const char *how, const char *hex)
{
	if (!strcmp(how, "confined"))
		return is_confined();
	if (!strcmp(how, "nobody"))
		return is_nobody();
	return !strcmp(how, "good") ||
	       (!strcmp(how, "hang by turns") && !(strtoul(hex, NULL, 16) & 1));
}

static int behave(const char *how, const char *hex)
{
	if (!strncmp(how, "tell ", 5))
		return behave_and_tell(how);
	if (!strncmp(how, "leave ", 6))
		return behave_badly(how, hex);
	if (is_as_told(how, hex))
		write_result(hex);
	else if (!strcmp(how, "wrong"))
		write_result("ffff");
	else if (!strcmp(how, "half"))
		return write_half(hex);
	else if (!strncmp(how, "hang", 4))
		pause();
	else if (!strcmp(how, "endless"))
		return write_endlessly();
	else if (!strcmp(how, "missing"))
		return EXIT_RESULT_BASE + FETCH_NOT_FOUND;
	else if (!strcmp(how, "crash"))
		abort();
	else if (!strcmp(how, "nothing"))
		return 0;
	return 0;
}

/* ---- the tests ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void new_dir(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%s/test_fetch_XXXXXX", tmp ? tmp : "/tmp");
	must(mkdtemp(dir));
}

static void remove_dir(void)
{
	(void)nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* A file's content is its build-id in hex. */
static int read_id(void *ctx, int fd, struct build_id *ret_id)
{
	char hex[BUILD_ID_HEX_SIZE] = "";
	struct build_id id = { 0 };
	unsigned int byte;

	if (pread(fd, hex, sizeof(hex) - 1, 0) < 2)
		return -ENOEXEC;
	while (sscanf(hex + 2 * id.len, "%2x", &byte) == 1)
		id.bytes[id.len++] = (uint8_t)byte;
	*ret_id = id;
	return 0;
}

static uint64_t cache_max_bytes = 1000000;

static struct fetcher *new_fetcher(const char *how, uint64_t timeout_ns)
{
	struct fetcher_config cfg = { .urls = how,
				      .cache_dir = dir,
				      .cache_max_bytes = cache_max_bytes,
				      .timeout_ns = timeout_ns,
				      .program = "/proc/self/exe",
				      .build_id_of = read_id };
	struct fetcher *f = NULL;

	must(fetcher_new(&cfg, &f, NULL) == 0);
	return f;
}

static struct fetch_request request(uint8_t n)
{
	return (struct fetch_request){ .id = { .bytes = { 0x10, n }, .len = 2 }, .label = "file" };
}

/* One request; its result, or -1 when what was handed over does not fit it. */
static int get(struct fetcher *f, uint8_t n)
{
	struct fetch_request rq = request(n);

	must(fetcher_get(f, &rq, 1, NULL) == 0);
	if ((rq.fd >= 0) != fetch_is_success(rq.result))
		return -1;
	if (rq.fd >= 0)
		close(rq.fd);
	return (int)rq.result;
}

static int get_new(const char *how, uint64_t timeout_ns, uint8_t n)
{
	struct fetcher *f = new_fetcher(how, timeout_ns);
	int result = get(f, n);

	fetcher_free(f);
	return result;
}

static bool is_clean(void)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/.tmp", dir);
	return rmdir(path) == 0 && mkdir(path, 0700) == 0;
}

static void test_results(void)
{
	ok(get_new("good", 5 * NS_PER_S, 1) == FETCH_FETCHED, "a file is fetched");
	ok(get_new("missing", 5 * NS_PER_S, 1) == FETCH_CACHED, "then it is in the cache");
	ok(get_new("missing", 5 * NS_PER_S, 2) == FETCH_NOT_FOUND, "one that is not there is not");
	ok(get_new("missing", 5 * NS_PER_S, 2) == FETCH_REMEMBERED, "which is remembered");
	ok(get_new("good", 5 * NS_PER_S, 2) == FETCH_FETCHED, "not for other servers");
	ok(get_new("wrong", 5 * NS_PER_S, 3) == FETCH_WRONG_FILE, "another file is refused");
	ok(get_new("wrong", 5 * NS_PER_S, 3) == FETCH_REMEMBERED, "which is remembered too");
	ok(get_new("hang", NS_PER_S / 5, 4) == FETCH_TIMEOUT, "one that takes too long is ended");
	ok(get_new("hang", NS_PER_S / 5, 4) == FETCH_TIMEOUT,
	   "which is no reason not to ask again");
	ok(get_new("endless", 60 * NS_PER_S, 5) == FETCH_TOO_LARGE, "so is one that never ends");
	ok(get_new("endless", 60 * NS_PER_S, 5) == FETCH_REMEMBERED, "which is remembered");
	cache_max_bytes++;
	ok(get_new("endless", 60 * NS_PER_S, 5) == FETCH_TOO_LARGE,
	   "until the limit is another one");
	cache_max_bytes--;
	ok(get_new("crash", 5 * NS_PER_S, 6) == FETCH_SERVER_FAILED, "a crash is a failure");
	ok(get_new("nothing", 5 * NS_PER_S, 7) == FETCH_SERVER_FAILED, "and so is no file");
	ok(is_clean(), "nothing is left on the way");
}

static void check_blame(const char *how, uint8_t n, enum fetch_reason reason)
{
	struct fetcher *f = new_fetcher(how, NS_PER_S / 2);
	struct fetch_stats st;

	(void)get(f, n);
	st = fetcher_stats(f);
	ok(st.nr_failures == 1 && !strcmp(st.failures[0].server, "h:1") &&
		   st.failures[0].reason == reason && st.failures[0].count == 1,
	   "%s: the server is named, with the reason", how);
	fetcher_free(f);
}

static void test_blame(void)
{
	check_blame("tell refused", 1, FETCH_REASON_CONNECT);
	check_blame("tell hang", 2, FETCH_REASON_TIMEOUT);
	check_blame("tell wrong", 3, FETCH_REASON_WRONG_FILE);
}

static void test_confined(void)
{
	must(dup2(STDERR_FILENO, INHERITED_FD) == INHERITED_FD);
	must(setenv("SECRET", "1", 1) == 0 && setenv("http_proxy", "http://127.0.0.1:1", 1) == 0);
	ok(get_new("confined", 5 * NS_PER_S, 1) == FETCH_FETCHED,
	   "the process has its own environment, size limit and session, no capabilities and "
	   "none of our files");
	close(INHERITED_FD);
}

/* The size and whose it is, in the cache. */
static struct stat entry(uint8_t n)
{
	char path[2 * PATH_MAX];
	struct stat st = { 0 };

	snprintf(path, sizeof(path), "%s/.build-id/10/%02x.debug", dir, n);
	(void)stat(path, &st);
	return st;
}

static void test_links(void)
{
	ok(get_new("leave symlink", 5 * NS_PER_S, 1) == FETCH_SERVER_FAILED,
	   "a symbolic link is not followed");
	ok(get_new("leave hardlink", 5 * NS_PER_S, 2) == FETCH_SERVER_FAILED,
	   "a file that has another name is not taken");
	ok(!entry(1).st_ino && !entry(2).st_ino, "nothing of them is in the cache");
	ok(is_clean(), "nor on the way");
}

/* The first bytes of a file in the cache, as text. */
static void read_entry(uint8_t n, char text[16])
{
	char path[2 * PATH_MAX];
	int fd;

	memset(text, 0, 16);
	snprintf(path, sizeof(path), "%s/.build-id/10/%02x.debug", dir, n);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && pread(fd, text, 15, 0) >= 0);
	close(fd);
}

static void test_daemon(void)
{
	const struct timespec wait = { .tv_nsec = 1000000 };
	char path[] = "/tmp/test_fetch_told_XXXXXX", text[16];
	struct stat st = { 0 };
	int fd = mkstemp(path);

	must(fd >= 0 && fchmod(fd, 0666) == 0 && setenv("HOME", path, 1) == 0);
	ok(get_new("leave daemon", 20 * NS_PER_S, 1) == FETCH_FETCHED,
	   "a client that leaves a process behind fetches");
	for (int i = 0; i < 30000 && fstat(fd, &st) == 0 && !st.st_size; i++)
		nanosleep(&wait, NULL);
	ok(st.st_size == 1, "that process changes the file afterwards");
	read_entry(1, text);
	ok(!strcmp(text, "1001"), "what is in the cache stays what was checked (%s)", text);
	close(fd);
	unlink(path);
}

static void test_nobody(void)
{
	char copy[2 * PATH_MAX], command[5 * PATH_MAX];
	struct fetcher_config cfg = { .urls = "nobody",
				      .cache_dir = dir,
				      .cache_max_bytes = cache_max_bytes,
				      .timeout_ns = 5 * NS_PER_S,
				      .program = copy,
				      .build_id_of = read_id };
	struct fetcher *f = NULL;

	if (geteuid() != 0) {
		tap_skip("fetching as nobody: needs root");
		return;
	}
	ok(get_new("nobody", 5 * NS_PER_S, 1) == FETCH_FETCHED, "root fetches as nobody");
	ok(entry(1).st_size && entry(1).st_uid == 0 && entry(1).st_gid == getegid() &&
		   (entry(1).st_mode & 0777) == 0600,
	   "what came is root's own");
	snprintf(copy, sizeof(copy), "%s/program", dir);
	snprintf(command, sizeof(command), "cp /proc/%d/exe %s && chmod 700 %s", (int)getpid(),
		 copy, copy);
	must(system(command) == 0);
	must(fetcher_new(&cfg, &f, NULL) == 0);
	ok(get(f, 2) == FETCH_SERVER_FAILED, "a program that only root may run is run by root");
	fetcher_free(f);
	cfg.urls = "good";
	must(fetcher_new(&cfg, &f, NULL) == 0);
	ok(get(f, 3) == FETCH_FETCHED && entry(3).st_uid == 0, "and fetches as well");
	fetcher_free(f);
}

/* In a process of its own: whether root fetches without a capability, and leaves nothing behind. */
static bool fetches_without(unsigned int cap, uint8_t n)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2];
	uint32_t gone = 1u << cap | 1u << CAP_DAC_READ_SEARCH;
	int status = 1;
	pid_t pid = fork();

	must(pid >= 0);
	if (pid == 0) {
		must(syscall(SYS_capget, &header, caps) == 0);
		caps[0].effective &= ~gone;
		caps[0].permitted &= ~gone;
		must(syscall(SYS_capset, &header, caps) == 0);
		_exit(get_new("good", 5 * NS_PER_S, n) != FETCH_FETCHED || !is_clean());
	}
	must(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_weak_root(void)
{
	if (geteuid() != 0) {
		tap_skip("root without some capabilities: needs root");
		return;
	}
	ok(fetches_without(CAP_CHOWN, 1), "root that may not give files away fetches as before");
	ok(fetches_without(CAP_DAC_OVERRIDE, 2), "so does one that may not read another's");
}

/* Two of them fit at a time, but eight would run. */
static void test_room(void)
{
	struct fetch_request rqs[FETCH_MAX_PARALLEL];
	char path[] = "/tmp/test_fetch_limits_XXXXXX";
	int64_t sums[2] = { 0 };
	int fd = mkstemp(path), nr = 0;
	struct fetcher *f;

	must(fd >= 0 && fchmod(fd, 0666) == 0 && write(fd, sums, sizeof(sums)) > 0);
	must(setenv("HOME", path, 1) == 0);
	f = new_fetcher("half", 20 * NS_PER_S);
	for (unsigned int i = 0; i < FETCH_MAX_PARALLEL; i++)
		rqs[i] = request((uint8_t)i);
	must(fetcher_get(f, rqs, FETCH_MAX_PARALLEL, NULL) == 0);
	for (unsigned int i = 0; i < FETCH_MAX_PARALLEL; i++) {
		nr += rqs[i].result == FETCH_FETCHED;
		close(rqs[i].fd);
	}
	must(pread(fd, sums, sizeof(sums), 0) == (ssize_t)sizeof(sums));
	ok(nr == FETCH_MAX_PARALLEL, "files larger than their share are fetched (%d)", nr);
	ok(sums[1] > 0 && sums[1] <= (int64_t)cache_max_bytes,
	   "what all may write at once is what the cache may hold (%lld)", (long long)sums[1]);
	ok(is_clean(), "and nothing is left on the way");
	fetcher_free(f);
	close(fd);
	unlink(path);
}

/* The last is not there yet, and may write all that the cache may hold. */
static void test_room_of_cached(void)
{
	struct fetch_request rqs[FETCH_MAX_PARALLEL];
	unsigned int last = FETCH_MAX_PARALLEL - 1;
	struct fetcher *f = new_fetcher("confined", 5 * NS_PER_S);

	for (unsigned int i = 0; i <= last; i++)
		rqs[i] = request((uint8_t)i);
	for (unsigned int i = 0; i < last; i++)
		must(get_new("good", 5 * NS_PER_S, (uint8_t)i) == FETCH_FETCHED);
	must(fetcher_get(f, rqs, FETCH_MAX_PARALLEL, NULL) == 0);
	ok(rqs[0].result == FETCH_CACHED && rqs[last].result == FETCH_FETCHED,
	   "what is in the cache has no share of the room");
	for (unsigned int i = 0; i <= last; i++)
		close(rqs[i].fd);
	fetcher_free(f);
}

static void test_no_program(void)
{
	struct fetcher_config cfg = { .urls = "good",
				      .cache_dir = dir,
				      .cache_max_bytes = 1000,
				      .timeout_ns = NS_PER_S,
				      .program = "/nonexistent/perf-agent",
				      .build_id_of = read_id };
	struct fetcher *f = NULL;

	must(fetcher_new(&cfg, &f, NULL) == 0);
	ok(get(f, 1) == FETCH_UNAVAILABLE, "a program that is not there is told from a failure");
	ok(fetch_probe("/nonexistent/perf-agent") == FETCH_UNAVAILABLE, "also beforehand");
	ok(fetch_probe("/proc/self/exe") == FETCH_FETCHED, "one that is there could fetch");
	fetcher_free(f);
}

static void test_damaged_entry(void)
{
	char path[2 * PATH_MAX];

	must(get_new("good", 5 * NS_PER_S, 1) == FETCH_FETCHED);
	snprintf(path, sizeof(path), "%s/.build-id/10/01.debug", dir);
	must(truncate(path, 0) == 0);
	ok(get_new("good", 5 * NS_PER_S, 1) == FETCH_FETCHED,
	   "a file that was cut in the cache is fetched again");
}

static void test_many(void)
{
	struct fetcher *f = new_fetcher("good", 20 * NS_PER_S);
	struct fetch_request rqs[MANY];
	struct fetch_stats st;
	int nr = 0;

	for (unsigned int i = 0; i < MANY; i++)
		rqs[i] = request((uint8_t)i);
	must(fetcher_get(f, rqs, MANY, NULL) == 0);
	for (unsigned int i = 0; i < MANY; i++) {
		struct build_id id = { 0 };

		nr += rqs[i].result == FETCH_FETCHED && read_id(NULL, rqs[i].fd, &id) == 0 &&
		      build_id_eq(&id, &rqs[i].id);
		close(rqs[i].fd);
	}
	ok(nr == MANY, "each request gets its own file (%d of %d)", nr, MANY);
	st = fetcher_stats(f);
	ok(st.results[FETCH_FETCHED] == MANY && st.bytes == 4 * MANY, "all are counted");
	fetcher_free(f);
}

/* Each waits for its own time and for no other's. */
static void test_hanging_servers(void)
{
	struct fetcher *f = new_fetcher("hang", NS_PER_S / 5);
	struct fetch_request rqs[MANY];
	struct fetch_stats st;

	for (unsigned int i = 0; i < MANY; i++)
		rqs[i] = request((uint8_t)i);
	must(fetcher_get(f, rqs, MANY, NULL) == 0);
	st = fetcher_stats(f);
	/* Where one has ended before the last of them, the next has begun. */
	ok(st.results[FETCH_TIMEOUT] >= FETCH_MAX_TIMEOUTS &&
		   st.results[FETCH_TIMEOUT] < FETCH_MAX_TIMEOUTS + FETCH_MAX_PARALLEL &&
		   st.results[FETCH_SKIPPED] == MANY - st.results[FETCH_TIMEOUT],
	   "servers that never answer are given up (after %d)", (int)st.results[FETCH_TIMEOUT]);
	ok(is_clean(), "and nothing is left of it");
	fetcher_free(f);
}

/* One answer shows that the servers live. */
static void test_slow_files(void)
{
	struct fetcher *f = new_fetcher("hang by turns", NS_PER_S / 5);
	bool is_asked = true;

	for (uint8_t i = 0; i < FETCH_MAX_TIMEOUTS + 1; i++)
		is_asked &= get(f, (uint8_t)(2 * i + 1)) == FETCH_TIMEOUT &&
			    get(f, (uint8_t)(2 * i)) != FETCH_SKIPPED;
	ok(is_asked, "servers that answer in between are not given up");
	fetcher_free(f);
}

static void *cancel_soon(void *flag)
{
	const struct timespec soon = { .tv_nsec = 200000000 };

	nanosleep(&soon, NULL);
	atomic_store((atomic_bool *)flag, true);
	return NULL;
}

static void test_cancel(void)
{
	struct fetcher *f = new_fetcher("hang", 600 * NS_PER_S);
	struct fetch_request rqs[2] = { request(1), request(2) };
	atomic_bool cancel = false;
	pthread_t t;

	must(pthread_create(&t, NULL, cancel_soon, &cancel) == 0);
	ok(fetcher_get(f, rqs, 2, &cancel) == -ECANCELED, "a cancel does not wait for servers");
	pthread_join(t, NULL);
	ok(rqs[0].result == FETCH_INTERRUPTED && rqs[1].result == FETCH_INTERRUPTED &&
		   fetcher_stats(f).results[FETCH_TIMEOUT] == 0,
	   "which is told as what it is");
	ok(is_clean(), "and ends what was on its way");
	fetcher_free(f);
}

/* poll() takes no more than a process may have open. */
static void *forbid_soon(void *limit)
{
	const struct timespec soon = { .tv_nsec = 200000000 };

	nanosleep(&soon, NULL);
	(void)setrlimit(RLIMIT_NOFILE, limit);
	return NULL;
}

static void test_no_poll(void)
{
	struct fetcher *f = new_fetcher("hang", 600 * NS_PER_S);
	struct fetch_request rqs[2] = { request(1), request(2) };
	struct rlimit before, none;
	pthread_t t;

	must(getrlimit(RLIMIT_NOFILE, &before) == 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = before.rlim_max };
	must(pthread_create(&t, NULL, forbid_soon, &none) == 0);
	ok(fetcher_get(f, rqs, 2, NULL) == -EINVAL, "processes that cannot be waited for end");
	pthread_join(t, NULL);
	must(setrlimit(RLIMIT_NOFILE, &before) == 0);
	ok(rqs[0].result == FETCH_UNAVAILABLE && rqs[1].result == FETCH_UNAVAILABLE,
	   "which is told from a run that was told to end");
	fetcher_free(f);
}

/* Two fetchers, as of two agents, want the same file. */
static void *get_thread(void *result)
{
	*(int *)result = get_new("good", 20 * NS_PER_S, 1);
	return NULL;
}

static void test_two_at_once(void)
{
	int results[2] = { -1, -1 };
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		must(pthread_create(&t[i], NULL, get_thread, &results[i]) == 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	ok((results[0] == FETCH_FETCHED && results[1] == FETCH_CACHED) ||
		   (results[0] == FETCH_CACHED && results[1] == FETCH_FETCHED),
	   "of two that want one file one fetches it (%d, %d)", results[0], results[1]);
}

static void in_new_dir(void (*test)(void))
{
	new_dir();
	test();
	remove_dir();
}

int main(int argc, char *argv[])
{
	if (argc == 4 && !strcmp(argv[1], FETCH_COMMAND) && !strcmp(argv[2], FETCH_PROBE))
		return 0;
	if (argc == 4 && !strcmp(argv[1], FETCH_COMMAND))
		return behave(getenv("DEBUGINFOD_URLS"), argv[2]);
	in_new_dir(test_results);
	in_new_dir(test_blame);
	in_new_dir(test_confined);
	in_new_dir(test_links);
	in_new_dir(test_daemon);
	in_new_dir(test_nobody);
	in_new_dir(test_weak_root);
	in_new_dir(test_room);
	in_new_dir(test_room_of_cached);
	in_new_dir(test_no_program);
	in_new_dir(test_damaged_entry);
	in_new_dir(test_many);
	in_new_dir(test_hanging_servers);
	in_new_dir(test_slow_files);
	in_new_dir(test_cancel);
	in_new_dir(test_no_poll);
	in_new_dir(test_two_at_once);
	return tap_done();
}
