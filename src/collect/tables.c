/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/bisect.h"
#include "base/clock.h"
#include "base/ranges.h"
#include "bpf/abi.h"

#define MAX_PIDS (1u << 22) /* include/linux/threads.h: PID_MAX_LIMIT */
#define MAX_RETIRED (1u << 22)
#define MAX_PIECES (1u << 20)
#define MAX_SHARE(blocks) ((blocks) / 4 * 3) /* of the directory: the most that one table may use */
/* turns that end before a list is gone: two of them are whole turns */
#define LIST_TURNS 3
/* A retired table stays for longer than the lists that referred to it, and for longer than any walk
 * takes: a walk that has copied the location of its table does not check it again. */
#define TABLE_REST_NS NS_PER_S

struct shard {
	int fd;              /* owned */
	struct pa_row *rows; /* owned mapping */
	struct ranges free;  /* of rows */
};

/* The location of a table's rows; pieces of one table are consecutive. */
struct piece {
	uint32_t first_block; /* a block of its table */
	uint32_t shard, row, nr_rows;
};

/* What was replaced: a table, or a list of mappings. It stays readable for nr_turns, and until
 * until_ns. */
struct retired {
	bool is_table;
	struct table_slot slot; /* if a table */
	uint32_t nr_rules;
	uint16_t *rules;    /* owned; numbers of the rules that the table used */
	uint32_t first, nr; /* if a list: its mappings */
	uint32_t nr_turns;
	uint64_t until_ns;
};

struct tables {
	struct tables_config cfg;
	struct shard shards[PA_MAX_SHARDS];
	uint32_t nr_shards;
	size_t bytes;
	struct pa_block *blocks; /* owned mapping */
	struct ranges free_blocks;
	uint64_t *rules;             /* owned mapping */
	struct pa_mapping *mappings; /* owned mapping */
	struct ranges free_mappings;
	struct pa_process *processes; /* owned; by PID: the value last written */
	uint32_t generation;
	struct piece *pieces; /* owned */
	uint32_t nr_pieces, cap_pieces;
	struct retired *retired; /* owned */
	uint32_t nr_retired, cap_retired, nr_retired_tables;
	/* called when rule numbers are released; NULL: none is */
	void (*let_go)(void *owner, const uint16_t *rules, uint32_t nr);
	void *owner; /* borrowed */
};

static size_t blocks_bytes(const struct tables *t)
{
	return t->cfg.nr_blocks * sizeof(struct pa_block);
}

static size_t mappings_bytes(const struct tables *t)
{
	return t->cfg.nr_mappings * sizeof(struct pa_mapping);
}

static void *map_array(int fd, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void unmap(void *p, size_t bytes)
{
	if (p)
		munmap(p, bytes);
}

static void shard_done(struct shard *s)
{
	unmap(s->rows, PA_SHARD_ROWS * sizeof(struct pa_row));
	if (s->fd >= 0)
		close(s->fd);
	ranges_done(&s->free);
}

struct tables *tables_free(struct tables *t)
{
	if (!t)
		return NULL;
	for (uint32_t i = 0; i < t->nr_shards; i++)
		shard_done(&t->shards[i]);
	unmap(t->blocks, blocks_bytes(t));
	unmap(t->rules, (PA_MAX_RULES + 1) * sizeof(uint64_t));
	unmap(t->mappings, mappings_bytes(t));
	ranges_done(&t->free_blocks);
	ranges_done(&t->free_mappings);
	free(t->processes);
	free(t->pieces);
	for (uint32_t i = 0; i < t->nr_retired; i++)
		free(t->retired[i].rules);
	free(t->retired);
	free(t);
	return NULL;
}

int tables_new(const struct tables_config *cfg, struct tables **ret_tables)
{
	_cleanup_(tables_freep) struct tables *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return -ENOMEM;
	t->cfg = *cfg;
	t->blocks = map_array(cfg->blocks_fd, blocks_bytes(t));
	t->rules = map_array(cfg->rules_fd, (PA_MAX_RULES + 1) * sizeof(uint64_t));
	t->mappings = map_array(cfg->mappings_fd, mappings_bytes(t));
	if (!t->blocks || !t->rules || !t->mappings)
		return -errno;
	t->processes = calloc(MAX_PIDS, sizeof(*t->processes)); /* pages are touched on demand */
	if (!t->processes)
		return -ENOMEM;
	r = ranges_init(&t->free_blocks, cfg->nr_blocks);
	if (r == 0)
		r = ranges_init(&t->free_mappings, cfg->nr_mappings);
	if (r < 0)
		return r;
	*ret_tables = TAKE(t);
	return 0;
}

/* Creates a shard, and publishes it as number `at`. */
static int shard_init(struct shard *s, int shards_fd, uint32_t at)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	size_t bytes = PA_SHARD_ROWS * sizeof(struct pa_row);

	*s = (struct shard){ 0 };
	s->fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "pa_shard", sizeof(uint32_t), (uint32_t)bytes, 1,
			       &opts);
	if (s->fd < 0)
		return -errno;
	s->rows = map_array(s->fd, bytes);
	if (!s->rows)
		return -errno;
	if (bpf_map_update_elem(shards_fd, &at, &s->fd, BPF_ANY) < 0)
		return -errno;
	return ranges_init(&s->free, PA_SHARD_ROWS);
}

static int open_shard(struct tables *t)
{
	struct shard *s = &t->shards[t->nr_shards];
	int r;

	if (t->nr_shards == PA_MAX_SHARDS)
		return -ENOSPC;
	r = shard_init(s, t->cfg.shards_fd, t->nr_shards);
	if (r < 0) {
		shard_done(s);
		return r;
	}
	t->nr_shards++;
	return 0;
}

/* Allocates nr rows in one shard. */
static int take_rows(struct tables *t, uint32_t nr, uint32_t *ret_shard, uint32_t *ret_row)
{
	int r;

	if (t->bytes + nr * sizeof(struct pa_row) > t->cfg.max_bytes)
		return -ENOSPC;
	for (uint32_t i = 0; i < t->nr_shards; i++) {
		*ret_shard = i;
		if (ranges_take(&t->shards[i].free, nr, ret_row) == 0)
			return 0;
	}
	r = open_shard(t);
	if (r < 0)
		return r;
	*ret_shard = t->nr_shards - 1;
	return ranges_take(&t->shards[*ret_shard].free, nr, ret_row);
}

/* Copies the blocks [first, end) of a table, whose rows are [row, row + nr), as one piece. */
static int add_piece(struct tables *t, const struct table_data *d, uint32_t slot, uint32_t first,
		     uint32_t end, uint32_t row, uint32_t nr)
{
	struct piece p = { .first_block = slot, .nr_rows = nr };
	int r = ARRAY_RESERVE(t->pieces, t->cap_pieces, t->nr_pieces + 1, MAX_PIECES);

	if (r < 0)
		return r;
	r = nr ? take_rows(t, nr, &p.shard, &p.row) : 0;
	if (r < 0)
		return r;
	if (nr)
		memcpy(t->shards[p.shard].rows + p.row, d->rows + row, nr * sizeof(struct pa_row));
	t->bytes += nr * sizeof(struct pa_row);
	t->pieces[t->nr_pieces++] = p;
	for (uint32_t i = first; i < end; i++) {
		struct pa_block b = d->blocks[i];

		b.first = b.nr ? p.shard * PA_SHARD_ROWS + p.row + (b.first - row) : 0;
		t->blocks[slot + i] = b;
	}
	return 0;
}

/* The end of the longest piece from block `from` whose rows, counted from row0, fit into a
 * shard. */
static uint32_t piece_end(const struct table_data *d, uint32_t from, uint32_t row0)
{
	uint32_t end = from;

	while (end < d->nr_blocks &&
	       (!d->blocks[end].nr ||
		d->blocks[end].first + d->blocks[end].nr - row0 <= PA_SHARD_ROWS))
		end++;
	return end;
}

static uint32_t last_row(const struct table_data *d, uint32_t first, uint32_t end, uint32_t row)
{
	for (uint32_t i = first; i < end; i++)
		if (d->blocks[i].nr && d->blocks[i].first + d->blocks[i].nr > row)
			row = d->blocks[i].first + d->blocks[i].nr;
	return row;
}

static void remove_table(struct tables *t, const struct table_slot *slot)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < t->nr_pieces; i++) {
		const struct piece *p = &t->pieces[i];

		if (p->first_block != slot->first_block) {
			t->pieces[kept++] = *p;
			continue;
		}
		t->bytes -= p->nr_rows * sizeof(struct pa_row);
		if (p->nr_rows) /* if out of memory, only the room is lost */
			(void)ranges_give(&t->shards[p->shard].free, p->row, p->nr_rows);
	}
	t->nr_pieces = kept;
	(void)ranges_give(&t->free_blocks, slot->first_block, slot->nr_blocks);
}

int tables_add(struct tables *t, const struct table_data *d, struct table_slot *ret_slot)
{
	struct table_slot slot = { .nr_blocks = d->nr_blocks };
	uint32_t row = 0;
	int r;

	if (d->nr_blocks > MAX_SHARE(t->cfg.nr_blocks) ||
	    d->nr_rows > t->cfg.max_bytes / sizeof(struct pa_row))
		return -E2BIG;
	r = ranges_take(&t->free_blocks, d->nr_blocks, &slot.first_block);
	if (r < 0)
		return r;
	for (uint32_t first = 0; first < d->nr_blocks && r == 0;) {
		uint32_t end = piece_end(d, first, row), behind = last_row(d, first, end, row);

		r = add_piece(t, d, slot.first_block, first, end, row, behind - row);
		/* The next block may begin with the last row of this piece: that row is copied
		 * again. */
		first = end;
		if (end < d->nr_blocks)
			row = d->blocks[end].first;
	}
	if (r < 0) {
		remove_table(t, &slot);
		return r;
	}
	*ret_slot = slot;
	return 0;
}

static const struct pa_row *rows_of(const struct tables *t, const struct pa_block *b)
{
	return t->shards[b->first / PA_SHARD_ROWS].rows + b->first % PA_SHARD_ROWS;
}

bool tables_has(const struct tables *t, const struct table_slot *slot, const struct table_data *d)
{
	if (slot->nr_blocks != d->nr_blocks)
		return false;
	for (uint32_t i = 0; i < d->nr_blocks; i++) {
		const struct pa_block *own = &t->blocks[slot->first_block + i];
		const struct pa_block *b = &d->blocks[i];

		if (own->nr != b->nr)
			return false;
		if (b->nr && memcmp(rows_of(t, own), d->rows + b->first, b->nr * sizeof(*d->rows)))
			return false;
	}
	return true;
}

/* ---- retired tables and lists ---- */

static int add_retired(struct tables *t, const struct retired *one)
{
	int r = ARRAY_RESERVE(t->retired, t->cap_retired, t->nr_retired + 1, MAX_RETIRED);

	if (r < 0)
		return r;
	t->retired[t->nr_retired++] = *one;
	t->nr_retired_tables += one->is_table;
	return 0;
}

void tables_retire(struct tables *t, const struct table_slot *slot, uint16_t *rules,
		   uint32_t nr_rules)
{
	struct retired one = { .is_table = true,
			       .slot = *slot,
			       .rules = rules,
			       .nr_rules = nr_rules,
			       .nr_turns = 2 * LIST_TURNS,
			       .until_ns = clock_mono_ns() + TABLE_REST_NS };

	if (add_retired(t, &one) < 0)
		free(rules); /* the room and the numbers stay in use */
}

void tables_on_let_go(struct tables *t,
		      void (*let_go)(void *owner, const uint16_t *rules, uint32_t nr), void *owner)
{
	t->let_go = let_go;
	t->owner = owner;
}

/* A child may have been forked with this list without our knowledge: invalidates the list. */
static void scrub(struct tables *t, uint32_t first, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++)
		__atomic_store_n(&t->mappings[first + i].generation, 0, __ATOMIC_RELAXED);
}

static void retire_list(struct tables *t, const struct pa_process *p)
{
	struct retired one = { .first = p->first, .nr = p->nr, .nr_turns = LIST_TURNS };

	if (p->nr && add_retired(t, &one) < 0)
		scrub(t, p->first, p->nr); /* the room stays in use */
}

static void give_back(struct tables *t, struct retired *one)
{
	if (!one->is_table) {
		scrub(t, one->first, one->nr);
		(void)ranges_give(&t->free_mappings, one->first,
				  one->nr); /* if out of memory, the room stays in use */
		return;
	}
	remove_table(t, &one->slot);
	if (t->let_go && one->rules)
		t->let_go(t->owner, one->rules, one->nr_rules);
	free(one->rules);
	t->nr_retired_tables--;
}

bool tables_age(struct tables *t)
{
	uint64_t now = t->nr_retired_tables ? clock_mono_ns() : 0;
	uint32_t kept = 0, nr_tables = t->nr_retired_tables;

	for (uint32_t i = 0; i < t->nr_retired; i++) {
		struct retired *one = &t->retired[i];

		one->nr_turns -= one->nr_turns > 0;
		if (one->nr_turns || now < one->until_ns)
			t->retired[kept++] = *one;
		else
			give_back(t, one);
	}
	t->nr_retired = kept;
	return t->nr_retired_tables < nr_tables;
}

bool tables_has_retired(const struct tables *t)
{
	return t->nr_retired_tables > 0;
}

uint16_t tables_find(const struct tables *t, const struct table_slot *slot, uint64_t base,
		     uint64_t addr)
{
	uint64_t at = (addr - base) >> PA_BLOCK_SHIFT;
	const struct pa_block *b;
	const struct pa_row *rows;

	if (addr < base || at >= slot->nr_blocks)
		return PA_RULE_ID_NONE;
	b = &t->blocks[slot->first_block + at];
	if (!b->nr)
		return PA_RULE_ID_NONE;
	rows = rows_of(t, b);
	return rows[BISECT(i, b->nr - 1u, rows[i + 1].pc <= (uint16_t)addr)].rule;
}

void tables_set_rule(struct tables *t, uint16_t id, pa_rule word)
{
	__atomic_store_n(&t->rules[id], word, __ATOMIC_RELAXED);
}

bool tables_has_process(const struct tables *t, pid_t pid, const struct pa_mapping *m, uint32_t nr)
{
	const struct pa_process *p = &t->processes[(uint32_t)pid % MAX_PIDS];

	if (!p->generation || p->nr != nr)
		return false;
	for (uint32_t i = 0; i < nr; i++) {
		struct pa_mapping want = m[i];

		want.generation = p->generation;
		if (memcmp(&t->mappings[p->first + i], &want, sizeof(want)) != 0)
			return false;
	}
	return true;
}

int tables_set_process(struct tables *t, pid_t pid, const struct pa_mapping *m, uint32_t nr,
		       uint32_t *ret_generation)
{
	struct pa_process p = { .nr = nr, .generation = t->generation + 1 };
	uint32_t key = (uint32_t)pid;
	int r = 0;

	if (key >= MAX_PIDS)
		return -EINVAL;
	if (nr)
		r = ranges_take(&t->free_mappings, nr, &p.first);
	if (r < 0)
		return r;
	t->generation++;
	for (uint32_t i = 0; i < nr; i++) {
		t->mappings[p.first + i] = m[i];
		t->mappings[p.first + i].generation = p.generation;
	}
	r = bpf_map_update_elem(t->cfg.processes_fd, &key, &p, BPF_ANY);
	if (r < 0) {
		retire_list(t, &p);
		return r;
	}
	retire_list(t, &t->processes[key]);
	t->processes[key] = p;
	*ret_generation = p.generation;
	return 0;
}

void tables_drop_process(struct tables *t, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	if (key >= MAX_PIDS)
		return;
	/* the kernel may already have removed it */
	(void)bpf_map_delete_elem(t->cfg.processes_fd, &key);
	retire_list(t, &t->processes[key]);
	t->processes[key] = (struct pa_process){ 0 };
}

size_t tables_bytes(const struct tables *t)
{
	return t->bytes;
}
