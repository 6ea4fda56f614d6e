/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files from debuginfod servers, by build-id. All that is wanted is asked for at once, several
 * at a time, each with its own time limit; what came is checked, kept in a cache and handed over as
 * an open file. Nothing is asked for unless servers are named. It cannot read ELF: the caller says
 * what build-id a file has.
 */
#ifndef FETCH_FETCHER_H
#define FETCH_FETCHER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/build_id.h"
#include "base/cleanup.h"

struct log;
struct pa_error;
struct fetcher;

/* How one request ended. */
enum fetch_result {
#define X(result, machine, people) FETCH_##result,
#include "fetch/fetch_results.def"
#undef X
	NR_FETCH_RESULTS,
};

/* Why a server did not give a file. */
enum fetch_reason {
#define X(reason, machine, people) FETCH_REASON_##reason,
#include "fetch/fetch_reasons.def"
#undef X
	NR_FETCH_REASONS,
};

#define FETCH_SERVER_SIZE 128 /* host and port */
#define FETCH_REASON_SIZE 64
#define FETCH_MAX_FAILURES 64 /* different ones; what is past them is in the results alone */
/* What is on its way at one time shares what the cache may hold: no file is larger than its share, and one
 * that needs more is fetched again alone. */
#define FETCH_MAX_PARALLEL 8
#define FETCH_MAX_HELD 256   /* files held open for the caller; those past it are opened again */
#define FETCH_MAX_TIMEOUTS 8 /* in a row: then the servers are not asked any more */
#define FETCH_MAX_REQUESTS 65536 /* of one run */
/* Of the time limit of one file: what requests that gave no file may take together, when it is added up. */
#define FETCH_MAX_VAIN_TIMES 16

/* What build-id the file behind fd has; len 0: none. Negative: it is no ELF file. */
typedef int (*fetch_build_id_fn)(void *ctx, int fd, struct build_id *ret_id);

struct fetch_progress {
	uint64_t nr_wanted, nr_done;
	uint64_t bytes;
};
typedef void (*fetch_progress_fn)(void *ctx, const struct fetch_progress *p);

/* Strings are copied. */
struct fetcher_config {
	const char *urls; /* separated by spaces */
	const char *cache_dir;
	uint64_t cache_max_bytes;
	uint64_t timeout_ns; /* of each file */
	const char *program; /* run as `program fetch-debuginfo HEX PID`; see fetch_main() */
	fetch_build_id_fn build_id_of;
	fetch_progress_fn progress; /* may be NULL; called from fetcher_get() */
	void *ctx;                  /* of both; borrowed until fetcher_free() */
	const struct log *log;      /* borrowed likewise */
};

/* Fails, in a sentence, where the cache cannot be used. Where we are root, fetches are made as nobody,
 * if the program and what it has to read can be used so, and the cache can lend folders. */
int fetcher_new(const struct fetcher_config *cfg, struct fetcher **ret_fetcher,
		struct pa_error *err);
struct fetcher *fetcher_free(struct fetcher *f);
DEFINE_CLEANUP(struct fetcher *, fetcher_free)

/* As fetch_probe(), found out by fetcher_new(). */
enum fetch_result fetcher_client(const struct fetcher *f);

struct fetch_request {
	struct build_id id;
	const char *label; /* what it is for, in messages; borrowed during the call */
	bool is_foreign;   /* of a file that anybody may have brought; for the caller's own use */
	enum fetch_result result;
	int fd; /* the caller's; -1: none, or FETCH_MAX_HELD are out: fetcher_open() */
};

/* Answers all requests, asked for in this order; each id should be there once. -ECANCELED when *cancel (may be NULL) turns
 * true: the rest is then FETCH_INTERRUPTED, and descriptors handed out stay the caller's. Another error:
 * the processes could not be waited for, and the rest is FETCH_UNAVAILABLE. */
int fetcher_get(struct fetcher *f, struct fetch_request *requests, size_t nr,
		const atomic_bool *cancel);

/* One that is in the cache; a descriptor that is the caller's, or -ENOENT. Any thread. */
int fetcher_open(struct fetcher *f, const struct build_id *id);

/* What servers said to requests that failed. */
struct fetch_failure {
	char server[FETCH_SERVER_SIZE];
	enum fetch_reason reason;
	unsigned int http_status; /* of FETCH_REASON_HTTP */
	uint64_t count;
};

struct fetch_stats {
	uint64_t results[NR_FETCH_RESULTS];
	uint64_t bytes;                       /* that came from servers */
	uint64_t nr_evicted;                  /* files removed from the cache to keep its size */
	const struct fetch_failure *failures; /* borrowed until the next fetcher_get() */
	unsigned int nr_failures;
};
struct fetch_stats fetcher_stats(const struct fetcher *f);

bool fetch_is_success(enum fetch_result r);

/* For people, for programs; static. */
const char *fetch_result_text(enum fetch_result r);
const char *fetch_result_name(enum fetch_result r);
const char *fetch_reason_name(enum fetch_reason r);

/* For people, with the number where there is one. Returns text. */
const char *fetch_reason_text(enum fetch_reason r, unsigned int http_status,
			      char text[FETCH_REASON_SIZE]);

/* Whether `program` has what it takes to fetch: FETCH_FETCHED, FETCH_NO_CLIENT, FETCH_UNAVAILABLE. */
enum fetch_result fetch_probe(const char *program);

/* The program's side: fetches one file into the current folder and says by its exit status how that
 * went. argv is { program, FETCH_COMMAND, build-id in hex, the agent's process number }, or
 * FETCH_PROBE for the build-id: then it only says whether it could. */
#define FETCH_COMMAND "fetch-debuginfo"
#define FETCH_PROBE "probe"
int fetch_main(int argc, char *const argv[]);

#endif
