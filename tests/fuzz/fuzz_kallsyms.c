/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbolize/symbolizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void resolve(const char *path)
{
	struct symbolizer *s;
	struct symbol_result r;
	const char *source;

	if (symbolizer_new_kernel(path, &s, &source) < 0)
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
	char path[64];

	if (fd < 0)
		return 0;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (write(fd, data, size) == (ssize_t)size)
		resolve(path);
	close(fd);
	return 0;
}
