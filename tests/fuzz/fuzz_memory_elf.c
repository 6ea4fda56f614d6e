/* SPDX-License-Identifier: Apache-2.0 */
/* The input is the memory of a process, from address 0x10000 on: an ELF file with dynamic symbols. */
#include <errno.h>
#include <string.h>

#include "inject/memory_elf.h"

#define BASE 0x10000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *bytes;
	size_t size;
};

static int read_input(void *ctx, uint64_t addr, void *to, size_t n)
{
	const struct input *in = ctx;

	if (addr < BASE || addr - BASE > in->size || n > in->size - (addr - BASE))
		return -EFAULT;
	memcpy(to, in->bytes + (addr - BASE), n);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	const struct memory memory = { read_input, &in };
	struct memory_elf e;
	uint64_t addr, bytes;

	if (memory_elf_open(&memory, BASE, &e) == 0) {
		(void)memory_elf_find(&e, "Py_Version", &addr, &bytes);
		(void)memory_elf_find(&e, "a", &addr, &bytes);
	}
	return 0;
}
