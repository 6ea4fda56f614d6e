/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "elf/elf_fde.h"
#include "unwind/eh_frame_internal.h"

#define CIE_CACHE 64 /* a power of two; linkers merge to a handful, .debug_frame has one per unit */
#define MAX_SAME_START 8
#define WORK_PER_BYTE 4
#define WORK_MIN_BYTES (64u << 10)

struct cfi_reader {
	const struct cfi *cfi; /* borrowed from the caller until this is freed */
	bool all_registers;
	uint64_t work_left; /* bytes of instructions that may still be run */
	bool is_cached[CIE_CACHE];
	struct cfi_cie cies[CIE_CACHE]; /* each at a place that follows from its offset */
};

int cfi_reader_new(const struct cfi *cfi, bool all_registers, struct cfi_reader **ret_reader)
{
	struct cfi_reader *rd = malloc(sizeof(*rd));

	if (!rd)
		return -ENOMEM;
	rd->cfi = cfi;
	rd->all_registers = all_registers;
	rd->work_left = (uint64_t)cfi->size * WORK_PER_BYTE + WORK_MIN_BYTES;
	memset(rd->is_cached, 0, sizeof(rd->is_cached));
	*ret_reader = rd;
	return 0;
}

struct cfi_reader *cfi_reader_free(struct cfi_reader *rd)
{
	free(rd);
	return NULL;
}

static int charge(struct cfi_reader *rd, uint64_t bytes)
{
	if (bytes > rd->work_left)
		return -EBADMSG;
	rd->work_left -= bytes;
	return 0;
}

/* Before it is read: a CIE may be as long as the section. */
static int charge_cie(struct cfi_reader *rd, uint64_t offset)
{
	struct cfi_entry e;
	int r;

	r = cfi_read_entry(rd->cfi, offset, &e);
	return r < 0 ? r : charge(rd, cursor_left(&e.body));
}

static __attribute__((noinline)) int load_cie(struct cfi_reader *rd, uint64_t offset, size_t slot)
{
	int r;

	rd->is_cached[slot] = false;
	r = charge_cie(rd, offset);
	if (r < 0)
		return r;
	r = cfi_read_cie(rd->cfi, offset, rd->all_registers, &rd->cies[slot]);
	if (r < 0)
		return r;
	rd->is_cached[slot] = true;
	return 0;
}

static inline int get_cie(struct cfi_reader *rd, uint64_t offset, const struct cfi_cie **ret_cie)
{
	size_t slot = offset / 8 % CIE_CACHE; /* entries are aligned to their pointers */
	int r = 0;

	if (!rd->is_cached[slot] || rd->cies[slot].offset != offset)
		r = load_cie(rd, offset, slot);
	*ret_cie = &rd->cies[slot];
	return r;
}

int cfi_reader_fde_at(struct cfi_reader *rd, uint64_t offset, struct cfi_fde *ret_fde)
{
	const struct cfi_cie *cie;
	struct cfi_entry e;
	int r;

	r = cfi_read_entry(rd->cfi, offset, &e);
	if (r < 0)
		return r;
	if (e.is_end || e.is_cie)
		return -EBADMSG;
	r = get_cie(rd, e.cie, &cie);
	if (r < 0)
		return r;
	return cfi_read_fde(rd->cfi, &e, cie, ret_fde);
}

/*
 * The FDE that the table names, or the first behind it that is about the same function and is not
 * empty: lld keeps one entry for each start, which may be that of an empty FDE.
 */
static int read_named_fde(struct cfi_reader *rd, uint64_t offset, uint64_t start,
			  struct cfi_fde *ret_fde)
{
	struct cfi_entry e;
	int r;

	r = cfi_reader_fde_at(rd, offset, ret_fde);
	if (r < 0)
		return r;
	for (int i = 0; i < MAX_SAME_START && ret_fde->end == start; i++) {
		if (cfi_read_entry(rd->cfi, offset, &e) < 0 ||
		    cfi_reader_fde_at(rd, e.next, ret_fde) < 0 || ret_fde->start != start)
			return -ERANGE;
		offset = e.next;
	}
	return ret_fde->start == start ? 0 : -EBADMSG;
}

int cfi_reader_fde(struct cfi_reader *rd, size_t i, struct cfi_fde *ret_fde)
{
	const struct cfi *cfi = rd->cfi;
	uint64_t start, offset;
	int r;

	if (cfi->table) {
		elf_fdes_at(cfi->table, i, &start, &offset);
		offset -= cfi->addr;
	} else {
		start = cfi->code_start + (cfi->index[i] >> 32);
		offset = (uint32_t)cfi->index[i];
	}
	r = read_named_fde(rd, offset, start, ret_fde);
	if (r < 0)
		return r;
	/* Functions that the linker has dropped may keep an FDE, at address 0. */
	if (start == 0 || start < cfi->code_start || start >= cfi->code_end ||
	    ret_fde->end == start)
		return -ERANGE;
	if (ret_fde->end > cfi->code_end)
		ret_fde->end = cfi->code_end;
	return 0;
}

int cfi_reader_start(struct cfi_reader *rd, const struct cfi_fde *fde, struct cfi_vm *vm,
		     const struct cfi_cie **ret_cie)
{
	const struct cfi_cie *cie;
	int r;

	r = charge(rd, fde->program_bytes);
	if (r < 0)
		return r;
	r = get_cie(rd, fde->cie, &cie);
	if (r < 0)
		return r;
	cfi_start_fde(rd->cfi, cie, fde, vm);
	*ret_cie = cie;
	return 0;
}
