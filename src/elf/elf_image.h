/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file as untrusted bytes: headers, segments, sections, build-id. Reads with pread(), never
 * maps: a file that shrinks while it is read causes an error, not a SIGBUS. Little-endian only;
 * ELF32 only for i386 and Arm, for their symbols and debug information. Not for DWARF, not for
 * unwinding.
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
/* Maximum compression ratio. Debug information shrinks to a third, at best to a tenth; a higher
 * ratio is meant to exhaust memory. */
#define ELF_MAX_PACKED_TIMES 32

/*
 * Limit on all reads of one image: this many times its stored size, plus a constant. Holes take no
 * disk space and are not counted. Honest files are read about twice (code, call frame information,
 * symbols), and debug sections again when a cache has dropped them.
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

/* fd is borrowed for the lifetime of the image; its position is not used. -ENOEXEC: not an ELF file
 * of a supported kind; -EBADMSG: malformed beyond use. If only the section headers are malformed,
 * the image has no sections. */
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

/* The link-time address of a file offset, by the PT_LOAD that contains it (executable ones first,
 * since segments may overlap in the file). This is the only place where the two are converted.
 * -ENOENT. */
int elf_image_vaddr_of(const struct elf_image *img, uint64_t offset, uint64_t *ret_vaddr);

/* The inverse, by the first PT_LOAD that contains the address. -ENOENT. */
int elf_image_offset_of(const struct elf_image *img, uint64_t vaddr, uint64_t *ret_offset);

/* From PT_NOTE, else from SHT_NOTE sections. len 0: none. */
const struct build_id *elf_image_build_id(const struct elf_image *img);

/* The build-id in a buffer of notes, such as /sys/kernel/notes; len 0: none. */
void elf_notes_build_id(const void *bytes, size_t n, struct build_id *ret_id);

size_t elf_image_nr_sections(const struct elf_image *img);
const struct elf_section *elf_image_section_at(const struct elf_image *img, size_t i);
const struct elf_section *elf_image_section(const struct elf_image *img,
					    const char *name); /* NULL */

/* ".debug_…" by that name, or the ".zdebug_…" of older tools. NULL: neither, or it is empty. */
const struct elf_section *elf_image_debug_section(const struct elf_image *img, const char *name);

/* How many bytes elf_image_read_section() would return. The same errors, but no limit for an
 * uncompressed section, which can be read in parts. */
int elf_image_section_bytes(const struct elf_image *img, const struct elf_section *s,
			    uint64_t *ret_bytes, bool *ret_is_compressed);

/* Appends the section's bytes, decompressed if necessary. SHT_NOBITS has none. -E2BIG: beyond the
 * buffer's maximum, beyond ELF_MAX_SECTION_BYTES, or an implausible compression ratio; -EBADMSG:
 * the section is malformed or lies outside the file; -EOPNOTSUPP: the compression is neither zlib
 * nor zstd. */
int elf_image_read_section(const struct elf_image *img, const struct elf_section *s,
			   struct buf *to);

/* Makes reads cancellable and limits the CPU time of this thread (0: no limit). cancel is borrowed
 * until the image is freed. */
void elf_image_limit(struct elf_image *img, const struct cancel *cancel, uint64_t cpu_ns);

/* Switches to a separate limit for another purpose: it does not count towards the main limit, and
 * exceeding it does not end other reads. Both are called by the reading thread; not nested. */
struct elf_image_pause {
	uint64_t began_ns, cpu_end_ns;
	enum work_end end;
};
struct elf_image_pause elf_image_pause(const struct elf_image *img, uint64_t cpu_end_ns);
void elf_image_resume(const struct elf_image *img, const struct elf_image_pause *p);

/* Charges work on data that was already read, as if that many bytes were read again. -E2BIG: over
 * the limit, as is every later read; -ECANCELED. */
int elf_image_charge(const struct elf_image *img, uint64_t bytes);

/* Bytes of the file that are not holes. */
uint64_t elf_image_stored_bytes(const struct elf_image *img);

/* Why reads fail, if the bytes themselves are not the reason. */
enum work_end elf_image_end(const struct elf_image *img);

/* n bytes at a file offset; a short read is -EBADMSG. Charged in advance: -E2BIG, -ECANCELED. */
int elf_image_read(const struct elf_image *img, uint64_t offset, void *to, size_t n);

#endif
