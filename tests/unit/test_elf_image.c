/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "elf_maker.h"

/* A build-id note with the id 01 02 03 …; returns its size. */
static size_t build_id_note(uint8_t *to, uint32_t id_bytes)
{
	uint32_t header[3] = { 4, id_bytes, NT_GNU_BUILD_ID };

	memcpy(to, header, 12);
	memcpy(to + 12, "GNU", 4);
	for (uint32_t i = 0; i < id_bytes; i++)
		to[16 + i] = (uint8_t)(i + 1);
	return 16 + id_bytes;
}

static void plain_file(struct elf_maker *m)
{
	maker_init(m);
	maker_section(m, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, "code", 4);
	maker_section(m, ".data", SHT_PROGBITS, SHF_ALLOC, "data!", 5);
	maker_segment(m, PT_LOAD, PF_R, 0x400000, 0, 0x2000);
	maker_segment(m, PT_LOAD, PF_R | PF_X, 0x501000, 0x1000, 0x800);
}

static void test_header_and_sections(void)
{
	const struct elf_section *s;
	struct elf_image *img;
	struct elf_maker m;
	size_t nr;

	plain_file(&m);
	maker_end(&m);
	img = maker_open(&m);
	ok(elf_image_machine(img) == EM_X86_64, "the machine is the header's");
	ok(elf_image_entry(img) == 0x1234, "the entry point is the header's");
	ok(elf_image_size(img) == m.len, "the size is that of the file");
	ok(elf_image_nr_sections(img) == 4, "all sections are present");
	s = elf_image_section(img, ".data");
	ok(s && s->size == 5 && s->type == SHT_PROGBITS, "a section is found by its name");
	ok(!elf_image_section(img, ".bss"), "a missing section is not found");
	ok(strcmp(elf_image_section_at(img, 1)->name, ".text") == 0,
	   "a section is found by its number");
	ok(elf_image_loads(img, &nr) && nr == 2, "both PT_LOAD are present");
	ok(elf_image_build_id(img)->len == 0, "without a note there is no build-id");
	elf_image_free(img);
	maker_done(&m);
}

static void test_offsets_to_addresses(void)
{
	struct elf_image *img;
	struct elf_maker m;
	uint64_t v = 0;

	plain_file(&m);
	maker_end(&m);
	img = maker_open(&m);
	ok(elf_image_vaddr_of(img, 0x1010, &v) == 0 && v == 0x501010,
	   "where segments overlap in the file, the executable one counts");
	ok(elf_image_vaddr_of(img, 0x10, &v) == 0 && v == 0x400010,
	   "where segments do not overlap, the one there counts");
	ok(elf_image_vaddr_of(img, 0x1800, &v) == 0 && v == 0x401800,
	   "one past the end of a segment is not in it");
	v = 7;
	ok(elf_image_vaddr_of(img, 0x2000, &v) == -ENOENT,
	   "an offset in no segment has no address");
	ok(v == 7, "a failed conversion leaves the output unchanged");
	elf_image_free(img);
	maker_done(&m);
}

static void test_reading_sections(void)
{
	struct buf b = BUF_INIT(8);
	struct elf_section s;
	struct elf_image *img;
	struct elf_maker m;

	plain_file(&m);
	maker_end(&m);
	img = maker_open(&m);
	s = *elf_image_section(img, ".data");
	ok(elf_image_read_section(img, &s, &b) == 0 && b.len == 5 && !memcmp(b.data, "data!", 5),
	   "a section is read");
	ok(elf_image_read_section(img, &s, &b) == -E2BIG && b.len == 5,
	   "a section larger than the buffer's maximum is refused");
	buf_clear(&b);
	s.type = SHT_NOBITS;
	s.size = 1ull << 60;
	ok(elf_image_read_section(img, &s, &b) == 0 && b.len == 0, "SHT_NOBITS has no bytes");
	s.type = SHT_PROGBITS;
	ok(elf_image_read_section(img, &s, &b) == -EBADMSG,
	   "a section outside the file is refused");
	s.offset = UINT64_MAX - 3;
	s.size = 8;
	ok(elf_image_read_section(img, &s, &b) == -EBADMSG,
	   "a section whose end wraps around is refused");
	s = *elf_image_section(img, ".data");
	s.flags |= SHF_COMPRESSED;
	ok(elf_image_read_section(img, &s, &b) == -EBADMSG,
	   "a section that only claims to be compressed is refused");
	buf_done(&b);
	elf_image_free(img);
	maker_done(&m);
}

static int open_result(struct elf_maker *m, size_t size)
{
	struct elf_image *img = NULL;
	int r = elf_image_open_mem(m->bytes, size, &img);

	elf_image_free(img);
	return r;
}

static void test_what_is_no_elf64(void)
{
	struct elf_image *img = NULL;
	struct elf_maker m;
	int p[2];

	plain_file(&m);
	maker_end(&m);
	ok(open_result(&m, 63) == -ENOEXEC, "a file smaller than a header is refused");
	m.bytes[EI_CLASS] = ELFCLASS32;
	ok(open_result(&m, m.len) == -ENOEXEC, "32 bits of x86-64 (x32) are refused");
	m.bytes[EI_CLASS] = ELFCLASS64;
	m.bytes[EI_DATA] = ELFDATA2MSB;
	ok(open_result(&m, m.len) == -ENOEXEC, "big-endian is refused");
	m.bytes[EI_DATA] = ELFDATA2LSB;
	m.bytes[0] = 'X';
	ok(open_result(&m, m.len) == -ENOEXEC, "another magic number is refused");
	must(pipe(p) == 0);
	ok(elf_image_open_fd(p[0], &img) == -ENOEXEC, "a pipe is refused");
	ok(elf_image_open_fd(-1, &img) == -EBADF, "a bad descriptor has its own error");
	close(p[0]);
	close(p[1]);
	maker_done(&m);
}

static void test_damaged_program_headers(void)
{
	struct elf_maker m;

	plain_file(&m);
	maker_end(&m);
	maker_ehdr(&m)->e_phoff = m.len - 8;
	ok(open_result(&m, m.len) == -EBADMSG, "program headers beyond the end are refused");
	maker_ehdr(&m)->e_phoff = UINT64_MAX - 8;
	ok(open_result(&m, m.len) == -EBADMSG,
	   "program headers whose offset wraps around are refused");
	maker_ehdr(&m)->e_phoff = sizeof(Elf64_Ehdr);
	maker_ehdr(&m)->e_phnum = ELF_MAX_PHDRS + 1;
	ok(open_result(&m, m.len) == -EBADMSG, "an absurd number of program headers is refused");
	maker_ehdr(&m)->e_phnum = 2;
	maker_ehdr(&m)->e_phentsize = 55;
	ok(open_result(&m, m.len) == -EBADMSG, "program headers of another size are refused");
	maker_done(&m);
}

static size_t sections_of(struct elf_maker *m)
{
	struct elf_image *img = maker_open(m);
	size_t nr = elf_image_nr_sections(img);

	elf_image_free(img);
	return nr;
}

static void test_damaged_section_headers(void)
{
	struct elf_image *img;
	struct elf_maker m;
	uint64_t at;

	plain_file(&m);
	maker_end(&m);
	at = m.ehdr.e_shoff;
	maker_ehdr(&m)->e_shoff = m.len - 8;
	ok(sections_of(&m) == 0, "a section table beyond the end leaves an image without sections");
	maker_ehdr(&m)->e_shoff = 0;
	ok(sections_of(&m) == 0, "a missing section table is not an error");
	maker_ehdr(&m)->e_shoff = at;
	maker_ehdr(&m)->e_shentsize = 63;
	ok(sections_of(&m) == 0, "section headers of another size leave no sections");
	maker_ehdr(&m)->e_shentsize = sizeof(Elf64_Shdr);
	maker_ehdr(&m)->e_shnum = 5000;
	ok(sections_of(&m) == 0, "more section headers than the file can hold leave no sections");
	maker_ehdr(&m)->e_shnum = 4;
	maker_ehdr(&m)->e_shstrndx = 77;
	img = maker_open(&m);
	ok(elf_image_nr_sections(img) == 4 && elf_image_section_at(img, 1)->name[0] == '\0',
	   "without their names sections are present, unnamed");
	elf_image_free(img);
	maker_ehdr(&m)->e_shstrndx = 3;
	maker_shdr(&m, 1)->sh_name = 0xfffffff0;
	img = maker_open(&m);
	ok(elf_image_section_at(img, 1)->name[0] == '\0' && elf_image_section(img, ".data"),
	   "a section name outside the names is empty and affects no other");
	elf_image_free(img);
	maker_done(&m);
}

static void test_extended_numbering(void)
{
	struct elf_image *img;
	struct elf_maker m;
	size_t nr;

	plain_file(&m);
	maker_end(&m);
	maker_ehdr(&m)->e_shnum = 0;
	maker_ehdr(&m)->e_shstrndx = SHN_XINDEX;
	maker_ehdr(&m)->e_phnum = PN_XNUM;
	maker_shdr(&m, 0)->sh_size = 4;
	maker_shdr(&m, 0)->sh_link = 3;
	maker_shdr(&m, 0)->sh_info = 2;
	img = maker_open(&m);
	ok(elf_image_nr_sections(img) == 4, "section 0 says how many sections there are");
	ok(elf_image_section(img, ".text"), "section 0 gives the index of the section names");
	ok(elf_image_loads(img, &nr) && nr == 2, "section 0 gives the number of program headers");
	elf_image_free(img);
	maker_shdr(&m, 0)->sh_size = 1ull << 58; /* times 64 is 0 */
	ok(sections_of(&m) == 0, "an absurd number in section 0 leaves no sections");
	maker_done(&m);
}

static struct build_id id_of(const uint8_t *note, size_t n, uint64_t align, bool by_section)
{
	struct elf_image *img;
	struct build_id id;
	struct elf_maker m;

	maker_init(&m);
	if (by_section)
		maker_section(&m, ".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, note, n);
	else
		maker_segment(&m, PT_NOTE, PF_R, 0, maker_bytes(&m, note, n), n)->p_align = align;
	maker_end(&m);
	img = maker_open(&m);
	id = *elf_image_build_id(img);
	elf_image_free(img);
	maker_done(&m);
	return id;
}

static void test_build_id(void)
{
	/* A note of type 5 with 5 bytes of name and 9 of contents goes before the build-id. */
	uint32_t other[3] = { 5, 9, 5 };
	uint8_t note[256] = { 0 };
	struct build_id id;
	size_t n;

	n = build_id_note(note, 20);
	id = id_of(note, n, 4, false);
	ok(id.len == 20 && id.bytes[0] == 1 && id.bytes[19] == 20,
	   "the build-id comes from PT_NOTE");
	id = id_of(note, n, 4, true);
	ok(id.len == 20 && id.bytes[19] == 20, "without PT_NOTE the build-id comes from SHT_NOTE");
	n = build_id_note(note, 32);
	ok(id_of(note, n, 4, false).len == BUILD_ID_MAX_BYTES, "a longer build-id is truncated");
	n = build_id_note(note, 8);
	ok(id_of(note, n, 4, false).len == 8, "a shorter build-id is kept");
	ok(id_of(note, n - 1, 4, false).len == 0, "a build-id that exceeds its segment is ignored");

	memset(note, 0, sizeof(note));
	memcpy(note, other, 12);
	n = 32 + build_id_note(note + 32, 20); /* 12 + 5 -> 20, + 9 -> 32 */
	ok(id_of(note, n, 4, false).len == 20,
	   "a build-id after another note, aligned to 4, is found");
	memset(note, 0, sizeof(note));
	memcpy(note, other, 12);
	n = 40 + build_id_note(note + 40, 20); /* 12 + 5 -> 24, + 9 -> 40 */
	ok(id_of(note, n, 8, false).len == 20,
	   "a build-id after another note, aligned to 8, is found");
	memset(note, 0xff, 12);
	ok(id_of(note, n, 4, false).len == 0, "sizes near 4 GiB end the search");
}

static void test_file_that_shrinks_while_open(void)
{
	char path[] = "/tmp/test_elf_image.XXXXXX";
	int fd = mkstemp(path);
	struct elf_image *img;
	struct elf_maker m;
	char byte;

	must(fd >= 0 && unlink(path) == 0);
	plain_file(&m);
	maker_end(&m);
	must(write(fd, m.bytes, m.len) == (ssize_t)m.len);
	must(elf_image_open_fd(fd, &img) == 0);
	ok(lseek(fd, 0, SEEK_CUR) == (off_t)m.len, "opening does not move the file position");
	ok(elf_image_read(img, m.len - 1, &byte, 1) == 0, "the last byte can be read");
	ok(elf_image_read(img, m.len, &byte, 1) == -EBADMSG,
	   "the byte after the last cannot be read");
	must(ftruncate(fd, 100) == 0);
	ok(elf_image_read(img, m.len - 1, &byte, 1) == -EBADMSG,
	   "a file truncated since open gives an error");
	elf_image_free(img);
	maker_done(&m);
	close(fd);
}

/* A file of which little is stored, and the rest is a hole of that size. */
static int sparse_fd(struct elf_maker *m, uint64_t hole_bytes)
{
	char path[] = "/tmp/test_elf_image.XXXXXX";
	int fd = mkstemp(path);

	must(fd >= 0 && unlink(path) == 0);
	maker_end(m);
	must(write(fd, m->bytes, m->len) == (ssize_t)m->len);
	must(ftruncate(fd, (off_t)(m->len + hole_bytes)) == 0);
	maker_done(m);
	return fd;
}

/* How often 64 KiB can be read at the end of the file. */
static uint64_t nr_reads(const struct elf_image *img, uint64_t most)
{
	static uint8_t bytes[64 << 10];
	uint64_t nr = 0;

	while (nr < most &&
	       elf_image_read(img, elf_image_size(img) - sizeof(bytes), bytes, sizeof(bytes)) == 0)
		nr++;
	return nr;
}

static void test_holes_allow_nothing(void)
{
	uint64_t hole_bytes = 1ull << 30, free_reads = ELF_WORK_FREE_BYTES / (64 << 10), nr;
	struct elf_image *img;
	struct elf_maker m;
	uint8_t byte;
	int fd;

	plain_file(&m);
	fd = sparse_fd(&m, hole_bytes);
	must(elf_image_open_fd(fd, &img) == 0);
	nr = nr_reads(img, 1000000);
	ok(nr >= free_reads / 2 && nr <= free_reads + 2,
	   "a hole of 1 GiB is read only as far as any file: %lu times 64 KiB", (unsigned long)nr);
	ok(elf_image_end(img) == WORK_OVER_BYTES, "the image says why reads of a hole fail");
	ok(elf_image_read(img, 0, &byte, 1) == -E2BIG, "after the limit nothing more is read");
	elf_image_free(img);
	close(fd);
}

static void test_stored_bytes_allow_more(void)
{
	static uint8_t stored[16 << 20];
	struct elf_image *img;
	struct elf_maker m;
	uint64_t nr;
	int fd;

	plain_file(&m);
	fd = sparse_fd(&m, 1 << 20);
	memset(stored, 1, sizeof(stored));
	must(pwrite(fd, stored, sizeof(stored), 1 << 20) == sizeof(stored));
	must(elf_image_open_fd(fd, &img) == 0);
	nr = nr_reads(img, 1000000);
	ok(nr >= ELF_WORK_TIMES * sizeof(stored) / (64 << 10) * 9 / 10,
	   "stored bytes may be read %u times: %lu times 64 KiB of 16 MiB", ELF_WORK_TIMES,
	   (unsigned long)nr);
	elf_image_free(img);
	close(fd);
}

static bool is_asked(const void *ctx)
{
	return true;
}

static void test_cancel(void)
{
	static uint8_t bytes[8 << 20];
	struct cancel cancel = { is_asked, NULL };
	struct elf_image *img;
	struct elf_maker m;
	int fd;

	plain_file(&m);
	fd = sparse_fd(&m, 0);
	memset(bytes, 1, sizeof(bytes));
	must(pwrite(fd, bytes, sizeof(bytes), 1 << 20) == sizeof(bytes));
	must(elf_image_open_fd(fd, &img) == 0);
	elf_image_limit(img, &cancel, 0);
	ok(elf_image_read(img, 1 << 20, bytes, sizeof(bytes)) == -ECANCELED,
	   "a long read is cancelled midway");
	elf_image_free(img);
	close(fd);
}

static void spend_cpu(uint64_t ns)
{
	uint64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		;
}

/* Lines are read between symbols; what they take is not the symbols'. */
static void test_pause(void)
{
	static uint8_t bytes[1 << 20];
	struct elf_image_pause p;
	struct elf_image *img;
	struct elf_maker m;
	int fd;

	plain_file(&m);
	fd = sparse_fd(&m, 0);
	memset(bytes, 1, sizeof(bytes));
	must(pwrite(fd, bytes, sizeof(bytes), 1 << 20) == sizeof(bytes));
	must(elf_image_open_fd(fd, &img) == 0);
	elf_image_limit(img, NULL, 100 * NS_PER_MS);
	p = elf_image_pause(img, 1);
	ok(elf_image_read(img, 1 << 20, bytes, sizeof(bytes)) == -E2BIG,
	   "lines have their own limit");
	spend_cpu(150 * NS_PER_MS);
	elf_image_resume(img, &p);
	ok(elf_image_read(img, 1 << 20, bytes, sizeof(bytes)) == 0,
	   "lines do not use up the limit of symbols");
	spend_cpu(150 * NS_PER_MS);
	ok(elf_image_read(img, 1 << 20, bytes, sizeof(bytes)) == -E2BIG,
	   "after lines symbols can still be read");
	elf_image_free(img);
	close(fd);
}

int main(void)
{
	test_header_and_sections();
	test_offsets_to_addresses();
	test_reading_sections();
	test_what_is_no_elf64();
	test_damaged_program_headers();
	test_damaged_section_headers();
	test_extended_numbering();
	test_build_id();
	test_file_that_shrinks_while_open();
	test_holes_allow_nothing();
	test_stored_bytes_allow_more();
	test_cancel();
	test_pause();
	return tap_done();
}
