/* SPDX-License-Identifier: Apache-2.0 */
/* One CIE or FDE, from its bytes (LSB Core 5.0, "Exception Frames"; DWARF 5, 6.4.1). */
#include <errno.h>

#include "unwind/eh_frame_internal.h"
#include "unwind/leb128.h"

#define LENGTH_IS_64_BIT 0xffffffffu
#define LENGTH_RESERVED 0xfffffff0u
#define MAX_CODE_ALIGNMENT 0xffffu

/* Pointer encodings (LSB Core 5.0, "DWARF Exception Header Encoding"). */
enum {
	PE_ABSPTR = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT_MASK = 0x0f,
	PE_PCREL = 0x10,
	PE_OMIT = 0xff,
};

static int take_number(struct cursor *c, uint8_t format, uint64_t *ret_number)
{
	switch (format) {
	case PE_SDATA4:
		*ret_number = (uint64_t)(int64_t)cursor_s32(c);
		return 0;
	case PE_UDATA4:
		*ret_number = cursor_u32(c);
		return 0;
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		*ret_number = cursor_u64(c);
		return 0;
	case PE_UDATA2:
		*ret_number = cursor_u16(c);
		return 0;
	case PE_SDATA2:
		*ret_number = (uint64_t)(int64_t)(int16_t)cursor_u16(c);
		return 0;
	case PE_ULEB128:
		*ret_number = cursor_uleb128(c);
		return 0;
	case PE_SLEB128:
		*ret_number = (uint64_t)cursor_sleb128(c);
		return 0;
	default:
		return -EBADMSG;
	}
}

int cfi_read_pointer(const struct cfi *cfi, struct cursor *c, uint8_t encoding, uint64_t *ret_addr)
{
	uint64_t at = cfi->addr + (uint64_t)(c->at - cfi->bytes);
	uint64_t v;
	int r;

	r = take_number(c, encoding & PE_FORMAT_MASK, &v);
	if (r < 0 || c->bad)
		return -EBADMSG;
	/* Bases other than the pointer itself belong to code that is not linked yet. */
	if ((encoding & ~PE_FORMAT_MASK) == PE_PCREL)
		v += at;
	else if ((encoding & ~PE_FORMAT_MASK) != 0)
		return -EBADMSG;
	*ret_addr = v;
	return 0;
}

/* An FDE names its CIE by the distance back to it, or in .debug_frame by its offset. */
static int read_id(const struct cfi *cfi, struct cfi_entry *e, bool is_64_bit)
{
	uint64_t at = (uint64_t)(e->body.at - cfi->bytes);
	uint64_t id = is_64_bit ? cursor_u64(&e->body) : cursor_u32(&e->body);

	if (e->body.bad)
		return -EBADMSG;
	if (cfi->is_debug_frame) {
		e->is_cie = id == (is_64_bit ? UINT64_MAX : UINT32_MAX);
		e->cie = id;
		return 0;
	}
	e->is_cie = id == 0;
	e->cie = at - id;
	return id <= at ? 0 : -EBADMSG;
}

int cfi_read_entry(const struct cfi *cfi, uint64_t offset, struct cfi_entry *ret_entry)
{
	struct cfi_entry e = { 0 };
	struct cursor c;
	uint64_t length;
	bool is_64_bit;
	int r = 0;

	if (offset >= cfi->size)
		return -EBADMSG;
	c = cursor_of(cfi->bytes + offset, cfi->size - offset);
	length = cursor_u32(&c);
	is_64_bit = length == LENGTH_IS_64_BIT;
	if (is_64_bit)
		length = cursor_u64(&c);
	else if (length >= LENGTH_RESERVED)
		return -EBADMSG;
	if (c.bad || length > cursor_left(&c))
		return -EBADMSG;
	e.body = cursor_of(c.at, length);
	e.next = (uint64_t)(c.at - cfi->bytes) + length;
	e.is_end = length == 0;
	if (!e.is_end)
		r = read_id(cfi, &e, is_64_bit);
	if (r < 0)
		return r;
	*ret_entry = e;
	return 0;
}

/* A personality routine: not wanted, but it must be stepped over. */
static int skip_pointer(struct cursor *c)
{
	uint8_t encoding = cursor_u8(c);
	uint64_t ignored;

	return encoding == PE_OMIT ? 0 : take_number(c, encoding & PE_FORMAT_MASK, &ignored);
}

/* The letters behind 'z'. What an unknown letter has for data is unknown too, so that no letter
 * behind it can be read; its end is known. */
static int read_augmentation(struct cursor *c, const char *letters, struct cfi_cie *cie)
{
	uint64_t size = cursor_uleb128(c);
	const uint8_t *bytes = cursor_take(c, size <= SIZE_MAX ? size : SIZE_MAX);
	struct cursor data;

	if (!bytes)
		return -EBADMSG;
	data = cursor_of(bytes, size);
	for (; *letters; letters++) {
		if (*letters == 'R')
			cie->scale.address_encoding = cursor_u8(&data);
		else if (*letters == 'L')
			(void)cursor_u8(&data);
		else if (*letters == 'P' && skip_pointer(&data) < 0)
			return -EBADMSG;
		else if (*letters == 'S')
			cie->is_signal = true;
		else if (!strchr("PBG", *letters))
			return strpbrk(letters, "RS") ? -EBADMSG : 0;
	}
	return data.bad ? -EBADMSG : 0;
}

static bool is_version_known(const struct cfi *cfi, uint8_t version)
{
	return version == 1 || version == 3 || (version == 4 && cfi->is_debug_frame);
}

static int read_cie_head(const struct cfi *cfi, struct cursor *c, struct cfi_cie *cie)
{
	uint8_t version = cursor_u8(c);
	const char *augmentation = cursor_str(c);
	uint64_t code, ra;

	if (!augmentation || !is_version_known(cfi, version))
		return -EBADMSG;
	if (strcmp(augmentation, "eh") == 0)
		(void)cursor_u64(c); /* a pointer of GCC 2 */
	if (version >= 4 && (cursor_u8(c) != 8 || cursor_u8(c) != 0))
		return -EBADMSG; /* bytes of an address, bytes of a segment */
	code = cursor_uleb128(c);
	cie->scale.data = cursor_sleb128(c);
	ra = version == 1 ? cursor_u8(c) : cursor_uleb128(c);
	if (c->bad || code > MAX_CODE_ALIGNMENT || ra >= cfi->arch->nr_regs)
		return -EBADMSG;
	cie->scale.code = (uint32_t)code;
	cie->ra_reg = (uint8_t)ra;
	cie->has_augmentation_size = augmentation[0] == 'z';
	if (cie->has_augmentation_size)
		return read_augmentation(c, augmentation + 1, cie);
	return !augmentation[0] || strcmp(augmentation, "eh") == 0 ? 0 : -EBADMSG;
}

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
	return cfi_read_pointer(ctx, c, encoding, ret_addr);
}

static void start_vm(const struct cfi *cfi, const struct cfi_cie *cie, struct cfi_vm *vm)
{
	vm->arch = cfi->arch;
	vm->slots = &cie->slots;
	vm->scale = &cie->scale;
	vm->read_address = read_address;
	vm->read_ctx = cfi;
	vm->depth = 0;
	vm->changed = CFI_CHANGED_CFA | CFI_CHANGED_REST;
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

int cfi_read_cie(const struct cfi *cfi, uint64_t offset, bool all_registers,
		 struct cfi_cie *ret_cie)
{
	struct cfi_entry e;
	int r;

	r = cfi_read_entry(cfi, offset, &e);
	if (r < 0)
		return r;
	if (e.is_end || !e.is_cie)
		return -EBADMSG;
	*ret_cie = (struct cfi_cie){ .offset = offset };
	r = read_cie_head(cfi, &e.body, ret_cie);
	if (r < 0)
		return r;
	r = assign_slots(cfi->arch, all_registers, ret_cie);
	if (r < 0)
		return r;
	return run_initial(cfi, e.body, ret_cie);
}

/* Start and size, as nearly every file writes them: 32 bits each, relative to where they stand. */
static bool take_common_range(const struct cfi *cfi, struct cursor *c, uint64_t *ret_start,
			      uint64_t *ret_bytes)
{
	uint64_t at = cfi->addr + (uint64_t)(c->at - cfi->bytes);
	int32_t v[2];

	if (cursor_left(c) < sizeof(v))
		return false;
	memcpy(v, c->at, sizeof(v));
	c->at += sizeof(v);
	*ret_start = at + (uint64_t)(int64_t)v[0];
	*ret_bytes = (uint64_t)(int64_t)v[1];
	return true;
}

static bool take_range(const struct cfi *cfi, struct cursor *c, uint8_t encoding,
		       uint64_t *ret_start, uint64_t *ret_bytes)
{
	if (encoding == (PE_PCREL | PE_SDATA4))
		return take_common_range(cfi, c, ret_start, ret_bytes);
	return cfi_read_pointer(cfi, c, encoding, ret_start) == 0 &&
	       take_number(c, encoding & PE_FORMAT_MASK, ret_bytes) == 0;
}

int cfi_read_fde(const struct cfi *cfi, const struct cfi_entry *entry, const struct cfi_cie *cie,
		 struct cfi_fde *ret_fde)
{
	struct cursor c = entry->body;
	uint64_t start, bytes;

	if (!take_range(cfi, &c, cie->scale.address_encoding, &start, &bytes))
		return -EBADMSG;
	if (cie->has_augmentation_size)
		(void)cursor_take(&c, cursor_uleb128(&c));
	if (c.bad || bytes > UINT64_MAX - start)
		return -EBADMSG;
	ret_fde->start = start;
	ret_fde->end = start + bytes;
	ret_fde->cie = cie->offset;
	ret_fde->program = c.at;
	ret_fde->program_bytes = cursor_left(&c);
	return 0;
}

void cfi_start_fde(const struct cfi *cfi, const struct cfi_cie *cie, const struct cfi_fde *fde,
		   struct cfi_vm *vm)
{
	start_vm(cfi, cie, vm);
	vm->c = cursor_of(fde->program, fde->program_bytes);
	vm->initial = &cie->initial;
	vm->next = fde->start;
	cfi_state_copy(&vm->state, &cie->initial, cie->slots.nr);
}
