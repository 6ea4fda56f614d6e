/* SPDX-License-Identifier: Apache-2.0 */
/* What comes of requests: by what the client did, how long it took, and who else asked. */
#include "fetch/fetcher.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "fetch_fixture.h"
#include "tap.h"

#define MANY 40

static void test_results(void)
{
	ok(get_new("good", 5 * NS_PER_S, 1) == FETCH_FETCHED, "a file is fetched");
	ok(get_new("missing", 5 * NS_PER_S, 1) == FETCH_CACHED, "a fetched file is in the cache");
	ok(get_new("missing", 5 * NS_PER_S, 2) == FETCH_NOT_FOUND,
	   "a file that no server has is not found");
	ok(get_new("missing", 5 * NS_PER_S, 2) == FETCH_REMEMBERED, "not found is remembered");
	ok(get_new("good", 5 * NS_PER_S, 2) == FETCH_FETCHED,
	   "not found is not remembered for other servers");
	ok(get_new("wrong", 5 * NS_PER_S, 3) == FETCH_WRONG_FILE,
	   "a file with another build-id is refused");
	ok(get_new("wrong", 5 * NS_PER_S, 3) == FETCH_REMEMBERED, "a wrong file is remembered");
	ok(get_new("hang", NS_PER_S / 5, 4) == FETCH_TIMEOUT,
	   "a fetch that takes too long is killed");
	ok(get_new("hang", NS_PER_S / 5, 4) == FETCH_TIMEOUT, "a timeout is not remembered");
	ok(get_new("endless", 60 * NS_PER_S, 5) == FETCH_TOO_LARGE,
	   "a file that never ends is refused");
	ok(get_new("endless", 60 * NS_PER_S, 5) == FETCH_REMEMBERED,
	   "a file that is too large is remembered");
	cache_max_bytes++;
	ok(get_new("endless", 60 * NS_PER_S, 5) == FETCH_TOO_LARGE,
	   "a file that is too large is requested again under another limit");
	cache_max_bytes--;
	ok(get_new("crash", 5 * NS_PER_S, 6) == FETCH_SERVER_FAILED,
	   "a crash of the process is a failure");
	ok(get_new("nothing", 5 * NS_PER_S, 7) == FETCH_SERVER_FAILED,
	   "a success without a file is a failure");
	ok(is_clean(), "failed fetches leave no temporary files");
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
	   "concurrent downloads stay within the cache size (%lld)", (long long)sums[1]);
	ok(is_clean(), "large downloads leave no temporary files");
	fetcher_free(f);
	close(fd);
	unlink(path);
}

/* The last is not there yet, and may write all that the cache may hold. */
static void test_room_of_cached(void)
{
	struct fetch_request rqs[FETCH_MAX_PARALLEL];
	unsigned int last = FETCH_MAX_PARALLEL - 1;
	struct fetcher *f;

	must(setenv("http_proxy", "http://127.0.0.1:1", 1) ==
	     0); /* which one that is confined has */
	f = new_fetcher("confined", 5 * NS_PER_S);
	for (unsigned int i = 0; i <= last; i++)
		rqs[i] = request((uint8_t)i);
	for (unsigned int i = 0; i < last; i++)
		must(get_new("good", 5 * NS_PER_S, (uint8_t)i) == FETCH_FETCHED);
	must(fetcher_get(f, rqs, FETCH_MAX_PARALLEL, NULL) == 0);
	ok(rqs[0].result == FETCH_CACHED && rqs[last].result == FETCH_FETCHED,
	   "cached files do not take a share of the room");
	for (unsigned int i = 0; i <= last; i++)
		close(rqs[i].fd);
	fetcher_free(f);
}

static void test_no_program(void)
{
	struct fetcher_config cfg = { .urls = "good",
				      .cache_dir = cache_dir,
				      .cache_max_bytes = 1000,
				      .timeout_ns = NS_PER_S,
				      .program = "/nonexistent/perf-agent",
				      .build_id_of = read_id };
	struct fetcher *f = NULL;

	must(fetcher_new(&cfg, &f, NULL) == 0);
	ok(get(f, 1) == FETCH_UNAVAILABLE, "a missing program has its own result");
	ok(fetch_probe("/nonexistent/perf-agent") == FETCH_UNAVAILABLE,
	   "a missing program is detected in advance");
	ok(fetch_probe("/proc/self/exe") == FETCH_FETCHED, "an existing program is able to fetch");
	fetcher_free(f);
}

static void test_damaged_entry(void)
{
	char path[2 * PATH_MAX];

	must(get_new("good", 5 * NS_PER_S, 1) == FETCH_FETCHED);
	snprintf(path, sizeof(path), "%s/.build-id/10/01.debug", cache_dir);
	must(truncate(path, 0) == 0);
	ok(get_new("good", 5 * NS_PER_S, 1) == FETCH_FETCHED,
	   "a truncated file in the cache is fetched again");
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
	ok(st.results[FETCH_FETCHED] == MANY && st.bytes == 4 * MANY, "all fetches are counted");
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
	ok(is_clean(), "abandoned servers leave no temporary files");
	fetcher_free(f);
}

/* One answer shows that the servers live. */
static void test_slow_files(void)
{
	struct fetcher *f = new_fetcher("hang by turns", NS_PER_S / 5);
	enum fetch_result last;
	bool is_asked = true;
	uint8_t nr = 0;

	while ((last = get(f, (uint8_t)(2 * nr + 1))) == FETCH_TIMEOUT && nr < 100)
		is_asked &= get(f, (uint8_t)(2 * nr++)) != FETCH_SKIPPED;
	ok(is_asked && nr > FETCH_MAX_TIMEOUTS, "servers that answer in between are not abandoned");
	ok(last == FETCH_GIVEN_UP && nr == FETCH_MAX_VAIN_TIMES,
	   "unsuccessful requests have a total time limit (after %u)", nr);
	ok(get(f, 0) == FETCH_CACHED, "after abandoning servers, cached files are still available");
	fetcher_free(f);
}

static bool is_set(const void *flag)
{
	return atomic_load((const atomic_bool *)flag);
}

static void *cancel_both(void *flag)
{
	wait_for_hanging(2);
	atomic_store((atomic_bool *)flag, true);
	return NULL;
}

static void test_cancel(void)
{
	struct fetcher *f = new_fetcher("hang", 600 * NS_PER_S);
	struct fetch_request rqs[2] = { request(1), request(2) };
	atomic_bool flag = false;
	struct cancel cancel = { is_set, &flag };
	pthread_t t;

	must(pthread_create(&t, NULL, cancel_both, &flag) == 0);
	ok(fetcher_get(f, rqs, 2, &cancel) == -ECANCELED,
	   "a cancellation does not wait for servers");
	pthread_join(t, NULL);
	ok(rqs[0].result == FETCH_INTERRUPTED && rqs[1].result == FETCH_INTERRUPTED &&
		   fetcher_stats(f).results[FETCH_TIMEOUT] == 0,
	   "a cancelled request is reported as interrupted");
	ok(is_clean(), "a cancellation kills running fetches");
	fetcher_free(f);
}

/* poll() takes no more than a process may have open. */
static void *forbid_files(void *limit)
{
	wait_for_hanging(2);
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
	must(pthread_create(&t, NULL, forbid_files, &none) == 0);
	ok(fetcher_get(f, rqs, 2, NULL) == -EINVAL,
	   "processes that cannot be waited for are ended");
	pthread_join(t, NULL);
	must(setrlimit(RLIMIT_NOFILE, &before) == 0);
	ok(rqs[0].result == FETCH_UNAVAILABLE && rqs[1].result == FETCH_UNAVAILABLE,
	   "that failure is distinguished from a cancellation");
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
	   "of two agents that want one file, one fetches it (%d, %d)", results[0], results[1]);
}

int main(int argc, char *argv[])
{
	int status;

	if (is_client(argc, argv, &status))
		return status;
	in_new_dir(test_results);
	in_new_dir(test_blame);
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
