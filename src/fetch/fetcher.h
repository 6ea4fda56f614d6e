/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetches debug files from debuginfod servers by build-id. All files are requested together,
 * several at a time, each with its own timeout; results are verified, cached and returned as open
 * files. Nothing is requested unless servers are configured. It cannot parse ELF: a callback
 * returns a file's build-id.
 */
#ifndef FETCH_FETCHER_H
#define FETCH_FETCHER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/build_id.h"
#include "base/cancel.h"
#include "base/cleanup.h"

struct log;
struct pa_error;
struct fetcher;

/* The result of one request. */
enum fetch_result {
#define X(result, machine, people) FETCH_##result,
#include "fetch/fetch_results.def"
#undef X
	NR_FETCH_RESULTS,
};

/* Why a server did not deliver a file. */
enum fetch_reason {
#define X(reason, machine, people) FETCH_REASON_##reason,
#include "fetch/fetch_reasons.def"
#undef X
	NR_FETCH_REASONS,
};

#define FETCH_SERVER_SIZE 128 /* host and port */
#define FETCH_REASON_SIZE 64
#define FETCH_MAX_FAILURES 64 /* distinct failures; further ones count only in the results */
/* Concurrent downloads share the cache size: no file is larger than its share, and one that needs
 * more is fetched again alone. */
#define FETCH_MAX_PARALLEL 8
#define FETCH_MAX_HELD 256 /* files held open for the caller; further ones are reopened */
/* consecutive timeouts, after which servers are not asked any more */
#define FETCH_MAX_TIMEOUTS 8
#define FETCH_MAX_REQUESTS 65536 /* per run */
/* Limit on the total time of requests that gave no file, in multiples of the timeout of one file.
 * */
#define FETCH_MAX_VAIN_TIMES 16

/* The build-id of the file behind fd; len 0: none. Negative: not an ELF file. */
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
	uint64_t timeout_ns; /* per file */
	const char *program; /* run as `program fetch-debuginfo HEX PID`; see fetch_main() */
	fetch_build_id_fn build_id_of;
	fetch_progress_fn progress; /* may be NULL; called from fetcher_get() */
	void *ctx;                  /* for both; borrowed until fetcher_free() */
	const struct log *log;      /* borrowed likewise */
};

/* Fails with a message if the cache cannot be used. If we are root, fetches run as nobody, provided
 * that the program and what it reads are accessible to nobody, and that directories of the cache
 * can be given away. */
int fetcher_new(const struct fetcher_config *cfg, struct fetcher **ret_fetcher,
		struct pa_error *err);
struct fetcher *fetcher_free(struct fetcher *f);
DEFINE_CLEANUP(struct fetcher *, fetcher_free)

/* As fetch_probe(), determined by fetcher_new(). */
enum fetch_result fetcher_client(const struct fetcher *f);

struct fetch_request {
	struct build_id id;
	const char *label; /* its purpose, for messages; borrowed during the call */
	bool is_foreign;   /* of a file with an untrusted owner; for the caller's own use */
	enum fetch_result result;
	int fd; /* the caller's; -1: none, or FETCH_MAX_HELD are open: use fetcher_open() */
};

/* Answers all requests, in this order; IDs should be unique. -ECANCELED when cancel (may be NULL)
 * is asked: the rest is then FETCH_INTERRUPTED, and the caller still owns the returned
 * descriptors. Another error: the processes could not be waited for, and the rest is
 * FETCH_UNAVAILABLE. */
int fetcher_get(struct fetcher *f, struct fetch_request *requests, size_t nr,
		const struct cancel *cancel);

/* Opens a file in the cache: a descriptor owned by the caller, or -ENOENT. May be called by any
 * thread. */
int fetcher_open(struct fetcher *f, const struct build_id *id);

/* What servers replied to failed requests. */
struct fetch_failure {
	char server[FETCH_SERVER_SIZE];
	enum fetch_reason reason;
	unsigned int http_status; /* of FETCH_REASON_HTTP */
	uint64_t count;
};

struct fetch_stats {
	uint64_t results[NR_FETCH_RESULTS];
	uint64_t bytes;                       /* received from servers */
	uint64_t nr_evicted;                  /* files removed from the cache to keep its size */
	const struct fetch_failure *failures; /* borrowed until the next fetcher_get() */
	unsigned int nr_failures;
};
struct fetch_stats fetcher_stats(const struct fetcher *f);

bool fetch_is_success(enum fetch_result r);

/* Text for the user, and the machine-readable name; static. */
const char *fetch_result_text(enum fetch_result r);
const char *fetch_result_name(enum fetch_result r);
const char *fetch_reason_name(enum fetch_reason r);

/* Text for the user, including the status if there is one. Returns text. */
const char *fetch_reason_text(enum fetch_reason r, unsigned int http_status,
			      char text[FETCH_REASON_SIZE]);

/* Whether `program` is able to fetch: FETCH_FETCHED, FETCH_NO_CLIENT, FETCH_UNAVAILABLE. */
enum fetch_result fetch_probe(const char *program);

#endif
