/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/live_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "proc/procfs.h"

#define BLOCK_BYTES 4096u
#define NR_BLOCKS 256u
#define NR_RULES 8192u
#define READS_PER_S 1024u /* the thread that drains the ring waits for each read */

/* The key of a cache entry, which is replaced by another one with the same slot. */
struct live_key {
	uint64_t program; /* 0: the entry is free */
	uint64_t addr;
	uint64_t time_ns;
};

struct live_block {
	struct live_key key;
	size_t n; /* bytes that could be read */
	uint8_t bytes[BLOCK_BYTES];
};

struct live_rule {
	struct live_key key;
	struct x86_exit exit;
};

struct live_code {
	const struct procfs *procfs; /* borrowed */
	uint64_t second_ns;          /* start of the current second */
	uint32_t nr_reads;           /* in that second */
	struct live_block blocks[NR_BLOCKS];
	struct live_rule rules[NR_RULES];
};

int live_code_new(const struct procfs *procfs, struct live_code **ret_code)
{
	struct live_code *c = calloc(1, sizeof(*c)); /* pages are touched on demand */

	if (!c)
		return -ENOMEM;
	c->procfs = procfs;
	*ret_code = c;
	return 0;
}

struct live_code *live_code_free(struct live_code *c)
{
	free(c);
	return NULL;
}

static bool is_it(const struct live_key *k, const struct live_query *q, uint64_t addr)
{
	return k->program == q->program && k->addr == addr &&
	       q->time_ns - k->time_ns < LIVE_CODE_NS;
}

static uint64_t home(const struct live_query *q, uint64_t addr)
{
	return hash_mix(q->program, addr);
}

/* Limits reads, because a target's stack can contain any number of apparent return addresses. */
static bool may_read(struct live_code *c)
{
	uint64_t now = clock_mono_ns();

	if (now - c->second_ns >= NS_PER_S) {
		c->second_ns = now;
		c->nr_reads = 0;
	}
	return c->nr_reads++ < READS_PER_S;
}

/* NULL if it is not cached and may not be read now. */
static const struct live_block *block_of(struct live_code *c, const struct live_query *q,
					 uint64_t addr)
{
	struct live_block *b = &c->blocks[home(q, addr) % NR_BLOCKS];
	ssize_t n;

	if (is_it(&b->key, q, addr))
		return b;
	if (!may_read(c))
		return NULL;
	n = procfs_read_mem(c->procfs, q->pid, addr, b->bytes, sizeof(b->bytes));
	b->key = (struct live_key){ q->program, addr, q->time_ns };
	b->n = n > 0 ? (size_t)n : 0;
	return b;
}

long live_code_read(struct live_code *c, const struct live_query *q, uint64_t addr, void *to,
		    size_t n)
{
	size_t done = 0;

	while (done < n) {
		size_t at = (addr + done) % BLOCK_BYTES, nr = n - done;
		const struct live_block *b = block_of(c, q, addr + done - at);

		if (!b || at >= b->n)
			break;
		if (nr > b->n - at)
			nr = b->n - at;
		memcpy((char *)to + done, b->bytes + at, nr);
		done += nr;
	}
	return done ? (long)done : -EFAULT;
}

bool live_code_find(const struct live_code *c, const struct live_query *q, uint64_t pc,
		    struct x86_exit *ret_exit)
{
	const struct live_rule *r = &c->rules[home(q, pc) % NR_RULES];

	if (!is_it(&r->key, q, pc))
		return false;
	*ret_exit = r->exit;
	return true;
}

void live_code_keep(struct live_code *c, const struct live_query *q, uint64_t pc,
		    const struct x86_exit *e)
{
	c->rules[home(q, pc) % NR_RULES] = (struct live_rule){ { q->program, pc, q->time_ns }, *e };
}
