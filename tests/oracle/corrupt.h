/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame of the tests with damaged files, PROGRAM CASES FILE…: each file is truncated or has bits
 * flipped, CASES times in all, the same way every time. What is damaged, and what is done with a copy,
 * is the test's own. A hang kills the test.
 */
#ifndef TESTS_ORACLE_CORRUPT_H
#define TESTS_ORACLE_CORRUPT_H

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "tap.h"

#define CORRUPT_MAX_FLIPS 8
#define CORRUPT_CASE_LIMIT_S 10 /* no case takes longer than the whole test should */

/* What was done to a file. */
struct damage {
	size_t size; /* what is left of it */
	size_t nr_flips;
	size_t flips[CORRUPT_MAX_FLIPS]; /* where; what lies past the size does nothing */
	uint8_t masks[CORRUPT_MAX_FLIPS];
};

struct corrupt_file {
	const char *path;
	uint8_t *bytes; /* owned */
	size_t size;
};

struct corrupt_test {
	struct damage (*choose)(void *ctx, uint64_t *state);
	void (*run)(void *ctx, const struct damage *d, uint8_t *copy, uint64_t *state);
};

struct corrupt_counts {
	unsigned long nr_cases;
	uint64_t slowest_ns;
};

static inline uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

static inline uint64_t random_below(uint64_t *state, uint64_t end)
{
	must(end > 0);
	return next_random(state) % end;
}

static inline uint8_t random_bit(uint64_t *state)
{
	return (uint8_t)(1u << random_below(state, 8));
}

static inline void corrupt_load(struct corrupt_file *f, const char *path, size_t max_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	f->path = path;
	must(fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0);
	f->size = (size_t)st.st_size;
	must(f->size <= max_bytes);
	f->bytes = malloc(f->size);
	must(f->bytes && read(fd, f->bytes, f->size) == (ssize_t)f->size);
	close(fd);
}

/* Of exactly its size, so that a sanitizer sees a read past the end. */
static inline uint8_t *damaged_copy(const struct corrupt_file *f, const struct damage *d)
{
	uint8_t *copy = malloc(d->size ? d->size : 1);

	must(copy);
	memcpy(copy, f->bytes, d->size);
	for (size_t i = 0; i < d->nr_flips; i++)
		if (d->flips[i] < d->size)
			copy[d->flips[i]] ^= d->masks[i];
	return copy;
}

/* The part of each file in the cases asked for. */
static inline unsigned long corrupt_nr_cases(int argc, char **argv)
{
	must(argc > 2);
	return strtoul(argv[1], NULL, 10) / (unsigned long)(argc - 2);
}

static inline void corrupt_run(const struct corrupt_file *f, unsigned long nr_cases,
			       const struct corrupt_test *test, void *ctx, struct corrupt_counts *n)
{
	uint64_t state = 1;

	for (unsigned long i = 0; i < nr_cases; i++) {
		struct damage d = test->choose(ctx, &state);
		uint8_t *copy = damaged_copy(f, &d);
		uint64_t began = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

		alarm(CORRUPT_CASE_LIMIT_S);
		test->run(ctx, &d, copy, &state);
		began = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began;
		if (began > n->slowest_ns)
			n->slowest_ns = began;
		n->nr_cases++;
		free(copy);
	}
	alarm(0);
}

#endif
