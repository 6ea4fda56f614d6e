/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks like CPython. As soon as the thread that waits in pause() is stopped by a tracer, its stack becomes a
 * part of the program's own file that nobody has read: whoever writes to it then waits for the file system
 * that the program is on.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FAKE_QUEUE
#include "fake_python.h"

#define FAR_BYTES (2 << 20)
#define NEAR_BYTES (256 << 10)
#define STACK_BYTES (1u << 20)
#define STACK ((void *)0x20000000000)

FAKE_RUNTIME _PyRuntime = { .initialized = 1 };

/* Full, in case the stack was not replaced in time: then it is tried again. */
EXPORTED int _PyEval_AddPendingCall(void);
int _PyEval_AddPendingCall(void)
{
	return -1;
}

/* In the file, page after page. */
EXPORTED char far_away[FAR_BYTES] = { 1 };

static volatile pid_t waiting;

static void *wait_in_pause(void *unused)
{
	(void)unused;
	waiting = (pid_t)syscall(SYS_gettid);
	while (pause() < 0)
		;
	return NULL;
}

static int is_stopped(const char *path)
{
	char text[512] = "";
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	return n > 0 && strstr(text, "State:\tt") != NULL;
}

/* In a call that a tracer leaves alone. */
static void nap(int ms)
{
	struct epoll_event event;
	int fd = epoll_create1(0);

	(void)epoll_wait(fd, &event, 1, ms);
	close(fd);
}

static void *replace_stack(void *file)
{
	int fd = *(int *)file;
	char path[64];

	while (!waiting)
		nap(1);
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", waiting);
	while (!is_stopped(path))
		usleep(10);
	mmap(STACK, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd,
	     FAR_BYTES / 2);
	nap(1000000);
	return NULL;
}

/* All else in the file is in memory, so that it can be looked at. */
static void read_all_else(int fd)
{
	char page[4096];

	for (off_t at = 0; pread(fd, page, sizeof(page), at) > 0; at += (off_t)sizeof(page))
		if (at >= NEAR_BYTES && at < FAR_BYTES)
			at = FAR_BYTES;
}

int main(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	pthread_attr_t attr;
	pthread_t thread;

	if (fd < 0 || mmap(STACK, STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_FIXED_NOREPLACE | MAP_ANONYMOUS, -1, 0) != STACK)
		return 1;
	read_all_else(fd);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, STACK, STACK_BYTES);
	if (pthread_create(&thread, &attr, wait_in_pause, NULL) ||
	    pthread_create(&thread, NULL, replace_stack, &fd))
		return 1;
	nap(1000000);
	return 0;
}
