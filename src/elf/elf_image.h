/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file as bytes that nobody promised anything about: headers, segments, sections, build-id.
 * Reads with pread(), never maps: a file that is cut while it is read gives an error, not a SIGBUS.
 * Little-endian only; of ELF32 those of i386 and Arm, for their symbols and debug information. Not for DWARF, not for unwinding.
 */
#ifndef ELF_ELF_IMAGE_H
#define ELF_ELF_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/build_id.h"
#include "base/cleanup.h"
#include "base/work.h"

#define ELF_MAX_PHDRS 4096
#define ELF_MAX_SECTIONS 65536
#define ELF_MAX_SECTION_BYTES (2ull << 30)
/* Debug information shrinks to a third, at best to a tenth. What would grow by more was made to fill
 * memory. */
#define ELF_MAX_PACKED_TIMES 32

/*
 * What all reads of one image may come to, in bytes: so many times what is stored of the file, and
 * some on top. Holes take no room on disk, so they allow nothing. Honest files are read about twice
 * (code for known instructions, call frame information, symbols), and debug sections again when a
 * cache has dropped them.
 */
#define ELF_WORK_TIMES 8
#define ELF_WORK_FREE_BYTES (4u << 20)
#define ELF_WORK_MAX_BYTES (8ull << 30)

struct elf_image;

struct elf_segment {
	uint64_t vaddr, offset, filesz, memsz;
	uint32_t flags; /* PF_X … */
};

struct elf_section {
	const char *name; /* borrowed from the image */
	uint64_t addr, offset, size, entsize;
	uint32_t type, flags, link;
};

/* fd is borrowed during the image's life and its position is not used. -ENOEXEC: no ELF file of
 * these kinds; -EBADMSG: damaged beyond use. Damage in the section headers alone leaves an image
 * without sections. */
int elf_image_open_fd(int fd, struct elf_image **ret_image);

/* bytes are borrowed (the vDSO, tests, fuzzers). */
int elf_image_open_mem(const void *bytes, size_t size, struct elf_image **ret_image);

struct elf_image *elf_image_free(struct elf_image *img);
DEFINE_CLEANUP(struct elf_image *, elf_image_free)

uint16_t elf_image_machine(const struct elf_image *img); /* EM_X86_64 … */
bool elf_image_is_32(const struct elf_image *img);
uint64_t elf_image_entry(const struct elf_image *img);
uint64_t elf_image_size(const struct elf_image *img);

/* PT_LOAD segments in file order. */
const struct elf_segment *elf_image_loads(const struct elf_image *img, size_t *ret_nr);

/* The link-time address of a file offset, by the PT_LOAD that holds it (executable ones first,
 * since segments may overlap in the file). The only place where the two are converted. -ENOENT. */
int elf_image_vaddr_of(const struct elf_image *img, uint64_t offset, uint64_t *ret_vaddr);

/* The way back, by the first PT_LOAD that holds the address. -ENOENT. */
int elf_image_offset_of(const struct elf_image *img, uint64_t vaddr, uint64_t *ret_offset);

/* From PT_NOTE, else from SHT_NOTE sections. len 0: none. */
const struct build_id *elf_image_build_id(const struct elf_image *img);

/* The build-id among notes that lie in memory, as /sys/kernel/notes has them; len 0: none. */
void elf_notes_build_id(const void *bytes, size_t n, struct build_id *ret_id);

size_t elf_image_nr_sections(const struct elf_image *img);
const struct elf_section *elf_image_section_at(const struct elf_image *img, size_t i);
const struct elf_section *elf_image_section(const struct elf_image *img,
					    const char *name); /* NULL */

/* ".debug_…" by that name, or by the ".zdebug_…" of older tools. NULL: neither, or nothing in it. */
const struct elf_section *elf_image_debug_section(const struct elf_image *img, const char *name);

/* How many bytes elf_image_read_section() would give. The same errors, but no limit for what is
 * stored as it is: that can be read in parts. */
int elf_image_section_bytes(const struct elf_image *img, const struct elf_section *s,
			    uint64_t *ret_bytes, bool *ret_is_compressed);

/* Appends the section's bytes, unpacked when it is compressed. SHT_NOBITS gives none. -E2BIG past
 * the buffer's maximum, past ELF_MAX_SECTION_BYTES, or when so many packed bytes cannot honestly
 * hold so much; -EBADMSG when the section is damaged or lies outside the file; -EOPNOTSUPP when
 * the compression is neither zlib nor zstd. */
int elf_image_read_section(const struct elf_image *img, const struct elf_section *s,
			   struct buf *to);

/* Reading may also be cancelled, and take no more CPU time of this thread than that (0: any). cancel
 * is borrowed until the image is freed. */
void elf_image_limit(struct elf_image *img, const struct cancel *cancel, uint64_t cpu_ns);

/* Reading for another purpose, with a limit of its own: it neither takes of the limit that was set, nor
 * does its end end the rest. Both by the thread that reads; not nested. */
struct elf_image_pause {
	uint64_t began_ns, cpu_end_ns;
	enum work_end end;
};
struct elf_image_pause elf_image_pause(const struct elf_image *img, uint64_t cpu_end_ns);
void elf_image_resume(const struct elf_image *img, const struct elf_image_pause *p);

/* Work on what was read, as if so many bytes were read again. -E2BIG: over the limit, as every read
 * is from then on; -ECANCELED. */
int elf_image_charge(const struct elf_image *img, uint64_t bytes);

/* Bytes of the file that are not holes. */
uint64_t elf_image_stored_bytes(const struct elf_image *img);

/* Why reads fail, if that is not because of the bytes themselves. */
enum work_end elf_image_end(const struct elf_image *img);

/* n bytes at a file offset; short is -EBADMSG. Charged before they are read: -E2BIG, -ECANCELED. */
int elf_image_read(const struct elf_image *img, uint64_t offset, void *to, size_t n);

#endif
