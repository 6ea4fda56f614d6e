/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug files of binaries with samples: the binary's own sections, otherwise a separate file on
 * this machine, otherwise (if servers are configured) one from debuginfod. All files are fetched at
 * once, before symbolization; opening is per file and possible from any thread afterwards.
 */
#ifndef DEBUGFILES_DEBUG_FILES_H
#define DEBUGFILES_DEBUG_FILES_H

#include "base/cleanup.h"
#include "debugfiles/debug_search.h"
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
	bool fail_closed;    /* binaries that could not be fetched get no symbols at all */
	fetch_progress_fn progress;
	void *progress_ctx; /* borrowed until debug_files_free() */
};

/* An unusable cache is not a failure, but the reason why nothing is fetched. */
int debug_files_new(const struct debug_config *cfg, const struct filestore *files,
		    const struct log *log, struct debug_files **ret_files);
struct debug_files *debug_files_free(struct debug_files *d);
DEFINE_CLEANUP(struct debug_files *, debug_files_free)

/* True if servers are configured and there is a usable cache. */
bool debug_files_can_fetch(const struct debug_files *d);

/* The result of fetch_probe() for the configured program; FETCH_FETCHED if fetching is off. */
enum fetch_result debug_files_client(const struct debug_files *d);

/* Fetches what these files lack, and the kernel's file with this build-id (NULL: none). -ECANCELED;
 * -ENOMEM. A file that is not available is not a failure. */
int debug_files_fetch(struct debug_files *d, const uint32_t *files, uint32_t nr,
		      const struct build_id *kernel, const struct cancel *cancel);

/* The file fetched for a build-id. -ENOENT: none; -ENOMEM. */
int debug_files_open_fetched(struct debug_files *d, const struct build_id *id,
			     struct debug_file *ret_file);

/* The debug information of one binary in addition to its own sections. */
struct debug_set {
	struct debug_file debug, alt;
	/* Why there are no lines, and what to do; static strings. NULL if no servers are
	 * configured, or there are lines. */
	const char *why, *advice;
	bool is_refused; /* fail_closed, and nothing could be fetched */
	bool has_lines;
};

#define DEBUG_SET_NONE ((struct debug_set){ .debug.fd = -1, .alt.fd = -1 })

void debug_set_done(struct debug_set *s);

/* f's fd is open and img is read from it. -ENOMEM is the only failure. */
int debug_files_open(struct debug_files *d, const struct file *f, const struct elf_image *img,
		     const struct work_limits *limits, struct debug_set *ret_set);

/* The places to search for f's debug file; borrowed from the store. */
struct debug_query debug_files_query(const struct debug_files *d, const struct file *f,
				     const struct elf_image *img);

struct debug_stats {
	bool is_configured; /* servers are configured */
	struct fetch_stats fetch;
	struct debug_search_stats search;
	uint64_t nr_separate; /* files whose lines came from another file, including fetched ones */
	uint64_t nr_refused;
	const char *problem; /* why nothing could be fetched at all; NULL: it could. Borrowed */
	int problem_code;    /* its errno value, positive */
};
struct debug_stats debug_files_stats(struct debug_files *d);

#endif
