// SPDX-License-Identifier: Apache-2.0
/*
 * many_maps NR SECONDS: maps itself NR times, executable and apart from each other, prints "ready", and
 * computes for so long; for as long as it does, it maps one again now and then, as a loader would.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096ul
#define REMAP_NS 10000000

static char *map_all(int fd, unsigned long nr)
{
	char *at = mmap(NULL, 2 * nr * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			-1, 0);

	if (at == MAP_FAILED)
		return NULL;
	for (unsigned long i = 0; i < nr; i++)
		if (mmap(at + 2 * i * PAGE, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
			 fd, 0) == MAP_FAILED)
			return NULL;
	return at;
}

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

int main(int argc, char **argv)
{
	unsigned long nr = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000;
	long long end_ns, next_ns = 0;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *at = nr && fd >= 0 ? map_all(fd, nr) : NULL;

	if (!at) {
		perror("many_maps");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	end_ns = now_ns() + (argc > 2 ? atoll(argv[2]) : 10) * 1000000000ll;
	for (long long now = now_ns(); now < end_ns; now = now_ns()) {
		if (now < next_ns)
			continue;
		next_ns = now + REMAP_NS;
		if (mmap(at + 2 * ((unsigned long)now % nr) * PAGE, PAGE, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
			return 1;
	}
	return 0;
}
