/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Getting at the very file that a process has mapped, or at nothing: a file that merely has the
 * same path is refused. Private to proc/; it remembers nothing, the filestore does.
 */
#ifndef PROC_FILE_OPEN_H
#define PROC_FILE_OPEN_H

#include "proc/filestore.h"
#include "proc/reader.h"

struct file_opener {
	const struct procfs *procfs; /* borrowed */
	file_build_id_fn verify;     /* NULL: build-ids prove nothing */
	void *verify_ctx;            /* borrowed */
};

/* What is asked for; everything borrowed during the call. */
struct file_request {
	const struct file_key *key;
	const char *path;                /* as the kernel gave it */
	uint32_t path_id;                /* the filestore's */
	const struct build_id *build_id; /* never NULL; len 0: not told */
	const struct file_hint *hint;
};

/* A descriptor (the caller's) and what is known of the file, or why there is none: -ESTALE when a file
 * was there but is not proven to be the one, else what map_files said. */
int file_open(const struct file_opener *o, const struct file_request *rq,
	      struct reader_file *ret_file);

/* The length of a path without the " (deleted)" that the kernel puts behind an unlinked file's. */
size_t path_len_bare(const char *path);

#endif
