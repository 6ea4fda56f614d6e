/* SPDX-License-Identifier: Apache-2.0 */
/* What a client may do, as whom it runs, and what it cannot leave behind. */
#include "fetch/fetcher.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "fetch_fixture.h"
#include "tap.h"

static void test_confined(void)
{
	must(dup2(STDERR_FILENO, INHERITED_FD) == INHERITED_FD);
	must(setenv("SECRET", "1", 1) == 0 && setenv("http_proxy", "http://127.0.0.1:1", 1) == 0);
	ok(get_new("confined", 5 * NS_PER_S, 1) == FETCH_FETCHED,
	   "the process has its own environment, size limit and session, no capabilities and none "
	   "of our files");
	close(INHERITED_FD);
}

/* The size and whose it is, in the cache. */
static struct stat entry(uint8_t n)
{
	char path[2 * PATH_MAX];
	struct stat st = { 0 };

	snprintf(path, sizeof(path), "%s/.build-id/10/%02x.debug", cache_dir, n);
	(void)stat(path, &st);
	return st;
}

static void test_links(void)
{
	ok(get_new("leave symlink", 5 * NS_PER_S, 1) == FETCH_SERVER_FAILED,
	   "a symbolic link is not taken as the result");
	ok(get_new("leave hardlink", 5 * NS_PER_S, 2) == FETCH_SERVER_FAILED,
	   "a file with another name is not taken as the result");
	ok(!entry(1).st_ino && !entry(2).st_ino, "rejected results are not in the cache");
	ok(is_clean(), "rejected results are not in temporary directories");
}

/* The first bytes of a file in the cache, as text. */
static void read_entry(uint8_t n, char text[16])
{
	char path[2 * PATH_MAX];
	int fd;

	memset(text, 0, 16);
	snprintf(path, sizeof(path), "%s/.build-id/10/%02x.debug", cache_dir, n);
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
	ok(st.st_size == 1, "a process left behind changes the file afterwards");
	read_entry(1, text);
	ok(!strcmp(text, "1001"), "the file in the cache is the one that was verified (%s)", text);
	close(fd);
	unlink(path);
}

static void test_nobody(void)
{
	char copy[2 * PATH_MAX], command[5 * PATH_MAX];
	struct fetcher_config cfg = { .urls = "nobody",
				      .cache_dir = cache_dir,
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
	   "a file fetched as nobody belongs to root");
	snprintf(copy, sizeof(copy), "%s/program", cache_dir);
	snprintf(command, sizeof(command), "cp /proc/%d/exe %s && chmod 700 %s", (int)getpid(),
		 copy, copy);
	must(system(command) == 0);
	must(fetcher_new(&cfg, &f, NULL) == 0);
	ok(get(f, 2) == FETCH_SERVER_FAILED, "a program that only root may run is run by root");
	fetcher_free(f);
	cfg.urls = "good";
	must(fetcher_new(&cfg, &f, NULL) == 0);
	ok(get(f, 3) == FETCH_FETCHED && entry(3).st_uid == 0,
	   "a program that only root may run fetches");
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
	ok(fetches_without(CAP_CHOWN, 1), "root without CAP_CHOWN fetches as root");
	ok(fetches_without(CAP_DAC_OVERRIDE, 2), "root without CAP_DAC_OVERRIDE fetches as root");
}

int main(int argc, char *argv[])
{
	int status;

	if (is_client(argc, argv, &status))
		return status;
	in_new_dir(test_confined);
	in_new_dir(test_links);
	in_new_dir(test_daemon);
	in_new_dir(test_nobody);
	in_new_dir(test_weak_root);
	return tap_done();
}
