// SPDX-License-Identifier: Apache-2.0
/*
 * big_exit MIB: touches that much memory, page by page, and ends without giving any of it back: the
 * kernel takes it down while the process exits, which takes about a fifth of the time.
 */
#include <sys/mman.h>

#include "prog.h"

#define PAGE 4096ul

int main(int argc, char **argv)
{
	size_t bytes = arg_number(argc, argv, 1, 100) << 20;
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return 1;
	(void)madvise(at, bytes, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < bytes; i += PAGE)
		at[i] = 1;
	_exit(0);
}
