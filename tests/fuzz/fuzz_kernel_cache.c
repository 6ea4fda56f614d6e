/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of kernel symbols that somebody else has written: with a checksum that may be wrong, and
 * with one that is right. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "symbolize/kernel_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* As kernel_cache.c has them. */
#define HEADER_BYTES 80u
#define NR_AT 64u
#define NAME_BYTES_AT 68u
#define CHECKSUM_AT 72u

static void use(const uint8_t *data, size_t size)
{
	struct kernel_key key = { .boot_id = "01234567-89ab-cdef-0123-456789abcdef" };
	struct ksym_table t;
	uint32_t list;
	int fd = memfd_create("cache", MFD_CLOEXEC);

	ksym_table_init(&t);
	if (fd >= 0 && write(fd, data, size) == (ssize_t)size &&
	    kernel_cache_read(fd, &key, &t, &list) == 0)
		for (uint64_t i = 0; i < 64; i++) {
			uint64_t start = 0, addr = 0xffffffff81000000 + i * 64;
			const char *name = ksym_table_find(&t, addr, &start);

			if (name && (strlen(name) >= size || start > addr))
				abort(); /* not of this file */
		}
	ksym_table_done(&t);
	if (fd >= 0)
		close(fd);
}

/* Past the checksum, where the rest is looked at. */
static void use_sealed(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size);
	uint32_t nr, name_bytes;
	uint64_t sum;

	if (!copy)
		return;
	memcpy(copy, data, size);
	memcpy(&nr, copy + NR_AT, sizeof(nr));
	nr %= size / 16 + 1;
	if (HEADER_BYTES + (size_t)nr * 16 < size) {
		name_bytes = (uint32_t)(size - HEADER_BYTES - (size_t)nr * 16);
		memcpy(copy + NR_AT, &nr, sizeof(nr));
		memcpy(copy + NAME_BYTES_AT, &name_bytes, sizeof(name_bytes));
		memset(copy + CHECKSUM_AT, 0, sizeof(sum));
		sum = hash_mix(hash_mix(hash_bytes(copy, HEADER_BYTES),
					hash_bytes(copy + HEADER_BYTES, (size_t)nr * 16)),
			       hash_bytes(copy + HEADER_BYTES + (size_t)nr * 16, name_bytes));
		memcpy(copy + CHECKSUM_AT, &sum, sizeof(sum));
		use(copy, size);
	}
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	use(data, size);
	if (size > HEADER_BYTES)
		use_sealed(data, size);
	return 0;
}
