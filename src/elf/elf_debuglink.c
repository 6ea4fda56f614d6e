/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/elf_debuglink.h"

#include <elf.h>
#include <errno.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "elf/elf_image.h"

#define LINK_MAX_BYTES 4096
#define CRC_CHUNK_BYTES (64u << 10)

/* The section's bytes; the caller frees them. */
static int read_link_section(const struct elf_image *img, const char *name, struct buf *to)
{
	const struct elf_section *s = elf_image_section(img, name);
	int r;

	if (!s || s->type == SHT_NOBITS)
		return -ENOENT;
	r = elf_image_read_section(img, s, to);
	return r == 0 || r == -ENOMEM ? r : -EBADMSG;
}

static bool is_file_name(const char *name)
{
	return name[0] && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* A string, zero padding to a multiple of 4, and the checksum. */
int elf_debuglink_read(const struct elf_image *img, struct elf_debuglink *ret_link)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT(LINK_MAX_BYTES);
	struct elf_debuglink link;
	struct cursor c;
	const char *name;
	int r = read_link_section(img, ".gnu_debuglink", &b);

	if (r < 0)
		return r;
	c = cursor_of(b.data, b.len);
	name = cursor_str(&c);
	if (!name || !is_file_name(name) || strlen(name) > ELF_MAX_DEBUGLINK_NAME)
		return -EBADMSG;
	(void)cursor_take(&c, -(strlen(name) + 1) & 3);
	link.crc = cursor_u32(&c);
	if (c.bad)
		return -EBADMSG;
	(void)snprintf(link.name, sizeof(link.name), "%s", name);
	*ret_link = link;
	return 0;
}

/* A string, followed by the build-id. */
int elf_altlink_read(const struct elf_image *img, struct elf_altlink *ret_link)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT(LINK_MAX_BYTES);
	struct elf_altlink link = { 0 };
	struct cursor c;
	const char *path;
	int r = read_link_section(img, ".gnu_debugaltlink", &b);

	if (r < 0)
		return r;
	c = cursor_of(b.data, b.len);
	path = cursor_str(&c);
	if (!path || !path[0] || strlen(path) > ELF_MAX_ALTLINK_PATH || !cursor_left(&c))
		return -EBADMSG;
	link.build_id.len = cursor_left(&c) < BUILD_ID_MAX_BYTES ? (uint8_t)cursor_left(&c)
								 : BUILD_ID_MAX_BYTES;
	cursor_copy(&c, link.build_id.bytes, link.build_id.len);
	(void)snprintf(link.path, sizeof(link.path), "%s", path);
	*ret_link = link;
	return 0;
}

/* Charged in full before it begins, so that a mostly sparse file is not even started. */
int elf_image_crc(const struct elf_image *img, uint32_t *ret_crc)
{
	_cleanup_(freep) uint8_t *chunk = malloc(CRC_CHUNK_BYTES);
	uint64_t size = elf_image_size(img);
	unsigned long crc = 0;
	int r = chunk ? elf_image_charge(img, size) : -ENOMEM;

	for (uint64_t at = 0; at < size && r == 0; at += CRC_CHUNK_BYTES) {
		size_t n = size - at < CRC_CHUNK_BYTES ? size - at : CRC_CHUNK_BYTES;

		r = elf_image_read(img, at, chunk, n);
		if (r == 0)
			crc = crc32_z(crc, chunk, n);
	}
	*ret_crc = (uint32_t)crc;
	return r;
}

static bool has_section(const struct elf_image *img, const char *name)
{
	const struct elf_section *s = elf_image_section(img, name);

	return s && s->type != SHT_NOBITS && s->size;
}

bool elf_image_has_dwarf(const struct elf_image *img)
{
	return has_section(img, ".debug_info") || has_section(img, ".zdebug_info");
}

bool elf_image_has_symtab(const struct elf_image *img)
{
	return has_section(img, ".symtab");
}
