/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endless_call FILE: looks like CPython. Its threads wait so that they are left alone, until the code with
 * which a tracer makes system calls, which lies in FILE, has become an endless loop.
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "call_code.h"
#include "fake_python.h"

#define PAGE_BYTES 4096
#define NR_THREADS 8
#define FOUND_MS 400

FAKE_RUNTIME _PyRuntime = { .initialized = 1 };

static void wait_for_ms(int ms)
{
	struct epoll_event event;

	(void)epoll_wait(epoll_create1(0), &event, 1, ms);
}

static void *wait_for_tracer(void *unused)
{
	(void)unused;
	wait_for_ms(FOUND_MS * 2);
	while (pause() < 0)
		;
	return NULL;
}

int main(int argc, char **argv)
{
	int fd = argc == 2 ? open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600) : -1;
	char code[PAGE_BYTES] = { 0 };
	unsigned char *at;
	pthread_t thread;

	memcpy(code, call_code, sizeof(call_code));
	if (fd < 0 || write(fd, code, sizeof(code)) != (ssize_t)sizeof(code))
		return 2;
	/* lower than all libraries, so that it is found first */
	at = mmap((void *)0x10000000, PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		  MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0);
	if (at == MAP_FAILED)
		return 3;
	for (int i = 0; i < NR_THREADS; i++)
		(void)pthread_create(&thread, NULL, wait_for_tracer, NULL);
	wait_for_ms(FOUND_MS);
	memcpy(at, endless_code, sizeof(endless_code));
	__builtin___clear_cache((char *)at, (char *)at + sizeof(endless_code));
	return wait_for_tracer(NULL) != NULL;
}
