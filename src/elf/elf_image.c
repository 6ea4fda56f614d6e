/* SPDX-License-Identifier: Apache-2.0 */
#include "elf/elf_image.h"

#include <elf.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "elf/elf_class.h"
#include "elf/elf_internal.h"

/* The header's counts after extended numbering: section 0 holds what does not fit (gABI, ELF
 * header: e_shnum, e_shstrndx, PN_XNUM). */
struct counts {
	uint64_t nr_phdrs;
	uint64_t nr_sections;
	uint64_t names_at;
};

#define READ_BYTES (1u << 20)   /* bytes per read, so that it can be cancelled in between */
#define READ_COST_BYTES 256     /* charge for a call, in addition to its bytes */
#define STORED_MAX_EXTENTS 4096 /* holes that are counted; honest files have few */

/* Bytes of the file that are not holes. If the file system does not report holes, all bytes. */
static uint64_t count_stored(const struct elf_image *img)
{
	uint64_t stored = 0, at = 0;

	if (img->mem)
		return img->size;
	for (int i = 0; i < STORED_MAX_EXTENTS && at < img->size; i++) {
		off_t data = lseek(img->fd, (off_t)at, SEEK_DATA);
		off_t hole = data < 0 ? -1 : lseek(img->fd, data, SEEK_HOLE);

		if (hole < 0)
			return errno == ENXIO ? stored : img->size;
		if ((uint64_t)data >= img->size)
			break;
		at = (uint64_t)hole < img->size ? (uint64_t)hole : img->size;
		stored += at - (uint64_t)data;
	}
	return stored;
}

/* Computed on demand: most files are read less than every file is allowed. */
uint64_t elf_image_stored_bytes(const struct elf_image *img)
{
	if (!img->meter->has_counted_stored)
		img->meter->stored_bytes = count_stored(img);
	img->meter->has_counted_stored = true;
	return img->meter->stored_bytes;
}

static void allow_stored(const struct elf_image *img)
{
	uint64_t stored = elf_image_stored_bytes(img), most = ELF_WORK_MAX_BYTES / ELF_WORK_TIMES;

	img->meter->has_allowed_stored = true;
	img->meter->work.left_bytes += ELF_WORK_TIMES * (stored < most ? stored : most);
}

int elf_image_charge(const struct elf_image *img, uint64_t bytes)
{
	if (bytes > img->meter->work.left_bytes && !img->meter->has_allowed_stored)
		allow_stored(img);
	return work_charge(&img->meter->work, bytes);
}

void elf_image_limit(struct elf_image *img, const struct cancel *cancel, uint64_t cpu_ns)
{
	img->meter->work.cancel = cancel;
	if (cpu_ns)
		work_limit_cpu(&img->meter->work, cpu_ns);
}

struct elf_image_pause elf_image_pause(const struct elf_image *img, uint64_t cpu_end_ns)
{
	struct work *w = &img->meter->work;
	struct elf_image_pause p = { clock_ns(CLOCK_THREAD_CPUTIME_ID), w->cpu_end_ns, w->end };

	w->cpu_end_ns = cpu_end_ns;
	return p;
}

void elf_image_resume(const struct elf_image *img, const struct elf_image_pause *p)
{
	struct work *w = &img->meter->work;
	uint64_t took_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - p->began_ns;

	w->cpu_end_ns = p->cpu_end_ns ? p->cpu_end_ns + took_ns : 0;
	if (w->end == WORK_OVER_TIME)
		w->end = p->end;
}

enum work_end elf_image_end(const struct elf_image *img)
{
	return img->meter->work.end;
}

static int pread_all(const struct elf_image *img, void *to, size_t n, uint64_t offset)
{
	uint8_t *at = to;

	while (n) {
		ssize_t got = pread(img->fd, at, n < READ_BYTES ? n : READ_BYTES, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -EBADMSG; /* truncated since it was opened */
		at += got;
		offset += (uint64_t)got;
		n -= (size_t)got;
		if (n && work_look(&img->meter->work) < 0)
			return work_look(&img->meter->work);
	}
	return 0;
}

int elf_image_read(const struct elf_image *img, uint64_t offset, void *to, size_t n)
{
	int r;

	if (offset > img->size || n > img->size - offset)
		return -EBADMSG;
	if (!n)
		return 0;
	r = elf_image_charge(img, n + READ_COST_BYTES);
	if (r < 0)
		return r;
	if (!img->mem)
		return pread_all(img, to, n, offset);
	memcpy(to, img->mem + offset, n);
	return 0;
}

/* 32-bit files of compatibility mode; x32 is not supported. */
static bool is_known_class(const struct elf_image *img, const Elf64_Ehdr *h)
{
	return !img->is_32 || h->e_machine == EM_386 || h->e_machine == EM_ARM;
}

static int read_header(struct elf_image *img, Elf64_Ehdr *ret_header)
{
	unsigned char ident[EI_NIDENT];
	int r;

	if (img->size < sizeof(Elf32_Ehdr))
		return -ENOEXEC;
	r = elf_image_read(img, 0, ident, sizeof(ident));
	if (r < 0)
		return r;
	img->is_32 = ident[EI_CLASS] == ELFCLASS32;
	if (memcmp(ident, ELFMAG, SELFMAG) != 0 || ident[EI_DATA] != ELFDATA2LSB ||
	    (ident[EI_CLASS] != ELFCLASS64 && !img->is_32) ||
	    img->size < elf_class_sizes(img)->ehdr)
		return -ENOEXEC;
	r = elf_class_read_ehdr(img, ret_header);
	return r == 0 && !is_known_class(img, ret_header) ? -ENOEXEC : r;
}

static struct counts read_counts(const struct elf_image *img, const Elf64_Ehdr *h)
{
	struct counts c = { h->e_phnum, h->e_shnum, h->e_shstrndx };
	Elf64_Shdr first;

	if (h->e_shoff == 0 || h->e_shentsize != elf_class_sizes(img)->shdr ||
	    elf_class_read_shdrs(img, h->e_shoff, &first, 1) < 0) {
		c.nr_sections = 0;
		return c;
	}
	if (h->e_phnum == PN_XNUM)
		c.nr_phdrs = first.sh_info;
	if (h->e_shnum == 0)
		c.nr_sections = first.sh_size;
	if (h->e_shstrndx == SHN_XINDEX)
		c.names_at = first.sh_link;
	return c;
}

static int take_segment(struct elf_image *img, const Elf64_Phdr *p, uint64_t *note_budget_bytes)
{
	struct elf_segment s = {
		.vaddr = p->p_vaddr,
		.offset = p->p_offset,
		.filesz = p->p_filesz,
		.memsz = p->p_memsz,
		.flags = p->p_flags,
	};

	if (p->p_type == PT_LOAD)
		img->loads[img->nr_loads++] = s;
	else if (p->p_type == PT_GNU_EH_FRAME && !img->eh_frame_hdr.filesz)
		img->eh_frame_hdr = s;
	else if (p->p_type == PT_NOTE)
		return elf_notes_scan(img, s.offset, s.filesz, p->p_align, note_budget_bytes);
	return 0;
}

static int load_segments(struct elf_image *img, const Elf64_Ehdr *h, uint64_t nr,
			 uint64_t *note_budget_bytes)
{
	_cleanup_(freep) Elf64_Phdr *phdrs = NULL;
	int r = 0;

	if (nr == 0)
		return 0;
	if (h->e_phentsize != elf_class_sizes(img)->phdr || nr > ELF_MAX_PHDRS)
		return -EBADMSG;
	phdrs = calloc(nr, sizeof(*phdrs));
	img->loads = calloc(nr, sizeof(*img->loads));
	if (!phdrs || !img->loads)
		return -ENOMEM;
	r = elf_class_read_phdrs(img, h->e_phoff, phdrs, nr);
	for (uint64_t i = 0; r == 0 && i < nr; i++)
		r = take_segment(img, &phdrs[i], note_budget_bytes);
	return r;
}

static int load_build_id_of_sections(struct elf_image *img, uint64_t *note_budget_bytes)
{
	int r = 0;

	for (size_t i = 0; r == 0 && !img->build_id.len && i < img->nr_sections; i++) {
		const struct elf_section *s = &img->sections[i];

		if (s->type == SHT_NOTE && !(s->flags & SHF_COMPRESSED))
			r = elf_notes_scan(img, s->offset, s->size, 4, note_budget_bytes);
	}
	return r;
}

static int load_headers(struct elf_image *img)
{
	uint64_t note_budget_bytes = ELF_MAX_NOTE_BYTES;
	struct counts c;
	Elf64_Ehdr h;
	int r;

	r = read_header(img, &h);
	if (r < 0)
		return r;
	img->machine = h.e_machine;
	img->entry = h.e_entry;
	c = read_counts(img, &h);
	r = load_segments(img, &h, c.nr_phdrs, &note_budget_bytes);
	if (r < 0)
		return r;
	r = elf_sections_load(img, h.e_shoff, c.nr_sections, c.names_at);
	if (r < 0)
		return r;
	return load_build_id_of_sections(img, &note_budget_bytes);
}

static int open_image(int fd, const void *mem, uint64_t size, struct elf_image **ret_image)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	int r;

	img = calloc(1, sizeof(*img));
	if (!img)
		return -ENOMEM;
	img->fd = fd;
	img->mem = mem;
	img->size = size;
	img->meter = &img->own;
	img->own.work.left_bytes = ELF_WORK_FREE_BYTES;
	r = load_headers(img);
	if (r < 0)
		return r;
	*ret_image = TAKE(img);
	return 0;
}

int elf_image_open_fd(int fd, struct elf_image **ret_image)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	/* A pipe, a device or a directory has no bytes at an offset. */
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	return open_image(fd, NULL, (uint64_t)st.st_size, ret_image);
}

int elf_image_open_mem(const void *bytes, size_t size, struct elf_image **ret_image)
{
	if (!bytes)
		return -ENOEXEC;
	return open_image(-1, bytes, size, ret_image);
}

struct elf_image *elf_image_free(struct elf_image *img)
{
	if (img) {
		free(img->loads);
		free(img->sections);
		free(img->section_names);
		free(img);
	}
	return NULL;
}

uint16_t elf_image_machine(const struct elf_image *img)
{
	return img->machine;
}

bool elf_image_is_32(const struct elf_image *img)
{
	return img->is_32;
}

uint64_t elf_image_entry(const struct elf_image *img)
{
	return img->entry;
}

uint64_t elf_image_size(const struct elf_image *img)
{
	return img->size;
}

const struct elf_segment *elf_image_loads(const struct elf_image *img, size_t *ret_nr)
{
	*ret_nr = img->nr_loads;
	return img->loads;
}

const struct build_id *elf_image_build_id(const struct elf_image *img)
{
	return &img->build_id;
}

static const struct elf_segment *load_at_offset(const struct elf_image *img, uint64_t offset,
						bool executable)
{
	for (size_t i = 0; i < img->nr_loads; i++) {
		const struct elf_segment *s = &img->loads[i];

		if (!!(s->flags & PF_X) == executable && offset >= s->offset &&
		    offset - s->offset < s->filesz)
			return s;
	}
	return NULL;
}

int elf_image_vaddr_of(const struct elf_image *img, uint64_t offset, uint64_t *ret_vaddr)
{
	const struct elf_segment *s = load_at_offset(img, offset, true);

	if (!s)
		s = load_at_offset(img, offset, false);
	if (!s)
		return -ENOENT;
	*ret_vaddr = s->vaddr + (offset - s->offset);
	return 0;
}

int elf_image_offset_of(const struct elf_image *img, uint64_t vaddr, uint64_t *ret_offset)
{
	for (size_t i = 0; i < img->nr_loads; i++) {
		const struct elf_segment *s = &img->loads[i];

		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->filesz) {
			*ret_offset = s->offset + (vaddr - s->vaddr);
			return 0;
		}
	}
	return -ENOENT;
}
