/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates a file under a long path, maps it executable, unmaps and unlinks it, again and again:
 * new_files FOLDER same|new COUNT. "new": each at another address. The number of files so far is in
 * the file COUNT.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "prog.h"

static void must(bool condition)
{
	if (!condition) {
		perror("new_files");
		_exit(1);
	}
}

#define NR_FOLDERS 19
#define NAME_BYTES 200
#define FIRST_ADDRESS 0x100000000ull
#define EACH_NS 2000000 /* so that the kernel reports each of them */
#define MAX_LATE_NS (4 * EACH_NS)

static void enter_deep_folder(const char *top)
{
	char name[NAME_BYTES + 1];

	memset(name, 'd', NAME_BYTES);
	name[NAME_BYTES] = '\0';
	must(chdir(top) == 0);
	for (int i = 0; i < NR_FOLDERS; i++) {
		must(mkdir(name, 0755) == 0 || errno == EEXIST);
		must(chdir(name) == 0);
	}
}

static void map_new_file(unsigned long nr, bool at_new_address)
{
	void *hint = at_new_address ? (void *)(uintptr_t)(FIRST_ADDRESS + nr * 8192) : NULL;
	char name[32];
	void *at;
	int fd;

	(void)snprintf(name, sizeof(name), "f%lu", nr);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	must(fd >= 0 && ftruncate(fd, 4096) == 0);
	at = mmap(hint, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	must(at != MAP_FAILED);
	must(close(fd) == 0 && munmap(at, 4096) == 0 && unlink(name) == 0);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Until the next one is due. Where timers are coarse some follow at once, but never many. */
static void wait_for_turn(uint64_t *due_ns)
{
	uint64_t now = now_ns();

	*due_ns += EACH_NS;
	if (*due_ns > now)
		usleep((useconds_t)((*due_ns - now) / 1000));
	else if (now - *due_ns > MAX_LATE_NS)
		*due_ns = now;
}

int main(int argc, char **argv)
{
	uint64_t due_ns = now_ns();
	int count;

	must(argc == 4);
	count = open(argv[3], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	must(count >= 0);
	enter_deep_folder(argv[1]);
	for (unsigned long nr = 1;; nr++) {
		char text[32];

		map_new_file(nr, strcmp(argv[2], "new") == 0);
		(void)snprintf(text, sizeof(text), "%12lu", nr);
		must(pwrite(count, text, strlen(text), 0) > 0);
		wait_for_turn(&due_ns);
	}
}
