// SPDX-License-Identifier: Apache-2.0
/*
 * in_syscall: is in the kernel most of the time.
 * Truth: the C library, syscall_read or syscall_ask, main.
 */
#include "frames.h"

#include <fcntl.h>

NOINLINE static uint64_t syscall_read(int fd, uint64_t x)
{
	char bytes[4096];
	struct many m = many_from(x);
	ssize_t n = read(fd, bytes, sizeof(bytes));

	return (uint64_t)n + many_sum(m);
}

NOINLINE static uint64_t syscall_ask(uint64_t x)
{
	struct many m = many_from(x);

	return (uint64_t)getppid() + many_sum(m);
}

int main(int argc, char **argv)
{
	int fd = open("/dev/zero", O_RDONLY);
	uint64_t x = (uint64_t)argc;

	prog_stop_after(arg_number(argc, argv, 1, 0));
	prog_say_ready();
	while (!prog_stopped)
		x = syscall_ask(syscall_read(fd, x));
	return x == 0;
}
