/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec_setuid FILE MILLISECONDS PROGRAM: looks like CPython for a while, and then executes PROGRAM, a
 * copy of itself that root owns and that has the set-user-ID bit. The copy waits; it never calls
 * secret(), which says who ran it. The code with which a tracer would make system calls in the first
 * program lies where the second one has secret().
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "call_code.h"
#include "fake_python.h"

#define PAGE_BYTES 4096

FAKE_RUNTIME _PyRuntime = { .initialized = 1 };

/* At the beginning of a page that holds nothing else: see the section's address. */
__attribute__((noinline, used, section("secret_code"), aligned(PAGE_BYTES))) static void secret(
	void)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "secret() ran with effective user %d\n",
			 (int)geteuid());

	if (n > 0 && write(STDOUT_FILENO, text, (size_t)n) < 0)
		_exit(8);
	_exit(7);
}

/* A file named as the C library is, because that is searched first. */
static int lay_trap(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	char page[PAGE_BYTES] = { 0 };

	memcpy(page, call_code, sizeof(call_code));
	if (fd < 0 || write(fd, page, sizeof(page)) != (ssize_t)sizeof(page))
		return -1;
	return mmap((void *)(uintptr_t)secret, PAGE_BYTES, PROT_READ | PROT_EXEC,
		    MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED
		       ? -1
		       : 0;
}

int main(int argc, char **argv)
{
	struct epoll_event event;
	char c;

	if (geteuid() != getuid())
		return read(STDIN_FILENO, &c, 1) < 0;
	if (argc != 4 || lay_trap(argv[1]) < 0)
		return 2;
	/* it cannot be restarted, so a tracer leaves this thread alone */
	(void)epoll_wait(epoll_create1(0), &event, 1, atoi(argv[2]));
	execl(argv[3], argv[3], (char *)NULL);
	return 3;
}
