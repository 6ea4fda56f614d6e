/* SPDX-License-Identifier: Apache-2.0 */
/* main → alpha → beta → work → spin, for ever; with IN_THREAD, begin → alpha → …; with IN_LIBC, work →
 * memset; with IN_MALLOC, work → malloc and free; with STALE, main → endless → alpha → …, and return addresses of others in the frame of endless.
 * Each function does something after its call, so that none is a tail call. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static volatile unsigned long sink;
static char buffer[4096];

/* Few turns: many samples are where functions begin and end. */
#ifndef TURNS
#define TURNS 2000000
#endif

#ifdef BIG_FRAME
#define FRAME()                                                                                    \
	volatile char frame[BIG_FRAME];                                                            \
	frame[0] = 1
#else
#define FRAME()
#endif

__attribute__((noinline)) static unsigned long spin(unsigned long n)
{
	for (unsigned long i = 0; i < TURNS; i++)
		n = n * 31 + i / (n | 1);
	return n;
}

#ifdef IN_LIBC
/* Through a pointer, or the compiler would make it its own. */
static void *(*volatile fill)(void *, int, size_t) = memset;

__attribute__((noinline)) static unsigned long work(unsigned long n)
{
	for (int i = 0; i < 100000; i++)
		fill(buffer, (int)n, sizeof(buffer));
	sink = spin != NULL;
	return (unsigned long)buffer[n % sizeof(buffer)];
}
#elif defined(IN_MALLOC)
__attribute__((noinline)) static unsigned long work(unsigned long n)
{
	for (size_t i = 0; i < 100000; i++) {
		char *volatile p = malloc(1 + i % 4000);

		*p = (char)n;
		free(p);
	}
	sink = spin != NULL;
	return (unsigned long)buffer[n % sizeof(buffer)];
}
#else
__attribute__((noinline)) static unsigned long work(unsigned long n)
{
	sink = spin(n);
	return sink + (unsigned long)buffer[0];
}
#endif

__attribute__((noinline)) static unsigned long beta(unsigned long n)
{
	sink = work(n);
	return sink + 1;
}

__attribute__((noinline)) static unsigned long alpha(unsigned long n)
{
	FRAME();
	sink = beta(n);
	return sink + 2;
}

#ifdef STALE
/* Calls that are over leave their return addresses where the frame of endless() will be. */
__attribute__((noinline)) static unsigned long leave(unsigned long n)
{
	sink = n ? leave(n - 1) : alpha(n);
	return sink + 3;
}

static void endless(void)
{
	volatile char stale[1024];

	stale[0] = 1;
	for (;;)
		sink = alpha(sink);
}

static void (*volatile next)(void) = endless;
#endif

#ifdef IN_THREAD
static void *begin(void *unused)
{
	for (;;)
		sink = alpha(sink);
	return unused;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, begin, NULL);
	return pthread_join(thread, NULL);
}
#else
int main(void)
{
#ifdef STALE
	sink = leave(60);
	next();
#endif
	for (;;)
		sink = alpha(sink);
}
#endif
