/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The debug files of what has samples: the binary's own sections, else a separate file on this
 * machine, else (where servers are named) one from debuginfod. Fetching is done for all files at
 * once, before naming; opening is for one file and may then be done from any thread.
 */
#ifndef AGENT_DEBUG_FILES_H
#define AGENT_DEBUG_FILES_H

#include <stdatomic.h>

#include "agent/debug_search.h"
#include "base/cleanup.h"
#include "fetch/fetcher.h"

struct debug_files;
struct file;
struct filestore;
struct log;

/* All borrowed during debug_files_new(). */
struct debug_config {
	const char *const *urls;
	size_t nr_urls; /* 0: nothing is ever fetched */
	const char *cache_dir;
	uint64_t cache_max_bytes;
	uint64_t timeout_ns;
	const char *program; /* see struct fetcher_config */
	bool fail_closed;    /* what could not be fetched gets no names at all */
	fetch_progress_fn progress;
	void *progress_ctx; /* borrowed until debug_files_free() */
};

/* A cache that cannot be used is no failure, but the problem that nothing is fetched for. */
int debug_files_new(const struct debug_config *cfg, const struct filestore *files,
		    const struct log *log, struct debug_files **ret_files);
struct debug_files *debug_files_free(struct debug_files *d);
DEFINE_CLEANUP(struct debug_files *, debug_files_free)

/* Whether servers are named and there is a place for what they send. */
bool debug_files_can_fetch(const struct debug_files *d);

/* What fetch_probe() says of its program; FETCH_FETCHED where nothing is fetched at all. */
enum fetch_result debug_files_client(const struct debug_files *d);

/* Fetches what the files with these numbers lack, and the file of the kernel with this build-id
 * (NULL: none). -ECANCELED; -ENOMEM. What cannot be had is no failure. */
int debug_files_fetch(struct debug_files *d, const uint32_t *files, uint32_t nr,
		      const struct build_id *kernel, const atomic_bool *cancel);

/* What was fetched for a build-id. -ENOENT: nothing; -ENOMEM. */
int debug_files_open_fetched(struct debug_files *d, const struct build_id *id,
			     struct debug_file *ret_file);

/* What tells of one binary besides itself. */
struct debug_set {
	struct debug_file debug, alt;
	/* No servers are to be asked, or lines are there: NULL. Else why there are none, and what
	 * to do; static strings. */
	const char *why, *cure;
	bool is_refused; /* fail_closed, and nothing could be fetched */
	bool has_lines;
};

#define DEBUG_SET_NONE ((struct debug_set){ .debug.fd = -1, .alt.fd = -1 })

void debug_set_done(struct debug_set *s);

/* f's fd is open and img is read from it. -ENOMEM is the only failure. */
int debug_files_open(struct debug_files *d, const struct file *f, const struct elf_image *img,
		     const struct work_limits *limits, struct debug_set *ret_set);

/* Where f's debug file is looked for; borrowed from the store. */
struct debug_query debug_files_query(const struct debug_files *d, const struct file *f,
				     const struct elf_image *img);

struct debug_stats {
	bool is_configured; /* servers are named */
	struct fetch_stats fetch;
	struct debug_search_stats search;
	uint64_t nr_separate; /* files whose lines came from another file, fetched ones included */
	uint64_t nr_refused;
	const char *problem; /* why nothing could be fetched at all; NULL: it could. Borrowed */
	int problem_code;    /* its errno value, positive */
};
struct debug_stats debug_files_stats(struct debug_files *d);

#endif
