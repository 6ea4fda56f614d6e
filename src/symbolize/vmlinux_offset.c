/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/vmlinux_offset.h"

#include <errno.h>
#include <string.h>

#include "elf/elf_symbols.h"
#include "symbolize/ksym_table.h"

/* Functions without an alias that every kernel has. They are far apart: a file of another build may
 * have one of them at the right place, but not all. */
static const char *const landmarks[] = { "vfs_read", "do_exit", "kfree", "schedule_timeout" };
#define NR_LANDMARKS (sizeof(landmarks) / sizeof(landmarks[0]))

struct places {
	uint64_t at[NR_LANDMARKS]; /* 0: not found */
};

static void note_place(struct places *p, const char *name, uint64_t addr)
{
	for (size_t i = 0; i < NR_LANDMARKS; i++)
		if (!strcmp(name, landmarks[i]))
			p->at[i] = addr;
}

static int note_symbol(void *ctx, const struct elf_symbol *sym)
{
	note_place(ctx, sym->name, sym->addr);
	return 0;
}

int vmlinux_offset(const struct elf_image *img, const struct ksym_table *running,
		   uint64_t *ret_offset)
{
	struct places in_file = { 0 }, in_memory = { 0 };
	uint64_t offset = 0;
	unsigned int nr = 0;

	if (elf_symbols_each(img, note_symbol, &in_file) == -ENOMEM)
		return -ENOMEM;
	for (uint32_t i = 0; i < running->nr; i++)
		note_place(&in_memory, running->names.data + running->syms[i].name,
			   running->syms[i].addr);
	for (size_t i = 0; i < NR_LANDMARKS; i++) {
		uint64_t o = in_memory.at[i] - in_file.at[i];

		if (!in_memory.at[i] || !in_file.at[i])
			continue;
		if (nr++ && o != offset)
			return -ENOENT;
		offset = o;
	}
	if (nr < 2)
		return -ENOENT;
	*ret_offset = offset;
	return 0;
}
