/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/full_row.h"

#include <errno.h>

#include "unwind/eh_frame.h"
#include "unwind/rule.h"

#define MAX_SAME_START 8 /* FDEs with one start, of which all but one are empty */

/* The FDE with the highest start, as unwind_compile() chooses it. */
static int find_fde(const struct cfi *cfi, struct cfi_reader *rd, uint64_t pc,
		    struct elf_cfi_fde *ret)
{
	size_t nr = cfi_nr_fdes_to(cfi, pc);

	for (size_t i = 0; i < nr && i < MAX_SAME_START; i++) {
		int r = cfi_reader_fde(rd, nr - 1 - i, ret);

		if (r == 0)
			return pc < ret->end ? 0 : -ENOENT;
	}
	return -ENOENT;
}

/* A landing pad has the rules of the row after it; see cfi_is_behind_pad(). vm is at the end of the
 * first row. */
static int pass_pad(struct cfi_vm *vm, struct cfi_full_row *row)
{
	struct cfi_vm next = *vm;
	int r = cfi_vm_run(&next);

	if (r < 0)
		return r;
	row->is_pad = cfi_is_behind_pad(vm->arch, &next.state.cfa, &next.state.slots[row->ra_reg]);
	if (row->is_pad)
		vm->state = next.state;
	return 0;
}

static int run_to(struct cfi_vm *vm, uint64_t pc, struct cfi_full_row *row)
{
	int r;

	do {
		row->start = vm->next;
		r = cfi_vm_run(vm);
	} while (r > 0 && vm->next <= pc);
	if (r < 0)
		return r;
	row->end = r > 0 && vm->next < row->fde_end ? vm->next : row->fde_end;
	if (row->start == row->fde_start && row->end == row->start + CFI_PAD_BYTES && r > 0)
		return pass_pad(vm, row);
	return 0;
}

static int fill_full_row(struct cfi_reader *rd, const struct elf_cfi_fde *fde, uint64_t pc,
			 struct cfi_full_row *ret_row)
{
	struct cfi_full_row row = { .fde_start = fde->start, .fde_end = fde->end };
	const struct cfi_cie *cie;
	struct cfi_vm vm;
	int r;

	r = cfi_reader_start(rd, fde, &vm, &cie);
	if (r < 0)
		return r;
	row.ra_reg = cie->ra_reg;
	r = run_to(&vm, pc, &row);
	if (r < 0)
		return r;
	row.cfa = vm.state.cfa;
	row.ra_signed = vm.state.ra_signed;
	row.is_signal = cie->is_signal;
	row.nr_regs = cie->slots.nr;
	memcpy(row.regs, vm.state.slots, row.nr_regs * sizeof(row.regs[0]));
	*ret_row = row;
	return 0;
}

int cfi_rules_at(const struct cfi *cfi, uint64_t pc, struct cfi_full_row *ret_row)
{
	_cleanup_(cfi_reader_freep) struct cfi_reader *rd = NULL;
	struct elf_cfi_fde fde;
	int r;

	r = cfi_reader_new(cfi, true, &rd);
	if (r < 0)
		return r;
	r = find_fde(cfi, rd, pc, &fde);
	if (r < 0)
		return r;
	return fill_full_row(rd, &fde, pc, ret_row);
}
