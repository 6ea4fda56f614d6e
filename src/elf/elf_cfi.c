/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/elf_cfi.h"

#include <elf.h>
#include <errno.h>

#include "elf/elf_image.h"

#define LENGTH_IS_64_BIT 0xffffffffu
#define LENGTH_RESERVED 0xfffffff0u

int elf_cfi_read_section(const struct elf_image *img, const char *name, struct elf_cfi *ret_frame,
			 uint8_t **ret_bytes)
{
	const struct elf_section *s = elf_image_debug_section(img, name);
	struct buf b = BUF_INIT(ELF_CFI_MAX_BYTES);
	int r;

	if (!s || s->type == SHT_NOBITS)
		return -ENOENT;
	r = elf_image_read_section(img, s, &b);
	if (r < 0) {
		buf_done(&b);
		return r;
	}
	*ret_bytes = (uint8_t *)b.data;
	*ret_frame = (struct elf_cfi){ .bytes = *ret_bytes, .size = b.len, .addr = s->addr };
	return 0;
}

int elf_pointer_number(struct cursor *c, uint8_t encoding, uint64_t *ret_number)
{
	switch (encoding & ELF_PE_FORMAT_MASK) {
	case ELF_PE_SDATA4:
		*ret_number = (uint64_t)(int64_t)cursor_s32(c);
		break;
	case ELF_PE_UDATA4:
		*ret_number = cursor_u32(c);
		break;
	case ELF_PE_ABSPTR:
	case ELF_PE_UDATA8:
	case ELF_PE_SDATA8:
		*ret_number = cursor_u64(c);
		break;
	case ELF_PE_UDATA2:
		*ret_number = cursor_u16(c);
		break;
	case ELF_PE_SDATA2:
		*ret_number = (uint64_t)(int64_t)(int16_t)cursor_u16(c);
		break;
	case ELF_PE_ULEB128:
		*ret_number = cursor_uleb128(c);
		break;
	case ELF_PE_SLEB128:
		*ret_number = (uint64_t)cursor_sleb128(c);
		break;
	default:
		return -EBADMSG;
	}
	return c->bad ? -EBADMSG : 0;
}

int elf_cfi_pointer(const struct elf_cfi *f, struct cursor *c, uint8_t encoding, uint64_t *ret_addr)
{
	uint8_t base = encoding & (uint8_t)~ELF_PE_FORMAT_MASK;
	uint64_t at = f->addr + (uint64_t)(c->at - f->bytes);

	if (base != ELF_PE_ABSPTR && base != ELF_PE_PCREL)
		return -EBADMSG;
	if (elf_pointer_number(c, encoding, ret_addr) < 0)
		return -EBADMSG;
	if (base == ELF_PE_PCREL)
		*ret_addr += at;
	return 0;
}

/* Reads the length of an entry; afterwards c is at the entry's ID. */
static inline int take_length(const struct elf_cfi *f, struct cursor *c, bool *ret_is_64_bit,
			      uint64_t *ret_length)
{
	uint64_t length = cursor_u32(c);

	*ret_is_64_bit = length == LENGTH_IS_64_BIT;
	if (length >= LENGTH_RESERVED)
		length = *ret_is_64_bit ? cursor_u64(c) : UINT64_MAX;
	if (c->bad || (length > cursor_left(c) && !f->is_excerpt))
		return -EBADMSG;
	*ret_length = length;
	return 0;
}

int elf_cfi_entry(const struct elf_cfi *f, uint64_t offset, struct elf_cfi_entry *ret_entry)
{
	uint64_t length, at, id;
	struct cursor c;
	bool is_64_bit;

	if (offset >= f->size)
		return -EBADMSG;
	c = cursor_of(f->bytes + offset, f->size - offset);
	if (take_length(f, &c, &is_64_bit, &length) < 0)
		return -EBADMSG;
	at = (uint64_t)(c.at - f->bytes);
	if (length < cursor_left(&c))
		c.end = c.at + length;
	id = is_64_bit ? cursor_u64(&c) : cursor_u32(&c);
	/* An FDE refers to its CIE by the distance back to it, or in .debug_frame by its offset. */
	ret_entry->cie = f->is_debug_frame ? id : at - id;
	ret_entry->is_cie = !c.bad && id == (!f->is_debug_frame ? 0
					     : is_64_bit        ? UINT64_MAX
								: UINT32_MAX);
	ret_entry->is_end = length == 0;
	ret_entry->offset = offset;
	ret_entry->next = at + length;
	ret_entry->body = c;
	return 0;
}

/* A personality routine is not needed, but what follows it is. */
static int skip_pointer(struct cursor *c)
{
	uint8_t encoding = cursor_u8(c);
	uint64_t ignored;

	return encoding == ELF_PE_OMIT ? 0 : elf_pointer_number(c, encoding, &ignored);
}

/* The augmentation letters after 'z'. The data of an unknown letter has an unknown size, so no
 * letter after it can be read; only the end of all the data is known. */
static int read_augmentation(struct cursor *c, const char *letters, struct elf_cfi_cie *cie)
{
	uint64_t size = cursor_uleb128(c);
	const uint8_t *bytes = cursor_take(c, size);
	struct cursor data;

	if (!bytes)
		return -EBADMSG;
	data = cursor_of(bytes, size);
	for (; *letters; letters++) {
		if (*letters == 'R')
			cie->address_encoding = cursor_u8(&data);
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

static int read_cie_head(const struct elf_cfi *f, struct cursor *c, struct elf_cfi_cie *cie)
{
	uint8_t version = cursor_u8(c);
	const char *augmentation = cursor_str(c);

	if (!augmentation || (version != 1 && version != 3 && (version != 4 || !f->is_debug_frame)))
		return -EBADMSG;
	if (strcmp(augmentation, "eh") == 0)
		(void)cursor_u64(c); /* a pointer that GCC 2 emitted */
	if (version >= 4 && cursor_u16(c) != 8)
		return -EBADMSG; /* size of an address: 8 bytes; of a segment selector: none */
	cie->code_alignment = cursor_uleb128(c);
	cie->data_alignment = cursor_sleb128(c);
	cie->ra_reg = version == 1 ? cursor_u8(c) : cursor_uleb128(c);
	cie->has_augmentation_size = augmentation[0] == 'z';
	if (c->bad)
		return -EBADMSG;
	if (cie->has_augmentation_size)
		return read_augmentation(c, augmentation + 1, cie);
	return !augmentation[0] || strcmp(augmentation, "eh") == 0 ? 0 : -EBADMSG;
}

int elf_cfi_cie(const struct elf_cfi *f, const struct elf_cfi_entry *e, struct elf_cfi_cie *ret_cie)
{
	struct cursor head = e->body;

	if (cursor_left(&head) > ELF_CIE_HEAD_MAX_BYTES)
		head.end = head.at + ELF_CIE_HEAD_MAX_BYTES;
	*ret_cie = (struct elf_cfi_cie){ .address_encoding = ELF_PE_ABSPTR };
	if (e->is_end || !e->is_cie || read_cie_head(f, &head, ret_cie) < 0)
		return -EBADMSG;
	ret_cie->program = cursor_of(head.at, (size_t)(e->body.end - head.at));
	return 0;
}

/* Start and size as nearly every file stores them: 32 bits each, relative to their own position. */
static int take_common_range(const struct elf_cfi *f, struct cursor *c, uint64_t *ret_start,
			     uint64_t *ret_bytes)
{
	uint64_t at = f->addr + (uint64_t)(c->at - f->bytes);
	int32_t v[2];

	if (cursor_left(c) < sizeof(v))
		return -EBADMSG;
	memcpy(v, c->at, sizeof(v));
	c->at += sizeof(v);
	*ret_start = at + (uint64_t)(int64_t)v[0];
	*ret_bytes = (uint64_t)(int64_t)v[1];
	return 0;
}

static int take_range(const struct elf_cfi *f, struct cursor *c, uint8_t encoding,
		      uint64_t *ret_start, uint64_t *ret_bytes)
{
	int r;

	if (encoding == (ELF_PE_PCREL | ELF_PE_SDATA4))
		return take_common_range(f, c, ret_start, ret_bytes);
	r = elf_cfi_pointer(f, c, encoding, ret_start);
	return r < 0 ? r : elf_pointer_number(c, encoding, ret_bytes);
}

int elf_cfi_fde(const struct elf_cfi *f, const struct elf_cfi_entry *e, uint8_t address_encoding,
		bool has_augmentation_size, struct elf_cfi_fde *ret_fde)
{
	struct cursor c = e->body;
	uint64_t start, bytes;

	if (e->is_end || e->is_cie || take_range(f, &c, address_encoding, &start, &bytes) < 0)
		return -EBADMSG;
	if (has_augmentation_size)
		(void)cursor_take(&c, cursor_uleb128(&c));
	if ((c.bad && !f->is_excerpt) || bytes > UINT64_MAX - start)
		return -EBADMSG;
	ret_fde->start = start;
	ret_fde->end = start + bytes;
	ret_fde->offset = e->offset;
	ret_fde->cie = e->cie;
	ret_fde->program = c.at;
	ret_fde->program_bytes = cursor_left(&c);
	return 0;
}
