/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over the files of a folder, each also truncated and with bits flipped, so that
 * every test run walks the error paths a little. The mutations are the same every time. */
#include <dirent.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "tap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MUTATIONS 64
#define INPUT_MAX_BYTES (4u << 20)

static uint32_t next_random(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

/* A copy of exactly the input's size, so that a sanitizer sees a read past its end. */
static void feed(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	must(copy);
	memcpy(copy, data, size);
	(void)LLVMFuzzerTestOneInput(copy, size); /* returns 0 by convention */
	free(copy);
}

static void feed_mutations(uint8_t *data, size_t size)
{
	uint32_t state = 1;

	for (int i = 0; i < MUTATIONS && size; i++) {
		size_t at = next_random(&state) % size;
		uint8_t bit = (uint8_t)(1u << (next_random(&state) % 8));

		feed(data, at);
		data[at] ^= bit;
		feed(data, size);
		data[at] ^= bit;
	}
}

static size_t read_file(const char *path, uint8_t *to)
{
	FILE *f = fopen(path, "rb");
	size_t n;

	must(f);
	n = fread(to, 1, INPUT_MAX_BYTES, f);
	fclose(f);
	return n;
}

int main(int argc, char **argv)
{
	uint8_t *data = malloc(INPUT_MAX_BYTES);
	DIR *dir;

	must(argc == 2 && data);
	dir = opendir(argv[1]);
	must(dir);
	for (struct dirent *e; (e = readdir(dir));) {
		char path[4096];
		size_t n;

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", argv[1], e->d_name);
		n = read_file(path, data);
		feed(data, n);
		feed_mutations(data, n);
		ok(true, "%s", e->d_name);
	}
	closedir(dir);
	free(data);
	must(tap_nr > 0);
	return tap_done();
}
