/* SPDX-License-Identifier: Apache-2.0 */
/* main → alpha → beta → work → call_leaf → asm_leaf: the last one is assembly without unwind
 * information, which leaves the frame pointer alone (or, with -DPUSHES, saves two registers first). With
 * -DSTALE it has a frame in which lie return addresses of earlier calls, one of them to itself. */
static volatile unsigned long sink;

unsigned long asm_leaf(unsigned long n);

#ifdef STALE
__attribute__((noinline)) static void decoy(int depth)
{
	volatile char pad[16];

	pad[0] = 0;
	if (depth > 0)
		decoy(depth - 1);
	sink += asm_leaf(0) + (unsigned long)pad[0];
}
#define BEFORE() decoy(4)
#else
#define BEFORE()
#endif

__attribute__((noinline)) static unsigned long call_leaf(unsigned long n)
{
	BEFORE();
	sink = asm_leaf(n | 1);
	return sink + 1;
}

__attribute__((noinline)) static unsigned long work(unsigned long n)
{
	sink = call_leaf(n);
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

int main(void)
{
	for (;;)
		sink = alpha(sink);
}
