/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only way back into the kernel: unwind tables and processes' mappings, written where the walker
 * reads them. What is replaced stays readable for a while, since a walk may be reading it. A mapping
 * that was given to somebody else in the meantime is told by its generation; the room of a table is
 * given away only when no list can name it any more.
 *
 * Of one thread.
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
	uint32_t nr_blocks, nr_mappings;                               /* as the maps were made */
	size_t max_bytes;                                              /* of rows */
};

int tables_new(const struct tables_config *cfg, struct tables **ret_tables);
struct tables *tables_free(struct tables *t);
DEFINE_CLEANUP(struct tables *, tables_free)

/* A compiled table: blocks count rows from the table's first. Borrowed during the call. */
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

/* -ENOSPC: no room below the limit; -E2BIG: there would be none, or none for others, if all others
 * went. The rules it names must have been written before. */
int tables_add(struct tables *t, const struct table_data *d, struct table_slot *ret_slot);

/* Whether that is what the slot has, row by row. */
bool tables_has(const struct tables *t, const struct table_slot *slot, const struct table_data *d);

/* No mapping names it any more, from before the next turn on; a while later its room is free, and the
 * rules that only it named are nobody's. Then the ticket that this returns is due: tickets rise, and
 * 0 never is. */
uint64_t tables_retire(struct tables *t, const struct table_slot *slot);
uint64_t tables_last_due(const struct tables *t);
bool tables_has_retired(const struct tables *t); /* some that is not free yet */

/* The number of the rule for a link-time address, in a table that begins at base. */
uint16_t tables_find(const struct tables *t, const struct table_slot *slot, uint64_t base,
		     uint64_t addr);

/* A rule of the dictionary; no table names what had that number before. */
void tables_set_rule(struct tables *t, uint16_t id, pa_rule word);

/* Whether the last thing that the walker was told of a process is this, and is still in order. */
bool tables_has_process(const struct tables *t, pid_t pid, const struct pa_mapping *m, uint32_t nr);

/* Replaces what the walker knows of a process. m is sorted by start; generations are filled in
 * here, and told. -ENOSPC. */
int tables_set_process(struct tables *t, pid_t pid, const struct pa_mapping *m, uint32_t nr,
		       uint32_t *ret_generation);

/* The walker shall know nothing of it: the process is gone, or there is no room for it. */
void tables_drop_process(struct tables *t, pid_t pid);

/* Once per turn: what was replaced two turns ago is free now. True: so is the room of a table. */
bool tables_age(struct tables *t);

size_t tables_bytes(const struct tables *t); /* of rows in use */

#endif
