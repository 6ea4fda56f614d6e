/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the separate debug file of a binary on this machine: by build-id, then by debuglink, in the
 * root of the process that runs it, then in our own root, but there only below /usr/lib/debug,
 * because other paths of another root mean nothing in ours. A file is accepted if its build-id is
 * the binary's; if the binary has none, if its checksum is the one in the debuglink. A symbol table
 * alone does not end the search, since it has no lines.
 *
 * A binary may name any file of the machine, and anyone may have put it there. It is opened only if
 * it belongs to the owner of the binary, or if everyone may read it and it belongs to root or to
 * our own user. Files below our own /usr/lib/debug are trusted.
 */
#ifndef DEBUGFILES_DEBUG_SEARCH_H
#define DEBUGFILES_DEBUG_SEARCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/build_id.h"
#include "base/work.h"
#include "elf/elf_debuglink.h"

#define DEBUG_PATH_SIZE 4096

struct crc_cache;
struct elf_image;
struct file;
struct filestore;
struct procfs;

/* An open, parsed file. */
struct debug_file {
	struct elf_image *image; /* owned; NULL: none */
	int fd;                  /* owned; under the image */
	char *path;              /* owned; path in its root, for links from it; NULL: none */
};

#define DEBUG_FILE_NONE ((struct debug_file){ .fd = -1 })

void debug_file_done(struct debug_file *f);

/* The binary whose debug file is searched; all borrowed. */
struct debug_query {
	const struct elf_image *image;
	const struct procfs *procfs;
	int fd;                    /* the binary's, so that it does not find itself; -1: not open */
	const char *path;          /* path of the binary in the root of its process */
	int root;                  /* that root; -1: unknown */
	uid_t root_user;           /* owner of that root */
	int own_root;              /* our root; -1: do not search it */
	bool is_own;               /* both roots are the same */
	struct work_limits limits; /* for reading each candidate */
	struct crc_cache *crcs;    /* NULL: do not compute checksums */
};

#define DEBUG_QUERY_NONE ((struct debug_query){ .fd = -1, .root = -1, .own_root = -1 })

/* The places to search for f's debug file. Its path and roots are borrowed from the store and never
 * change, so another thread may use them; the caller fills in the image. */
struct debug_query debug_search_query(const struct filestore *files, const struct file *f);

struct debug_search_stats {
	uint64_t nr_other_build_id; /* candidates that belong to another binary */
	uint64_t nr_bad_crc;
};

/* The best file: one with DWARF, otherwise one with a symbol table. -ENOENT: none; -ENOMEM. */
int debug_search(const struct debug_query *q, struct debug_search_stats *stats,
		 struct debug_file *ret_file);

/* Finds the supplementary file into which dwz moved common parts of `from` (q->image, or its debug
 * file): by its link, by build-id, in .dwz. from_path is from's own path, NULL: none. -ENOENT;
 * -ENOMEM. */
int debug_search_alt(const struct debug_query *q, const struct elf_altlink *link,
		     const char *from_path, struct debug_search_stats *stats,
		     struct debug_file *ret_file);

/* A file that debug information names (.dwo): path as stored there, relative to the binary's
 * directory unless absolute; NULL: the .dwp file beside the binary. Names that compilers do not use
 * for such files are rejected (-EPERM). The reader verifies that it matches. Returns a descriptor
 * owned by the caller, or a negative errno. */
int debug_search_split(const struct debug_query *q, const char *path);

/* Opens an ELF file that must have this build-id; takes fd on success only. */
int debug_file_open(int fd, const struct build_id *id, struct debug_file *ret_file);

#endif
