/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/elf_debuglink.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <zlib.h>

#include "elf_maker.h"

/* An image with one section of the name and the bytes given; NULL: without one. */
static struct elf_image *image_of(struct elf_maker *m, const char *name, const void *bytes,
				  size_t n)
{
	maker_init(m);
	if (name)
		maker_section(m, name, SHT_PROGBITS, 0, bytes, n);
	maker_end(m);
	return maker_open(m);
}

static int read_debuglink(const void *bytes, size_t n, struct elf_debuglink *link)
{
	struct elf_maker m;
	struct elf_image *img = image_of(&m, bytes ? ".gnu_debuglink" : NULL, bytes, n);
	int r = elf_debuglink_read(img, link);

	elf_image_free(img);
	maker_done(&m);
	return r;
}

static int read_altlink(const void *bytes, size_t n, struct elf_altlink *link)
{
	struct elf_maker m;
	struct elf_image *img = image_of(&m, bytes ? ".gnu_debugaltlink" : NULL, bytes, n);
	int r = elf_altlink_read(img, link);

	elf_image_free(img);
	maker_done(&m);
	return r;
}

static void test_debuglink(void)
{
	static const char seven[] = "a.debug\0\x04\x03\x02\x01";
	static const char six[] = "b.debu\0\0\x04\x03\x02\x01";
	struct elf_debuglink link = { .crc = 7 };
	char longest[ELF_MAX_DEBUGLINK_NAME + 1 + 4 + 4] = "";

	ok(read_debuglink(seven, 12, &link) == 0 && !strcmp(link.name, "a.debug") &&
		   link.crc == 0x01020304,
	   "debuglink: a name that fills its words is followed by the checksum");
	ok(read_debuglink(six, 12, &link) == 0 && !strcmp(link.name, "b.debu") &&
		   link.crc == 0x01020304,
	   "debuglink: a shorter name is padded with zeros");
	memset(longest, 'x', ELF_MAX_DEBUGLINK_NAME);
	ok(read_debuglink(longest, ELF_MAX_DEBUGLINK_NAME + 1 + 4, &link) == 0,
	   "debuglink: a name of 255 bytes is accepted");
	memset(longest, 'x', ELF_MAX_DEBUGLINK_NAME + 1);
	ok(read_debuglink(longest, sizeof(longest), &link) == -EBADMSG,
	   "debuglink: a name of 256 bytes is refused");
	ok(read_debuglink(NULL, 0, &link) == -ENOENT, "debuglink: no section, no link");
}

static void test_bad_debuglink(void)
{
	struct elf_debuglink link = { .crc = 7 };

	ok(read_debuglink("a.debug\0\x04\x03\x02", 11, &link) == -EBADMSG,
	   "debuglink: half a checksum is refused");
	ok(read_debuglink("a.debug", 7, &link) == -EBADMSG,
	   "debuglink: an unterminated name is refused");
	ok(read_debuglink("../a\0\0\0\0\x04\x03\x02\x01", 12, &link) == -EBADMSG,
	   "debuglink: a name with a directory is refused");
	ok(read_debuglink("..\0\0\x04\x03\x02\x01", 8, &link) == -EBADMSG,
	   "debuglink: the name .. is refused");
	ok(read_debuglink("\0\0\0\0\x04\x03\x02\x01", 8, &link) == -EBADMSG,
	   "debuglink: an empty name is refused");
	ok(link.crc == 7, "debuglink: a refused link leaves the result unchanged");
}

static void test_altlink(void)
{
	char bytes[64] = "../.dwz/x.debug";
	struct elf_altlink link;

	memset(bytes + 16, 0xab, 20);
	ok(read_altlink(bytes, 36, &link) == 0 && !strcmp(link.path, "../.dwz/x.debug") &&
		   link.build_id.len == 20 && link.build_id.bytes[19] == 0xab,
	   "an alternate link is a path and a build-id");
	ok(read_altlink(bytes, 60, &link) == 0 && link.build_id.len == BUILD_ID_MAX_BYTES,
	   "altlink: a longer build-id is truncated");
	ok(read_altlink(bytes, 16, &link) == -EBADMSG, "altlink: a missing build-id is refused");
	ok(read_altlink(bytes, 15, &link) == -EBADMSG, "altlink: an unterminated path is refused");
	ok(read_altlink(NULL, 0, &link) == -ENOENT, "altlink: no section, no link");
}

static void test_crc(void)
{
	_cleanup_(closep) int fd = memfd_create("crc", MFD_CLOEXEC);
	struct elf_image *img;
	struct elf_maker m;
	uint32_t crc = 0;

	maker_init(&m);
	maker_end(&m);
	must(fd >= 0 && write(fd, m.bytes, m.len) == (ssize_t)m.len);
	must(elf_image_open_fd(fd, &img) == 0);
	ok(elf_image_crc(img, &crc) == 0 && crc == crc32_z(0, m.bytes, m.len),
	   "the checksum is zlib's CRC-32 of all of the file");
	elf_image_free(img);
	must(ftruncate(fd, 2040ll << 20) == 0);
	must(elf_image_open_fd(fd, &img) == 0);
	ok(elf_image_crc(img, &crc) == -E2BIG, "a file made of holes is not read");
	ok(elf_image_read(img, 0, &crc, 4) == -E2BIG,
	   "a file made of holes is refused before it is read");
	elf_image_free(img);
	maker_done(&m);
}

static bool has(const char *section, uint32_t type, size_t n,
		bool (*question)(const struct elf_image *img))
{
	struct elf_maker m;
	struct elf_image *img;
	bool answer;

	maker_init(&m);
	maker_section(&m, section, type, 0, "12345678", n);
	maker_end(&m);
	img = maker_open(&m);
	answer = question(img);
	elf_image_free(img);
	maker_done(&m);
	return answer;
}

static void test_worth(void)
{
	ok(has(".debug_info", SHT_PROGBITS, 8, elf_image_has_dwarf), "DWARF is recognized");
	ok(has(".zdebug_info", SHT_PROGBITS, 8, elf_image_has_dwarf),
	   "old compressed DWARF is recognized");
	ok(!has(".debug_info", SHT_NOBITS, 8, elf_image_has_dwarf),
	   "a section name alone does not count as DWARF");
	ok(!has(".debug_info", SHT_PROGBITS, 0, elf_image_has_dwarf),
	   "an empty section does not count as DWARF");
	ok(!has(".debug_line", SHT_PROGBITS, 8, elf_image_has_dwarf),
	   "lines alone do not count as DWARF");
	ok(has(".symtab", SHT_SYMTAB, 8, elf_image_has_symtab) &&
		   !has(".dynsym", SHT_DYNSYM, 8, elf_image_has_symtab),
	   "a full symbol table is distinguished from exported symbols");
}

int main(void)
{
	test_debuglink();
	test_bad_debuglink();
	test_altlink();
	test_crc();
	test_worth();
	return tap_done();
}
