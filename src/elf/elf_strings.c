/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/elf_strings.h"

#include <elf.h>
#include <errno.h>

#include "elf/elf_internal.h"

/* Linkers store names in symbol order, so nearly every name is in the piece read last. Pieces are
 * small, because a hostile table can make every symbol read another one. */
#define PIECE_BYTES 4096u
#define MAX_LINES 1024u

int elf_strings_init(struct elf_strings *s, const struct elf_image *img,
		     const struct elf_section *section)
{
	uint64_t nr_pieces = section->size / PIECE_BYTES + 1;

	s->img = img;
	s->offset = section->offset;
	s->size = section->size;
	s->lines = NULL;
	s->pieces = NULL;
	s->nr_lines = nr_pieces < MAX_LINES ? nr_pieces : MAX_LINES;
	if ((section->flags & SHF_COMPRESSED) || s->offset > img->size ||
	    s->size > img->size - s->offset)
		return -EBADMSG;
	s->lines = malloc(s->nr_lines * PIECE_BYTES);
	s->pieces = calloc(s->nr_lines, sizeof(*s->pieces));
	return s->lines && s->pieces ? 0 : -ENOMEM;
}

void elf_strings_done(struct elf_strings *s)
{
	free(s->lines);
	free(s->pieces);
	s->lines = NULL;
	s->pieces = NULL;
}

/* The bytes from an offset to the end of its piece or of the table. */
static const char *bytes_at(struct elf_strings *s, uint64_t offset, size_t *ret_nr)
{
	uint64_t piece = offset / PIECE_BYTES, start = piece * PIECE_BYTES;
	size_t line = piece % s->nr_lines;
	size_t n = s->size - start < PIECE_BYTES ? s->size - start : PIECE_BYTES;
	char *bytes = s->lines + line * PIECE_BYTES;

	if (s->pieces[line] != piece + 1) {
		s->pieces[line] = 0;
		if (elf_image_read(s->img, s->offset + start, bytes, n) < 0)
			return NULL;
		s->pieces[line] = piece + 1;
	}
	*ret_nr = n - (offset - start);
	return bytes + (offset - start);
}

const char *elf_strings_get(struct elf_strings *s, uint64_t offset)
{
	size_t len = 0;

	while (offset < s->size) {
		size_t n, room = ELF_MAX_STRING_BYTES - len, part;
		const char *from = bytes_at(s, offset, &n);

		if (!from)
			return NULL;
		part = strnlen(from, n < room ? n : room);
		memcpy(s->text + len, from, part);
		len += part;
		offset += part;
		if (part < n)
			break; /* its NUL, or where it is truncated */
	}
	if (offset >= s->size)
		return NULL;
	s->text[len] = '\0';
	return s->text;
}
