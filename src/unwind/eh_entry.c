/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares entries for execution: the CIE's rules, then the instructions of the FDE. */
#include <errno.h>

#include "elf/elf_fde.h"
#include "unwind/eh_frame_internal.h"

#define MAX_CODE_ALIGNMENT 0xffffu
/* a power of two; linkers merge CIEs to a handful, but .debug_frame has one per unit */
#define CIE_CACHE 64
#define MAX_SAME_START 8
#define WORK_PER_BYTE 4
#define WORK_MIN_BYTES (64u << 10)

static int assign_slots(const struct unwind_arch *arch, bool all_registers, struct cfi_cie *cie)
{
	struct cfi_slots *s = &cie->slots;

	if (all_registers) {
		s->nr = arch->nr_regs;
		for (uint8_t i = 0; i < CFI_MAX_REGS; i++)
			s->of[i] = i < arch->nr_regs ? i : CFI_NO_SLOT;
		return 0;
	}
	if (cie->ra_reg == arch->fp || cie->ra_reg == arch->sp)
		return -EBADMSG;
	s->nr = CFI_NR_ROW_SLOTS;
	memset(s->of, CFI_NO_SLOT, sizeof(s->of));
	s->of[arch->fp] = CFI_SLOT_FP;
	s->of[arch->sp] = CFI_SLOT_SP;
	s->of[cie->ra_reg] = CFI_SLOT_RA;
	return 0;
}

static int read_address(const void *ctx, struct cursor *c, uint8_t encoding, uint64_t *ret_addr)
{
	return elf_cfi_pointer(ctx, c, encoding, ret_addr);
}

static void start_vm(const struct cfi *cfi, const struct cfi_cie *cie, struct cfi_vm *vm)
{
	vm->arch = cfi->arch;
	vm->slots = &cie->slots;
	vm->scale = &cie->scale;
	vm->read_address = read_address;
	vm->read_ctx = &cfi->frame;
	vm->depth = 0;
	vm->nr_rest = 0;
	vm->changed = CFI_CHANGED_REST;
}

/* The rules that every FDE of a CIE begins with. */
static int run_initial(const struct cfi *cfi, struct cursor program, struct cfi_cie *cie)
{
	struct cfi_vm vm;
	int r;

	start_vm(cfi, cie, &vm);
	vm.c = program;
	vm.initial = NULL;
	vm.next = 0;
	memset(&vm.state, 0, sizeof(vm.state));
	do
		r = cfi_vm_run(&vm);
	while (r > 0);
	cie->initial = vm.state;
	return r;
}

static int prepare_cie(const struct cfi *cfi, const struct elf_cfi_cie *from, bool all_registers,
		       struct cfi_cie *cie)
{
	int r;

	if (from->code_alignment > MAX_CODE_ALIGNMENT || from->ra_reg >= cfi->arch->nr_regs)
		return -EBADMSG;
	cie->scale = (struct cfi_scale){ .code = (uint32_t)from->code_alignment,
					 .data = from->data_alignment,
					 .address_encoding = from->address_encoding };
	cie->has_augmentation_size = from->has_augmentation_size;
	cie->is_signal = from->is_signal;
	cie->ra_reg = (uint8_t)from->ra_reg;
	r = assign_slots(cfi->arch, all_registers, cie);
	return r < 0 ? r : run_initial(cfi, from->program, cie);
}

static void start_fde(const struct cfi *cfi, const struct cfi_cie *cie,
		      const struct elf_cfi_fde *fde, struct cfi_vm *vm)
{
	start_vm(cfi, cie, vm);
	vm->c = cursor_of(fde->program, fde->program_bytes);
	vm->initial = &cie->initial;
	vm->next = fde->start;
	cfi_state_copy(&vm->state, &cie->initial, cie->slots.nr);
}

struct cfi_reader {
	const struct cfi *cfi; /* borrowed from the caller until this is freed */
	bool all_registers;
	uint64_t work_left; /* bytes of instructions that may still be run */
	bool is_cached[CIE_CACHE];
	struct cfi_cie cies[CIE_CACHE]; /* each in a slot derived from its offset */
};

int cfi_reader_new(const struct cfi *cfi, bool all_registers, struct cfi_reader **ret_reader)
{
	struct cfi_reader *rd = malloc(sizeof(*rd));

	if (!rd)
		return -ENOMEM;
	rd->cfi = cfi;
	rd->all_registers = all_registers;
	rd->work_left = (uint64_t)cfi->frame.size * WORK_PER_BYTE + WORK_MIN_BYTES;
	memset(rd->is_cached, 0, sizeof(rd->is_cached));
	*ret_reader = rd;
	return 0;
}

struct cfi_reader *cfi_reader_free(struct cfi_reader *rd)
{
	free(rd);
	return NULL;
}

static int charge_work(struct cfi_reader *rd, uint64_t bytes)
{
	if (bytes > rd->work_left)
		return -EBADMSG;
	rd->work_left -= bytes;
	return 0;
}

static __attribute__((noinline)) int load_cie(struct cfi_reader *rd, uint64_t offset, size_t slot)
{
	struct cfi_cie *cie = &rd->cies[slot];
	struct elf_cfi_entry e;
	struct elf_cfi_cie from;
	int r;

	rd->is_cached[slot] = false;
	r = elf_cfi_entry(&rd->cfi->frame, offset, &e);
	if (r == 0)
		r = charge_work(rd, cursor_left(&e.body)); /* a CIE may be as long as the section */
	if (r == 0)
		r = elf_cfi_cie(&rd->cfi->frame, &e, &from);
	if (r < 0)
		return r;
	*cie = (struct cfi_cie){ .offset = offset };
	r = prepare_cie(rd->cfi, &from, rd->all_registers, cie);
	rd->is_cached[slot] = r == 0;
	return r;
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

static int fde_of(struct cfi_reader *rd, const struct elf_cfi_entry *e, struct elf_cfi_fde *ret_fde)
{
	const struct cfi_cie *cie;
	int r;

	r = get_cie(rd, e->cie, &cie);
	if (r < 0)
		return r;
	return elf_cfi_fde(&rd->cfi->frame, e, cie->scale.address_encoding,
			   cie->has_augmentation_size, ret_fde);
}

/*
 * The FDE that the index names, or the first non-empty one after it for the same function: lld
 * keeps one entry per start address, which may belong to an empty FDE.
 */
static int read_named_fde(struct cfi_reader *rd, uint64_t offset, uint64_t start,
			  struct elf_cfi_fde *ret_fde)
{
	struct elf_cfi_entry e;
	int r;

	for (int i = 0; i < MAX_SAME_START; i++) {
		r = elf_cfi_entry(&rd->cfi->frame, offset, &e);
		if (r == 0)
			r = fde_of(rd, &e, ret_fde);
		if (r < 0 || ret_fde->start != start)
			return i == 0 ? -EBADMSG : -ERANGE;
		if (ret_fde->end != start)
			return 0;
		offset = e.next;
	}
	return -ERANGE;
}

int cfi_reader_fde(struct cfi_reader *rd, size_t i, struct elf_cfi_fde *ret_fde)
{
	const struct cfi *cfi = rd->cfi;
	uint64_t start, addr;
	int r;

	elf_fdes_at(cfi->fdes, i, &start, &addr);
	r = read_named_fde(rd, addr - cfi->frame.addr, start, ret_fde);
	if (r < 0)
		return r;
	/* Functions dropped by the linker may keep an FDE at address 0. */
	if (start == 0 || start < cfi->code_start || start >= cfi->code_end)
		return -ERANGE;
	if (ret_fde->end > cfi->code_end)
		ret_fde->end = cfi->code_end;
	return 0;
}

int cfi_reader_start(struct cfi_reader *rd, const struct elf_cfi_fde *fde, struct cfi_vm *vm,
		     const struct cfi_cie **ret_cie)
{
	const struct cfi_cie *cie;
	int r;

	r = charge_work(rd, fde->program_bytes);
	if (r < 0)
		return r;
	r = get_cie(rd, fde->cie, &cie);
	if (r < 0)
		return r;
	start_fde(rd->cfi, cie, fde, vm);
	*ret_cie = cie;
	return 0;
}
