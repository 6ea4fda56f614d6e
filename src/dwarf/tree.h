/* SPDX-License-Identifier: Apache-2.0 */
/* Traverses the entries of a unit in file order. Reads are charged. */
#ifndef DWARF_TREE_H
#define DWARF_TREE_H

#include "dwarf/internal.h"

#define DW_TREE_MAX_DEPTH 1024 /* compilers reach 50 */

struct dw_tree {
	const struct dw_unit *u; /* borrowed */
	struct cursor c;
	uint32_t depth;
	uint32_t muted_at; /* nothing below this depth is of interest; UINT32_MAX: everything is */
	uint32_t parents[DW_TREE_MAX_DEPTH]; /* by depth: the caller's ID of that entry */
	uint64_t nr_uncharged;               /* attributes read */
};

/* Starts at the first entry; top: the parent of all. */
void dw_tree_init(struct dw_tree *t, const struct dw_unit *u, uint32_t top);

/* Skips the attributes of an entry. */
void dw_tree_skip(struct dw_tree *t, const struct dw_abbrev *a);

/* The following entries are children of the one that the caller identifies by parent. -E2BIG. */
int dw_tree_descend(struct dw_tree *t, uint32_t parent);

/* Visits every entry, by its offset in the unit; visit reads or skips its attributes. Stops at the
 * first error, also where an entry is malformed (-EBADMSG, or t->c.bad). */
typedef int (*dw_tree_fn)(void *ctx, const struct dw_abbrev *a, uint32_t die);
int dw_tree_walk(struct dw_tree *t, dw_tree_fn visit, void *ctx);

#endif
