/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only way back into the kernel: writes unwind tables and the mappings of processes where the
 * walker reads them. Replaced data stays readable for a while, since a walk may be reading it. A
 * walk detects by its generation that a list of mappings was replaced in between; the room of a
 * table is reused only when no list can refer to it any more.
 *
 * Used by one thread.
 */
#ifndef COLLECT_TABLES_H
#define COLLECT_TABLES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "bpf/walk_state.h"

struct tables;

struct tables_config {
	int shards_fd, blocks_fd, rules_fd, mappings_fd, processes_fd; /* borrowed */
	uint32_t nr_blocks, nr_mappings;                               /* sizes of the maps */
	size_t max_bytes;                                              /* limit for rows */
};

int tables_new(const struct tables_config *cfg, struct tables **ret_tables);
struct tables *tables_free(struct tables *t);
DEFINE_CLEANUP(struct tables *, tables_free)

/* A compiled table. Its blocks count rows from the table's first row. Borrowed during the call. */
struct table_data {
	const struct pa_row *rows;
	uint32_t nr_rows;
	const struct pa_block *blocks;
	uint32_t nr_blocks;
};

/* A table in the kernel. */
struct table_slot {
	uint32_t first_block, nr_blocks;
};

/* Adds a table, whose rules must have been written before. -ENOSPC: no room below the limit;
 * -E2BIG: no room, or none for other tables, even if all others were evicted. */
int tables_add(struct tables *t, const struct table_data *d, struct table_slot *ret_slot);

/* True if the slot contains exactly that table, row by row. */
bool tables_has(const struct tables *t, const struct table_slot *slot, const struct table_data *d);

/* Removes a table that no published mapping refers to. Its room is freed some turns later, and the
 * numbers of its rules are then passed to the function of tables_on_let_go(). rules is owned by the
 * callee, and may be NULL. */
void tables_retire(struct tables *t, const struct table_slot *slot, uint16_t *rules,
		   uint32_t nr_rules);
bool tables_has_retired(const struct tables *t); /* a table whose room is not free yet */

/* Sets a function that tables_age() calls with the numbers of rules that no walk reads any more
 * because of a retired table. Without it the numbers stay in use. */
void tables_on_let_go(struct tables *t,
		      void (*let_go)(void *owner, const uint16_t *rules, uint32_t nr), void *owner);

/* The number of the rule for a link-time address, in a table that begins at base. */
uint16_t tables_find(const struct tables *t, const struct table_slot *slot, uint64_t base,
		     uint64_t addr);

/* Writes a rule of the dictionary; no table may still use what had that number before. */
void tables_set_rule(struct tables *t, uint16_t id, pa_rule word);

/* True if this is what was last published for the process, and is still valid. */
bool tables_has_process(const struct tables *t, pid_t pid, const struct pa_mapping *m, uint32_t nr);

/* Replaces the published mappings of a process. m is sorted by start; this function assigns the
 * generation, and returns it. -ENOSPC. */
int tables_set_process(struct tables *t, pid_t pid, const struct pa_mapping *m, uint32_t nr,
		       uint32_t *ret_generation);

/* Removes a process that is gone, or that there is no room for. */
void tables_drop_process(struct tables *t, pid_t pid);

/* Called once per turn: frees what was replaced long enough ago. True if the room of a table was
 * freed. */
bool tables_age(struct tables *t);

size_t tables_bytes(const struct tables *t); /* used by rows */

#endif
