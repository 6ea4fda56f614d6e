/* SPDX-License-Identifier: Apache-2.0 */
/* Where the names of a mapping's code come from: one file per kind of mapping. */
#ifndef AGENT_SOURCE_H
#define AGENT_SOURCE_H

#include "agent/capture.h"
#include "agent/debug_files.h"
#include "agent/naming_budget.h"
#include "agent/naming_owners.h"
#include "elf/elf_opener.h"
#include "symbolize/symbolizer.h"

#define SOURCE_NO_MEMORY "out of memory for its symbols"

struct elf_image;

/* A source of names and what turns the model's addresses into its own. */
struct source {
	struct symbolizer *symbolizer; /* owned; NULL: no memory even for raw names */
	struct elf_image *image;       /* owned; NULL: addresses are as they are */
	struct debug_set debug;        /* owned; of a file */
	struct debug_query query;      /* where else it is looked for; borrowed from the store */
	struct elf_opener opener;      /* of .dwo files; its context is query */
	const struct cancel *cancel;   /* borrowed; NULL: nobody cancels */
	struct naming_owners *owners;  /* borrowed; NULL: CPU time is not shared */
	/* On the clock of the thread, when symbols are over the limit; 0: no limit but each file's own. */
	uint64_t cpu_end_ns;
	uint64_t
		lines_cpu_ns; /* taken by lines, which does not count for symbols; if there is a limit */
	bool is_foreign;      /* the file is neither root's nor ours, or in another root: */
	uint32_t root;        /* in this one, */
	uid_t user;           /* of this owner */
	struct naming_budget *budget; /* borrowed; NULL: memory is not shared */
	uint64_t held_bytes;          /* of the budget */
	uint64_t waited_ns;           /* for the budget */
	struct jit_counts jit_counts; /* of its opening; counts also when that failed */
	bool is_fallback;             /* a better source could not be used */
	bool is_replaced;             /* by raw names, for want of room */
};

#define SOURCE_NONE ((struct source){ .debug.debug.fd = -1, .debug.alt.fd = -1 })

void source_done(struct source *s);

/* The source for a mapping (NULL: for addresses in none). What cannot be read gives raw names and
 * says why, also what does not fit. s is SOURCE_NONE, maybe with a budget and with a wish to cancel. Any thread, but one at a
 * time for the kernel, and for one process's own code. */
int source_open(struct capture *c, const struct profile_mapping *m, struct source *s);

/* Raw names instead of what was there; r: why it did not fit. */
void source_replace(struct source *s, int r);

/* Names that do not fit, in memory or in a limit, cost those names and nothing else. */
bool source_is_about_size(int r);

/* Mappings whose names come from one source, side by side: an order, and whether two are. */
int source_compare(const struct profile_mapping *a, const struct profile_mapping *b);

/* Whether the file with the kernel's lines is not here, but may be asked for by *ret_id. */
bool source_lacks_kernel_file(struct capture *c, struct build_id *ret_id);

/* The kinds; only for source.c, and what they share. */
void source_hold(struct source *s, const struct elf_sources *src); /* waits for room to read it */
int source_open_raw(struct source *s, const char *why, const char *cure);
int source_open_file(struct capture *c, const struct profile_mapping *m, struct source *s);
int source_open_vdso(struct source *s);
int source_open_kernel(struct capture *c, struct source *s);
int source_open_jit(struct capture *c, const struct profile_mapping *m, struct source *s);

#endif
