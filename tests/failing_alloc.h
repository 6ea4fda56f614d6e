/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocation of our own objects, counted, and one of them refused on demand. The linker
 * (--wrap) sends their calls here; what shared libraries allocate is theirs.
 */
#ifndef TESTS_FAILING_ALLOC_H
#define TESTS_FAILING_ALLOC_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long nr_allocations; /* since it was set to 0 */
static unsigned long fail_at;        /* the one that fails; 0: none */
static long nr_live;                 /* blocks that were not freed */

void *__real_malloc(size_t size);
void *__real_calloc(size_t nr, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_reallocarray(void *p, size_t nr, size_t size);
char *__real_strdup(const char *s);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t nr, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_reallocarray(void *p, size_t nr, size_t size);
char *__wrap_strdup(const char *s);
void __wrap_free(void *p);

char *__real_strndup(const char *s, size_t n);
char *__wrap_strndup(const char *s, size_t n);
int __wrap_asprintf(char **to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int __wrap___asprintf_chk(char **to, int flag, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Of how many allocations one is made to fail. valgrind and the sanitizers slow every run down ten
 * times or more: where ./check uses them, a sample has to do, since the plain build tries them all.
 */
static inline unsigned long failing_alloc_step(void)
{
	return getenv("PERFAGENT_TEST_QUICK") ? 13 : 1;
}

static bool fails(void)
{
	return ++nr_allocations == fail_at;
}

static void *counted(void *p)
{
	nr_live += p != NULL;
	return p;
}

/* A block that grew is the same block; one that was new is one more. */
static void *grown(void *before, void *after)
{
	nr_live += !before && after;
	return after;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t nr, size_t size)
{
	return fails() ? NULL : counted(__real_calloc(nr, size));
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : grown(p, __real_realloc(p, size));
}

void *__wrap_reallocarray(void *p, size_t nr, size_t size)
{
	return fails() ? NULL : grown(p, __real_reallocarray(p, nr, size));
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : counted(__real_strdup(s));
}

char *__wrap_strndup(const char *s, size_t n)
{
	return fails() ? NULL : counted(__real_strndup(s, n));
}

__attribute__((format(printf, 2, 0))) static int counted_vasprintf(char **to, const char *fmt,
								   va_list ap)
{
	int n = fails() ? -1 : vasprintf(to, fmt, ap);

	nr_live += n >= 0;
	return n;
}

int __wrap_asprintf(char **to, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = counted_vasprintf(to, fmt, ap);
	va_end(ap);
	return n;
}

/* What asprintf() is with _FORTIFY_SOURCE, which packages are built with. */
int __wrap___asprintf_chk(char **to, int flag, const char *fmt, ...)
{
	va_list ap;
	int n;

	(void)flag;
	va_start(ap, fmt);
	n = counted_vasprintf(to, fmt, ap);
	va_end(ap);
	return n;
}

void __wrap_free(void *p)
{
	nr_live -= p != NULL;
	__real_free(p);
}

#endif
