/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/symbolizer.h"
#include "symbolize/symbolizer_kernel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int open_list(void *ctx, int *ret_fd)
{
	*ret_fd = dup(*(int *)ctx);
	return *ret_fd < 0 ? -EIO : 0;
}

static void resolve(int fd)
{
	static const struct kernel_list list = { 1, "the list", open_list };
	struct kernel_sources src = { .lists = &list, .nr_lists = 1, .ctx = &fd };
	struct kernel_outcome outcome;
	struct symbolizer *s;
	struct symbol_result r;

	if (symbolizer_new_kernel(&src, &s, &outcome) < 0)
		return;
	for (uint64_t i = 0; i < 64; i++)
		if (s->ops->resolve(s, 0xffffffff81000000 + i * 64, &r) == 0 &&
		    !r.frames[0].name[0])
			abort(); /* an address without any name */
	symbolizer_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);

	if (fd < 0)
		return 0;
	if (write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0)
		resolve(fd);
	close(fd);
	return 0;
}
