/* SPDX-License-Identifier: Apache-2.0 */
/* The dynamic symbols of an ELF file as it lies in the memory of a process: untrusted, bounded. */
#ifndef INJECT_MEMORY_ELF_H
#define INJECT_MEMORY_ELF_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct memory {
	/* n bytes at addr; 0, or a negative errno */
	int (*read)(void *ctx, uint64_t addr, void *to, size_t n);
	void *ctx;
};

struct memory_elf {
	const struct memory *memory; /* borrowed */
	uint64_t bias;
	uint64_t symbols, strings, buckets, chains;
	uint64_t strings_bytes;
	uint32_t nr_buckets, first_symbol;
	/* where its headers say that its code is: in memory, and in the file; whole pages */
	uint64_t code_addr, code_offset;
};

/* addr: where the first page of the file is mapped. -ENOEXEC: no ELF file, or of another machine;
 * -ENOTSUP: a 32-bit one; -ENOENT: it has no dynamic symbols that can be searched. */
int memory_elf_open(const struct memory *memory, uint64_t addr, struct memory_elf *ret_elf);

/* -ENOENT. */
int memory_elf_find(const struct memory_elf *elf, const char *name, uint64_t *ret_addr,
		    uint64_t *ret_size);

#endif
