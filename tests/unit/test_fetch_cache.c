/* SPDX-License-Identifier: Apache-2.0 */
#include "fetch/fetch_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "tap.h"

#define NR_RACERS 4
#define NR_IDS 12
#define RACE_BYTES 1000

static char dir[PATH_MAX];

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

static struct cache open_cache(uint64_t max_bytes)
{
	struct cache c;

	must(cache_open(&c, dir, max_bytes, 1, NULL) == 0);
	return c;
}

static struct build_id id_of(uint8_t n)
{
	return (struct build_id){ .bytes = { 0xab, n, 0xcd }, .len = 3 };
}

/* A file of that many bytes, each the number. */
static int put(struct cache *c, uint8_t n, size_t bytes)
{
	struct build_id id = id_of(n);
	char tmp[CACHE_TMP_NAME_SIZE];
	_cleanup_(freep) char *content = malloc(bytes);
	int tmp_fd, fd, r;

	must(content && cache_tmp(c, tmp, &tmp_fd) == 0);
	memset(content, n, bytes);
	fd = openat(tmp_fd, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	must(fd >= 0 && write(fd, content, bytes) == (ssize_t)bytes);
	close(fd);
	r = cache_put(c, &id, tmp_fd, "file");
	close(tmp_fd);
	cache_remove_tmp(c, tmp);
	return r;
}

/* Its bytes when it is there and whole, -1 when it is not there, -2 when it is damaged. */
static long size_of(struct cache *c, uint8_t n)
{
	struct build_id id = id_of(n);
	_cleanup_(closep) int fd = cache_get(c, &id);
	char content[4096];
	ssize_t got = fd < 0 ? -1 : read(fd, content, sizeof(content));

	for (ssize_t i = 0; i < got; i++)
		if (content[i] != (char)n)
			return -2;
	return got;
}

static void make_older(uint8_t n, const char *suffix, long by_s)
{
	char path[2 * PATH_MAX];
	struct timespec t[2] = { { time(NULL) - by_s, 0 }, { time(NULL) - by_s, 0 } };

	snprintf(path, sizeof(path), "%s/.build-id/ab/%02xcd%s", dir, n, suffix);
	must(utimensat(AT_FDCWD, path, t, 0) == 0);
}

static void test_layout(void)
{
	struct cache c = open_cache(1 << 20);
	char path[2 * PATH_MAX];

	ok(size_of(&c, 1) == -1, "a file that was never stored is not found");
	ok(put(&c, 1, 100) == 0 && size_of(&c, 1) == 100, "a stored file is found");
	snprintf(path, sizeof(path), "%s/.build-id/ab/01cd.debug", dir);
	ok(access(path, R_OK) == 0, "a stored file has the path that debuggers look for");
	ok(put(&c, 1, 50) == 0 && size_of(&c, 1) == 50,
	   "another file with the same build-id replaces it");
	cache_close(&c);
}

#define NOBODY 65534

/* Somewhere that nothing can be made in, as on a disk that is full or read-only. */
static void test_no_folder(void)
{
	struct cache c = open_cache(1 << 20);
	char tmp[CACHE_TMP_NAME_SIZE];
	uid_t user = geteuid();
	int fd, r;

	must(fchmod(c.dir_fd, 0755) == 0 && fchmodat(c.dir_fd, ".tmp", 0555, 0) == 0);
	must(user != 0 || seteuid(NOBODY) == 0);
	r = cache_tmp(&c, tmp, &fd);
	must(user != 0 || seteuid(0) == 0);
	ok(r == -EACCES, "a directory that cannot be created is reported with the reason (%s)",
	   strerror(-r));
	must(fchmodat(c.dir_fd, ".tmp", 0700, 0) == 0);
	cache_close(&c);
}

static void test_not_writable(void)
{
	struct cache c = open_cache(1 << 20);
	struct pa_error err = { 0 };
	char path[2 * PATH_MAX];
	uid_t user = geteuid();
	int r;

	cache_close(&c);
	snprintf(path, sizeof(path), "%s/.lock", dir);
	r = cache_open(&c, path, 1000, 1, &err);
	ok(r == -ENOTDIR && strstr(err.text, "Not a directory; give a folder"),
	   "a regular file as cache is refused with the reason and the fix (%s)", err.text);
	must(user != 0 || (chown(dir, NOBODY, NOBODY) == 0 && chown(path, NOBODY, NOBODY) == 0));
	snprintf(path, sizeof(path), "%s/.tmp", dir);
	must(user != 0 || chown(path, NOBODY, NOBODY) == 0);
	snprintf(path, sizeof(path), "%s/.build-id", dir);
	must(chmod(path, 0555) == 0);
	must(user != 0 || seteuid(NOBODY) == 0);
	r = cache_open(&c, dir, 1000, 1, NULL);
	must(user != 0 || seteuid(0) == 0);
	ok(r == -EACCES, "a directory that is not writable is refused (%s)", strerror(-r));
	must(chmod(path, 0700) == 0);
}

static void test_least_recently_used_goes(void)
{
	struct cache c = open_cache(1000);

	must(put(&c, 1, 400) == 0 && put(&c, 2, 400) == 0);
	make_older(1, ".debug", 100);
	make_older(2, ".debug", 50);
	must(size_of(&c, 1) == 400); /* used: now the younger one */
	ok(put(&c, 3, 400) == 0 && size_of(&c, 2) == -1,
	   "over the limit the least recently used file is removed");
	ok(size_of(&c, 1) == 400 && size_of(&c, 3) == 400,
	   "over the limit no other file is removed");
	ok(c.nr_evicted == 1, "removed files are counted");
	must(put(&c, 4, 1000) == 0);
	ok(size_of(&c, 4) == 1000 && size_of(&c, 1) == -1 && size_of(&c, 3) == -1,
	   "a file as large as the limit stays alone");
	cache_close(&c);
	c = open_cache(999);
	ok(cache_trim(&c) == 0 && size_of(&c, 4) == -1, "a lower limit applies to existing files");
	cache_close(&c);
}

static void test_notes(void)
{
	struct cache c = open_cache(1000), other;
	struct build_id id = id_of(7), broken = id_of(8);

	ok(!cache_is_hopeless(&c, &id), "an unknown file is worth requesting");
	cache_remember(&c, &id, CACHE_MISSING);
	cache_remember(&c, &broken, CACHE_BROKEN);
	ok(cache_is_hopeless(&c, &id) && cache_is_hopeless(&c, &broken),
	   "a missing or invalid file is not worth requesting");
	must(cache_open(&other, dir, 1000, 2, NULL) == 0);
	ok(!cache_is_hopeless(&other, &id), "a missing file may be on other servers");
	cache_close(&other);
	make_older(7, ".missing-00000001", 700);
	make_older(8, ".broken-00000001", 700);
	ok(!cache_is_hopeless(&c, &id), "a missing file is requested again after ten minutes");
	ok(cache_is_hopeless(&c, &broken), "an invalid file is remembered for longer");
	make_older(8, ".broken-00000001", 4000);
	ok(!cache_is_hopeless(&c, &broken), "an invalid file is not remembered forever");
	must(cache_trim(&c) == 0);
	ok(faccessat(c.dir_fd, ".build-id/ab/08cd.broken-00000001", F_OK, 0) < 0,
	   "expired notes are removed");
	cache_close(&c);
}

static void test_refused(void)
{
	struct pa_error err = { 0 };
	char inside[2 * PATH_MAX];
	struct cache c;
	struct stat st;

	must(chmod(dir, 0770) == 0);
	ok(cache_open(&c, dir, 1, 1, &err) == -EPERM && strstr(err.text, "written to by others"),
	   "a directory that others can write to is refused");
	must(chmod(dir, 0700) == 0);
	if (geteuid() != 0) {
		tap_skip("a folder of another user needs root");
	} else {
		err = (struct pa_error){ 0 };
		must(chown(dir, 65534, 65534) == 0);
		ok(cache_open(&c, dir, 1, 1, &err) == -EPERM &&
			   strstr(err.text, "belongs to another user"),
		   "a directory of another user is refused");
		must(chown(dir, 0, 0) == 0);
	}
	err = (struct pa_error){ 0 };
	ok(cache_open(&c, "/dev/null/x", 1, 1, &err) == -ENOTDIR && strstr(err.text, "/dev/null/x"),
	   "a directory that cannot be created is named");
	snprintf(inside, sizeof(inside), "%s/a/b", dir);
	ok(cache_open(&c, inside, 1, 1, NULL) == 0 && stat(inside, &st) == 0 &&
		   (st.st_mode & 07777) == 0700,
	   "a missing directory is created, private to its owner");
	cache_close(&c);
}

static void test_sweep(void)
{
	struct cache c = open_cache(1000);
	char kept[CACHE_TMP_NAME_SIZE], left[CACHE_TMP_NAME_SIZE], path[64];
	int kept_fd, left_fd;

	must(cache_tmp(&c, kept, &kept_fd) == 0 && cache_tmp(&c, left, &left_fd) == 0);
	must(mkdirat(left_fd, "cache", 0700) == 0 && mkdirat(left_fd, "cache/ab", 0700) == 0);
	close(openat(left_fd, "cache/ab/half", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	close(left_fd); /* as if its agent had been killed */
	cache_sweep(&c);
	snprintf(path, sizeof(path), ".tmp/%s", left);
	ok(faccessat(c.dir_fd, path, F_OK, 0) < 0, "what a killed agent left is removed");
	snprintf(path, sizeof(path), ".tmp/%s", kept);
	ok(faccessat(c.dir_fd, path, F_OK, 0) == 0, "a temporary directory in use is not removed");
	close(kept_fd);
	cache_close(&c);
}

static void test_locks(void)
{
	struct cache a = open_cache(1000), b = open_cache(1000);
	struct build_id one = id_of(1), two = id_of(2);

	ok(cache_lock(&a, &one) == 0 && cache_lock(&b, &one) == -EAGAIN,
	   "a build-id that is being fetched is locked");
	ok(cache_lock(&b, &two) == 0, "another build-id is not locked");
	cache_unlock(&a, &one);
	ok(cache_lock(&b, &one) == 0, "the lock is released when the fetch is done");
	cache_close(&b);
	ok(cache_lock(&a, &one) == 0, "a lock ends with its holder");
	cache_close(&a);
}

/* Puts, reads and evicts what others do at the same time; 1: something was damaged. */
static int race(unsigned int seed)
{
	struct cache c = open_cache(5 * RACE_BYTES);
	int bad = 0;

	for (int i = 0; i < 200; i++) {
		uint8_t n = (uint8_t)(1 + rand_r(&seed) % NR_IDS);
		struct build_id id = id_of(n);
		long size;

		if (cache_lock(&c, &id) == 0) {
			bad |= put(&c, n, RACE_BYTES) != 0;
			cache_unlock(&c, &id);
		}
		size = size_of(&c, n);
		bad |= size != -1 && size != RACE_BYTES;
	}
	cache_close(&c);
	return bad;
}

static void test_processes_race(void)
{
	struct cache c = open_cache(5 * RACE_BYTES);
	pid_t pids[NR_RACERS];
	int bad = 0, nr = 0;

	for (unsigned int i = 0; i < NR_RACERS; i++) {
		pids[i] = fork();
		must(pids[i] >= 0);
		if (pids[i] == 0)
			_exit(race(i));
	}
	for (int i = 0; i < NR_RACERS; i++) {
		int status;

		must(waitpid(pids[i], &status, 0) == pids[i]);
		bad |= status;
	}
	ok(!bad, "concurrent processes never see half a file");
	for (uint8_t n = 1; n <= NR_IDS; n++)
		nr += size_of(&c, n) > 0;
	ok(nr > 0 && nr <= 5, "concurrent processes keep the limit together (%d of 5 files)", nr);
	cache_close(&c);
}

static void in_new_dir(void (*test)(void))
{
	new_dir();
	test();
	remove_dir();
}

int main(void)
{
	in_new_dir(test_layout);
	in_new_dir(test_no_folder);
	in_new_dir(test_not_writable);
	in_new_dir(test_least_recently_used_goes);
	in_new_dir(test_notes);
	in_new_dir(test_refused);
	in_new_dir(test_sweep);
	in_new_dir(test_locks);
	in_new_dir(test_processes_race);
	return tap_done();
}
