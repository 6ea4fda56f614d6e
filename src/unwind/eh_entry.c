/* SPDX-License-Identifier: Apache-2.0 */
/* CIEs and FDEs, from their bytes (LSB Core 5.0, "Exception Frames"; DWARF 5, 6.4.1). */
#include <errno.h>

#include "base/leb128.h"
#include "elf/elf_fde.h"
#include "unwind/eh_frame_internal.h"

#define LENGTH_IS_64_BIT 0xffffffffu
#define LENGTH_RESERVED 0xfffffff0u
#define MAX_CODE_ALIGNMENT 0xffffu
#define CIE_CACHE 64 /* a power of two; linkers merge to a handful, .debug_frame has one per unit */
#define MAX_SAME_START 8
#define WORK_PER_BYTE 4
#define WORK_MIN_BYTES (64u << 10)

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

/* The head of an entry. */
struct entry {
	uint64_t offset;
	bool is_end; /* a length of 0 */
	bool is_cie;
	uint64_t cie;       /* of an FDE: offset of its CIE */
	uint64_t next;      /* offset of the entry behind */
	struct cursor body; /* what follows the head */
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

static int read_pointer(const struct cfi *cfi, struct cursor *c, uint8_t encoding,
			uint64_t *ret_addr)
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

/* An FDE names its CIE by the distance back to it, or in .debug_frame by its offset. One that leads
 * nowhere is found out when it is followed. */
static void read_id(const struct cfi *cfi, struct entry *e, bool is_64_bit)
{
	uint64_t at = (uint64_t)(e->body.at - cfi->bytes);
	uint64_t id = is_64_bit ? cursor_u64(&e->body) : cursor_u32(&e->body);

	e->cie = cfi->is_debug_frame ? id : at - id;
	e->is_cie = !e->body.bad && id == (!cfi->is_debug_frame ? 0
					   : is_64_bit          ? UINT64_MAX
								: UINT32_MAX);
}

/* -EBADMSG: its length makes no sense, so that nobody knows what is behind it; e is of no use. */
static int read_entry(const struct cfi *cfi, uint64_t offset, struct entry *e)
{
	struct cursor c;
	uint64_t length;
	bool is_64_bit;

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
	e->offset = offset;
	e->next = (uint64_t)(c.at - cfi->bytes) + length;
	e->is_end = length == 0;
	e->is_cie = false;
	e->body = cursor_of(c.at, length);
	if (!e->is_end)
		read_id(cfi, e, is_64_bit);
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
	if (version >= 4 && cursor_u16(c) != 8)
		return -EBADMSG; /* bytes of an address: 8; of a segment: none */
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
	return read_pointer(ctx, c, encoding, ret_addr);
}

static void start_vm(const struct cfi *cfi, const struct cfi_cie *cie, struct cfi_vm *vm)
{
	vm->arch = cfi->arch;
	vm->slots = &cie->slots;
	vm->scale = &cie->scale;
	vm->read_address = read_address;
	vm->read_ctx = cfi;
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

static int read_cie(const struct cfi *cfi, uint64_t offset, bool all_registers,
		    struct cfi_cie *ret_cie)
{
	struct entry e;
	int r;

	r = read_entry(cfi, offset, &e);
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
	return read_pointer(cfi, c, encoding, ret_start) == 0 &&
	       take_number(c, encoding & PE_FORMAT_MASK, ret_bytes) == 0;
}

static int read_fde(const struct cfi *cfi, const struct entry *entry, const struct cfi_cie *cie,
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
	ret_fde->offset = entry->offset;
	ret_fde->cie = cie->offset;
	ret_fde->program = c.at;
	ret_fde->program_bytes = cursor_left(&c);
	return 0;
}

static void start_fde(const struct cfi *cfi, const struct cfi_cie *cie, const struct cfi_fde *fde,
		      struct cfi_vm *vm)
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
	struct entry e;
	int r;

	r = read_entry(rd->cfi, offset, &e);
	return r < 0 ? r : charge(rd, cursor_left(&e.body));
}

static __attribute__((noinline)) int load_cie(struct cfi_reader *rd, uint64_t offset, size_t slot)
{
	int r;

	rd->is_cached[slot] = false;
	r = charge_cie(rd, offset);
	if (r < 0)
		return r;
	r = read_cie(rd->cfi, offset, rd->all_registers, &rd->cies[slot]);
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

static int fde_of(struct cfi_reader *rd, const struct entry *e, struct cfi_fde *ret_fde)
{
	const struct cfi_cie *cie;
	int r;

	if (e->is_end || e->is_cie)
		return -EBADMSG;
	r = get_cie(rd, e->cie, &cie);
	if (r < 0)
		return r;
	return read_fde(rd->cfi, e, cie, ret_fde);
}

int cfi_reader_next(struct cfi_reader *rd, uint64_t *offset, struct cfi_fde *ret_fde)
{
	struct entry e;

	/* Behind an entry of senseless length there is nothing to be found; .eh_frame ends with a
	 * length of 0. */
	while (*offset < rd->cfi->size && read_entry(rd->cfi, *offset, &e) == 0 &&
	       (!e.is_end || rd->cfi->is_debug_frame)) {
		*offset = e.next;
		if (!e.is_end && !e.is_cie)
			return fde_of(rd, &e, ret_fde);
	}
	return -ENOENT;
}

/*
 * The FDE that the table names, or the first behind it that is about the same function and is not
 * empty: lld keeps one entry for each start, which may be that of an empty FDE.
 */
static int read_named_fde(struct cfi_reader *rd, uint64_t offset, uint64_t start,
			  struct cfi_fde *ret_fde)
{
	struct entry e;
	int r;

	for (int i = 0; i < MAX_SAME_START; i++) {
		r = read_entry(rd->cfi, offset, &e);
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
	if (start == 0 || start < cfi->code_start || start >= cfi->code_end)
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
	start_fde(rd->cfi, cie, fde, vm);
	*ret_cie = cie;
	return 0;
}
