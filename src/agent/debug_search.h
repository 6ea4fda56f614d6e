/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the separate debug file of a binary on this machine: by build-id, then by debuglink, in
 * the root of the process that runs it, then in our own, and there below /usr/lib/debug only: other
 * paths of another root say nothing about ours. A file is believed if its build-id is the binary's;
 * where the binary has none, if its checksum is the one that the debuglink holds. A symbol table
 * alone does not end the search, since it has no lines.
 *
 * A binary may name any file of the machine, and anybody may have put it there. It is opened only if it
 * belongs to the owner of the binary, or if everybody may read it and it is root's or our own user's.
 * What is below our own /usr/lib/debug is trusted.
 */
#ifndef AGENT_DEBUG_SEARCH_H
#define AGENT_DEBUG_SEARCH_H

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

/* A file that is open and understood. */
struct debug_file {
	struct elf_image *image; /* owned; NULL: none */
	int fd;                  /* owned; under the image */
	char *path;              /* owned; in its root, for links from it; NULL: it has none */
};

#define DEBUG_FILE_NONE ((struct debug_file){ .fd = -1 })

void debug_file_done(struct debug_file *f);

/* Whose debug file is wanted; all borrowed. */
struct debug_query {
	const struct elf_image *image;
	const struct procfs *procfs;
	int fd;                    /* of the binary, so that it is not found itself; -1: not open */
	const char *path;          /* of the binary, in its process's root */
	int root;                  /* that root; -1: not known */
	uid_t root_user;           /* who owns that root */
	int own_root;              /* ours; -1: not to be searched */
	bool is_own;               /* both are the same */
	struct work_limits limits; /* of reading each file that is found */
	struct crc_cache *crcs;    /* NULL: files are not read for their checksums */
};

#define DEBUG_QUERY_NONE ((struct debug_query){ .fd = -1, .root = -1, .own_root = -1 })

/* The places where f's would be. Its path and roots are borrowed from the store and never change, so
 * that another thread may use them; the image is to be filled in. */
struct debug_query debug_search_query(const struct filestore *files, const struct file *f);

struct debug_search_stats {
	uint64_t nr_other_build_id; /* files that were there, but belong to another binary */
	uint64_t nr_bad_crc;
};

/* The best there is: one with DWARF, else one with a symbol table. -ENOENT: none; -ENOMEM. */
int debug_search(const struct debug_query *q, struct debug_search_stats *stats,
		 struct debug_file *ret_file);

/* The file that dwz moved common parts of `from` into (q->image, or its debug file): where its link
 * leads, by build-id, in .dwz. from_path is from's own path, NULL: it has none. -ENOENT; -ENOMEM. */
int debug_search_alt(const struct debug_query *q, const struct elf_altlink *link,
		     const char *from_path, struct debug_search_stats *stats,
		     struct debug_file *ret_file);

/* A file that debug information names (.dwo): path as it stands there, from the binary's folder
 * unless absolute; NULL: the .dwp file beside the binary. Names that compilers do not give to such
 * files are not even looked up (-EPERM). Whether it belongs there is its reader's to check. A
 * descriptor that is the caller's, or negative errno. */
int debug_search_split(const struct debug_query *q, const char *path);

/* An ELF file that must have this build-id; fd is the caller's unless it succeeds. */
int debug_file_open(int fd, const struct build_id *id, struct debug_file *ret_file);

#endif
