// SPDX-License-Identifier: Apache-2.0
/*
 * worlds spin|tell [SECONDS]: on the CPU until SECONDS have passed (0: for ever) or SIGTERM comes.
 * `spin`: every sample is main → top → middle → leaf. `tell` spends half of its time in code that it
 * makes at run time, and claims in /tmp/perf-<pid>.map that leaf, which is in this file, is called
 * FORGED. Compiled with other options by test_worlds.py, with LEAF as leaf's name.
 */
#include <sys/mman.h>

#include "prog.h"

#ifndef LEAF
#define LEAF leaf
#endif
#ifndef ROOM
#define ROOM 8 /* words on the stack of each function: a forged debug file has others */
#endif

#define STEPS 100000

static volatile uint64_t sink;

NOINLINE static uint64_t LEAF(uint64_t x)
{
	volatile uint64_t room[ROOM] = { x };

	room[x % ROOM] = burn_steps(x, STEPS);
	return room[0] + room[x % ROOM];
}

NOINLINE static uint64_t middle(uint64_t x)
{
	volatile uint64_t room[2 * ROOM] = { x };

	room[x % ROOM] = LEAF(x);
	return room[x % ROOM];
}

NOINLINE static uint64_t top(uint64_t x)
{
	volatile uint64_t room[3 * ROOM] = { x };

	room[x % ROOM] = middle(x);
	return room[x % ROOM];
}

#if defined(__x86_64__)
/* mov $300000,%ecx; 1: dec %ecx; jnz 1b; ret */
static const unsigned char loop[] = { 0xb9, 0xe0, 0x93, 0x04, 0x00, 0xff, 0xc9, 0x75, 0xfc, 0xc3 };
#elif defined(__aarch64__)
/* movz, movk w1, 300000; 1: subs w1,w1,1; b.ne 1b; ret */
static const uint32_t loop[] = { 0x52927c01, 0x72a00081, 0x71000421, 0x54ffffe1, 0xd65f03c0 };
#endif

typedef void (*made_fn)(void);

static made_fn make_code(void)
{
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	f = fopen(path, "we");
	if (code == MAP_FAILED || !f)
		exit(2);
	memcpy(code, loop, sizeof(loop));
	__builtin___clear_cache((char *)code, (char *)code + sizeof(loop));
	fprintf(f, "%lx %lx made\n", (unsigned long)code, sizeof(loop));
	fprintf(f, "%lx 20 FORGED\n", (unsigned long)&LEAF);
	fprintf(f, "%lx 200 FORGED\n", (unsigned long)&LEAF + 0x20);
	fclose(f);
	return (made_fn)(uintptr_t)code;
}

int main(int argc, char **argv)
{
	made_fn made = NULL;

	if (argc < 2)
		return 2;
	if (strcmp(argv[1], "tell") == 0)
		made = make_code();
	prog_stop_after(arg_number(argc, argv, 2, 0));
	prog_say_ready();
	while (!prog_stopped) {
		sink = top(sink);
		if (made)
			made();
	}
	return 0;
}
