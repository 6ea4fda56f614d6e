/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signal return trampolines. The kernel puts the address of these instructions on the stack as the
 * return address of a signal handler, which has no caller. glibc has CFI for them that begins one
 * byte early, as the lookup of the byte before a return address requires; Go and musl have none
 * that fits. The instructions are a system call, which has only one form, so only files that make
 * system calls themselves are searched.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "elf/elf_image.h"
#include "unwind/known_code_internal.h"

#define CHUNK_BYTES 16384
#define MAX_CODE_BYTES 16 /* length of a trampoline and the code after it */
#define MAX_DYNAMIC_ENTRIES 1024
#define MAX_TRAMPOLINES 64 /* per file; normal files have one or two */

struct pattern {
	uint16_t machine;
	uint8_t size;
	uint8_t bytes[9];
};

/* rt_sigreturn is system call 15 of x86-64 and 139 of AArch64. */
static const struct pattern trampolines[] = {
	{ EM_X86_64,
	  9,
	  { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 } },   /* mov $15, %rax; syscall */
	{ EM_X86_64, 7, { 0xb8, 15, 0, 0, 0, 0x0f, 0x05 } }, /* mov $15, %eax; syscall */
	{ EM_AARCH64, 8, { 0x68, 0x11, 0x80, 0xd2, 0x01, 0, 0, 0xd4 } }, /* mov x8, #139; svc #0 */
};

/* What follows code that does not fall through: traps and padding. */
static const struct pattern fillings[] = {
	{ EM_X86_64, 1, { 0xcc } },             /* int3 */
	{ EM_X86_64, 2, { 0xcd, 0x03 } },       /* int $3, as Go writes it */
	{ EM_X86_64, 1, { 0xf4 } },             /* hlt */
	{ EM_X86_64, 2, { 0x0f, 0x0b } },       /* ud2 */
	{ EM_X86_64, 1, { 0x90 } },             /* nop, and its longer forms */
	{ EM_X86_64, 2, { 0x66, 0x90 } },       /**/
	{ EM_X86_64, 2, { 0x0f, 0x1f } },       /**/
	{ EM_X86_64, 3, { 0x66, 0x0f, 0x1f } }, /**/
	{ EM_X86_64, 2, { 0x66, 0x2e } },       /**/
	{ EM_X86_64, 2, { 0x66, 0x66 } },       /**/
	{ EM_X86_64, 2, { 0, 0 } },
	{ EM_AARCH64, 4, { 0x1f, 0x20, 0x03, 0xd5 } }, /* nop */
	{ EM_AARCH64, 4, { 0, 0, 0, 0 } },             /* udf #0 */
};

#define NR(array) (sizeof(array) / sizeof((array)[0]))

/* A file with needed libraries makes its system calls there. */
static bool has_needed(const struct elf_image *img)
{
	Elf64_Dyn entries[16];

	for (size_t i = 0; i < elf_image_nr_sections(img); i++) {
		const struct elf_section *s = elf_image_section_at(img, i);
		uint64_t nr = s->size / sizeof(entries[0]);

		if (s->type != SHT_DYNAMIC)
			continue;
		for (uint64_t at = 0; at < nr && at < MAX_DYNAMIC_ENTRIES; at += NR(entries)) {
			uint64_t n = nr - at < NR(entries) ? nr - at : NR(entries);

			if (elf_image_read(img, s->offset + at * sizeof(entries[0]), entries,
					   n * sizeof(entries[0])) < 0)
				return false;
			for (uint64_t k = 0; k < n; k++)
				if (entries[k].d_tag == DT_NEEDED)
					return true;
		}
	}
	return false;
}

static bool is_filling(uint16_t machine, const uint8_t *at, size_t size)
{
	for (size_t i = 0; i < NR(fillings); i++)
		if (fillings[i].machine == machine && fillings[i].size <= size &&
		    memcmp(at, fillings[i].bytes, fillings[i].size) == 0)
			return true;
	return size == 0;
}

/*
 * Adds a range from the byte before the trampoline, where a return address is looked up, to the
 * byte after it, which is the pc during the system call (unless that byte belongs to the next
 * function).
 */
static int add_trampoline(struct known_code *k, const struct pattern *p, uint64_t addr,
			  const uint8_t *behind, size_t nr_behind)
{
	uint64_t end = addr + p->size + is_filling(p->machine, behind, nr_behind);

	return known_code_add(k, addr - 1, end, PA_CFA_SIGNAL | PA_RULE_SIGNAL);
}

/* bytes are at addr; anything that begins in the last MAX_CODE_BYTES belongs to the next chunk. */
static int scan_chunk(struct known_code *k, const struct pattern *p, uint64_t addr,
		      const uint8_t *bytes, size_t size)
{
	const uint8_t *at = bytes, *end = bytes + size;
	int r = 0;

	while (r == 0 && (at = memmem(at, (size_t)(end - at), p->bytes, p->size))) {
		const uint8_t *behind = at + p->size;

		if (at - bytes < CHUNK_BYTES && k->nr < MAX_TRAMPOLINES)
			r = add_trampoline(k, p, addr + (uint64_t)(at - bytes), behind,
					   (size_t)(end - behind));
		at++;
	}
	return r;
}

static int scan_segment(struct known_code *k, const struct elf_image *img,
			const struct elf_segment *s, uint64_t *budget_bytes)
{
	uint8_t bytes[CHUNK_BYTES + MAX_CODE_BYTES];
	uint16_t machine = elf_image_machine(img);
	int r = 0;

	for (uint64_t at = 0; at < s->filesz && *budget_bytes >= CHUNK_BYTES; at += CHUNK_BYTES) {
		uint64_t size = s->filesz - at < sizeof(bytes) ? s->filesz - at : sizeof(bytes);

		*budget_bytes -= CHUNK_BYTES;
		if (elf_image_read(img, s->offset + at, bytes, size) < 0)
			return 0;
		for (size_t i = 0; r == 0 && i < NR(trampolines); i++)
			if (trampolines[i].machine == machine)
				r = scan_chunk(k, &trampolines[i], s->vaddr + at, bytes, size);
		if (r < 0)
			return r;
	}
	return 0;
}

int signal_code_find(const struct elf_image *img, struct known_code *k)
{
	uint64_t budget_bytes = KNOWN_CODE_MAX_SCAN_BYTES;
	const struct elf_segment *loads;
	size_t nr;
	int r = 0;

	if (has_needed(img) && !go_code_is_in(img))
		return 0;
	loads = elf_image_loads(img, &nr);
	for (size_t i = 0; r == 0 && i < nr; i++)
		if (loads[i].flags & PF_X)
			r = scan_segment(k, img, &loads[i], &budget_bytes);
	return r;
}
