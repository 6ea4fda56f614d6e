/* SPDX-License-Identifier: Apache-2.0 */
/* ELF notes: only the build-id is of interest. */
#include <elf.h>
#include <errno.h>

#include "base/cursor.h"
#include "elf/elf_internal.h"

#define NOTE_BLOCK_MAX_BYTES (64u << 10) /* per segment or section; the rest is ignored */

/* Skips to the next multiple of align from the start of the block. The padding of the last note may
 * be missing. */
static void align_cursor(struct cursor *c, const uint8_t *start, size_t align)
{
	size_t pad = -(size_t)(c->at - start) & (align - 1);

	(void)cursor_take(c, pad < cursor_left(c) ? pad : cursor_left(c));
}

/* One note; a build-id is stored in *id. The cursor is bad if the note does not fit into the block.
 * */
static void take_note(struct cursor *c, const uint8_t *start, size_t align, struct build_id *id)
{
	uint32_t name_bytes = cursor_u32(c);
	uint32_t desc_bytes = cursor_u32(c);
	uint32_t type = cursor_u32(c);
	const uint8_t *name, *desc;

	name = cursor_take(c, name_bytes);
	align_cursor(c, start, align);
	desc = cursor_take(c, desc_bytes);
	if (!desc)
		return;
	if (type == NT_GNU_BUILD_ID && name_bytes == 4 && memcmp(name, "GNU", 4) == 0) {
		id->len = desc_bytes < BUILD_ID_MAX_BYTES ? (uint8_t)desc_bytes
							  : BUILD_ID_MAX_BYTES;
		memcpy(id->bytes, desc, id->len);
	}
	align_cursor(c, start, align);
}

void elf_notes_build_id(const void *bytes, size_t n, struct build_id *ret_id)
{
	struct cursor c = cursor_of(bytes, n);

	*ret_id = (struct build_id){ 0 };
	while (!c.bad && cursor_left(&c) && !ret_id->len)
		take_note(&c, bytes, 4, ret_id);
}

int elf_notes_scan(struct elf_image *img, uint64_t offset, uint64_t size, uint64_t align,
		   uint64_t *budget_bytes)
{
	_cleanup_(freep) uint8_t *block = NULL;
	struct cursor c;

	size = size < NOTE_BLOCK_MAX_BYTES ? size : NOTE_BLOCK_MAX_BYTES;
	if (img->build_id.len || size == 0 || size > *budget_bytes || offset > img->size ||
	    size > img->size - offset)
		return 0;
	*budget_bytes -= size;
	block = malloc(size);
	if (!block)
		return -ENOMEM;
	if (elf_image_read(img, offset, block, size) < 0)
		return 0;
	c = cursor_of(block, size);
	while (!c.bad && cursor_left(&c) && !img->build_id.len)
		take_note(&c, block, align == 8 ? 8 : 4, &img->build_id);
	return 0;
}
