/* SPDX-License-Identifier: Apache-2.0 */
/* main → alpha → beta → work → hop → jit_outer → jit_leaf: the last two are generated code that
 * keeps no frame pointer, in a program that does. Writes its own perf map. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile unsigned long sink;
static unsigned long (*made)(unsigned long n);

/* sub $24,%rsp; call leaf; add $24,%rsp; ret. leaf: a loop of 2,000,000 turns. */
static const unsigned char code[] = {
	0x48, 0x83, 0xec, 0x18, 0xe8, 0x17, 0x00, 0x00, 0x00, 0x48, 0x83, 0xc4, 0x18, 0xc3, 0x90,
	0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
	0x90, 0x90, 0xb9, 0x80, 0x84, 0x1e, 0x00, 0x48, 0x89, 0xf8, 0x48, 0x6b, 0xc0, 0x1f, 0x48,
	0x01, 0xc8, 0x48, 0xc1, 0xc8, 0x07, 0x48, 0xff, 0xc9, 0x75, 0xf0, 0xc3,
};
enum { LEAF_AT = 32 };

__attribute__((noinline)) static unsigned long hop(unsigned long n)
{
	sink = made(n);
	return sink + 1;
}

__attribute__((noinline)) static unsigned long work(unsigned long n)
{
	sink = hop(n);
	return sink + 2;
}

__attribute__((noinline)) static unsigned long beta(unsigned long n)
{
	sink = work(n);
	return sink + 3;
}

__attribute__((noinline)) static unsigned long alpha(unsigned long n)
{
	sink = beta(n);
	return sink + 4;
}

static int write_map(const void *at)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	FILE *f = fopen(path, "w");
	if (!f)
		return 1;
	fprintf(f, "%lx %x jit_outer\n", (unsigned long)at, LEAF_AT);
	fprintf(f, "%lx %lx jit_leaf\n", (unsigned long)at + LEAF_AT,
		(unsigned long)sizeof(code) - LEAF_AT);
	return fclose(f);
}

int main(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return 1;
	memcpy(at, code, sizeof(code));
	if (mprotect(at, 4096, PROT_READ | PROT_EXEC) || write_map(at))
		return 1;
	made = (unsigned long (*)(unsigned long))at;
	for (;;)
		sink = alpha(sink);
}
