/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the very file that a process has mapped, or fails: a file that merely has the same path is
 * rejected. Private to proc/. Stateless; the filestore keeps the results.
 */
#ifndef PROC_FILE_OPEN_H
#define PROC_FILE_OPEN_H

#include "proc/filestore.h"
#include "proc/reader.h"

struct file_opener {
	const struct procfs *procfs; /* borrowed */
	file_build_id_fn verify;     /* NULL: build-ids are not checked */
	void *verify_ctx;            /* borrowed */
};

/* The requested file; all borrowed during the call. */
struct file_request {
	const struct file_key *key;
	const char *path;                /* as the kernel gave it */
	const struct build_id *build_id; /* never NULL; len 0: unknown */
	const struct file_hint *hint;
};

/* Returns a descriptor (the caller's) and the file's attributes, or why there is none: -ESTALE if a
 * file was found but not proven to be the right one, otherwise the error of map_files. */
int file_open(const struct file_opener *o, const struct file_request *rq,
	      struct reader_file *ret_file);

/* The length of a path without the " (deleted)" that the kernel appends for an unlinked file. */
size_t path_len_bare(const char *path);

#endif
