/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fetch/child.h"
#include "fetch/fetch_exit.h"
#include "fetch/fetch_main.h"
#include "tap.h"

char cache_dir[PATH_MAX];
static int hangs_fd = -1; /* of the test, not of its clients */

/* ---- the clock ---- */

int __real_clock_gettime(clockid_t id, struct timespec *ret_time);
int __wrap_clock_gettime(clockid_t id, struct timespec *ret_time);

static unsigned int nr_hanging(void)
{
	struct stat st = { 0 };

	return hangs_fd >= 0 && fstat(hangs_fd, &st) == 0 ? (unsigned int)st.st_size : 0;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ret_time)
{
	if (id != CLOCK_MONOTONIC)
		return __real_clock_gettime(id, ret_time);
	*ret_time = (struct timespec){ .tv_sec = 1000 + nr_hanging() };
	return 0;
}

void wait_for_hanging(unsigned int nr)
{
	const struct timespec wait = { .tv_nsec = 1000000 };

	while (nr_hanging() < nr)
		nanosleep(&wait, NULL);
}

/* ---- the program ---- */

/* Adds a byte to the file $HOME, and waits to be killed. */
static int hang(void)
{
	int fd = open(getenv("HOME"), O_WRONLY | O_APPEND | O_CLOEXEC);

	if (fd < 0 || write(fd, "", 1) != 1)
		return 1;
	pause();
	return 1;
}

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
static int behave_and_report(const char *how)
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
	return hang();
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
 * it, and reports that in the file $HOME. */
static _Noreturn void outlive(int result_fd, int ready_fd)
{
	const struct timespec wait = { .tv_nsec = 1000000 };
	int done_fd = open(getenv("HOME"), O_WRONLY | O_CLOEXEC);

	if (setsid() < 0 || done_fd < 0 || write(ready_fd, "", 1) != 1)
		_exit(1);
	for (int i = 0; i < 20000 && access(CHILD_RESULT, F_OK) == 0; i++)
		nanosleep(&wait, NULL);
	if (access(CHILD_RESULT, F_OK) == 0 || pwrite(result_fd, "ffff", 4, 0) != 4)
		_exit(1);
	_exit(write(done_fd, "", 1) != 1);
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
static bool is_behaviour(const char *how, const char *hex)
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
		return behave_and_report(how);
	if (!strncmp(how, "leave ", 6))
		return behave_badly(how, hex);
	if (is_behaviour(how, hex))
		write_result(hex);
	else if (!strcmp(how, "wrong"))
		write_result("ffff");
	else if (!strcmp(how, "half"))
		return write_half(hex);
	else if (!strncmp(how, "hang", 4))
		return hang();
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
/* ---- asking for it ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static void new_dir(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(cache_dir, sizeof(cache_dir), "%s/test_fetch_XXXXXX", tmp ? tmp : "/tmp");
	must(mkdtemp(cache_dir));
}

static void remove_dir(void)
{
	(void)nftw(cache_dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Where clients, who may be nobody, say that they hang. */
static void new_hangs(char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "/tmp/test_fetch_hangs_XXXXXX");
	hangs_fd = mkostemp(path, O_CLOEXEC);
	must(hangs_fd >= 0 && fchmod(hangs_fd, 0666) == 0 && setenv("HOME", path, 1) == 0);
}

int read_id(void *ctx, int fd, struct build_id *ret_id)
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

uint64_t cache_max_bytes = 1000000;

struct fetcher *new_fetcher(const char *how, uint64_t timeout_ns)
{
	struct fetcher_config cfg = { .urls = how,
				      .cache_dir = cache_dir,
				      .cache_max_bytes = cache_max_bytes,
				      .timeout_ns = timeout_ns,
				      .program = "/proc/self/exe",
				      .build_id_of = read_id };
	struct fetcher *f = NULL;

	must(fetcher_new(&cfg, &f, NULL) == 0);
	return f;
}

struct fetch_request request(uint8_t n)
{
	return (struct fetch_request){ .id = { .bytes = { 0x10, n }, .len = 2 }, .label = "file" };
}

int get(struct fetcher *f, uint8_t n)
{
	struct fetch_request rq = request(n);

	must(fetcher_get(f, &rq, 1, NULL) == 0);
	if ((rq.fd >= 0) != fetch_is_success(rq.result))
		return -1;
	if (rq.fd >= 0)
		close(rq.fd);
	return (int)rq.result;
}

int get_new(const char *how, uint64_t timeout_ns, uint8_t n)
{
	struct fetcher *f = new_fetcher(how, timeout_ns);
	int result = get(f, n);

	fetcher_free(f);
	return result;
}

bool is_clean(void)
{
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/.tmp", cache_dir);
	return rmdir(path) == 0 && mkdir(path, 0700) == 0;
}

void in_new_dir(void (*test)(void))
{
	char path[PATH_MAX];

	new_dir();
	new_hangs(path);
	test();
	close(hangs_fd);
	hangs_fd = -1;
	unlink(path);
	remove_dir();
}

bool is_client(int argc, char *argv[], int *ret_status)
{
	if (argc != 4 || strcmp(argv[1], FETCH_COMMAND) != 0)
		return false;
	*ret_status =
		strcmp(argv[2], FETCH_PROBE) == 0 ? 0 : behave(getenv("DEBUGINFOD_URLS"), argv[2]);
	return true;
}
