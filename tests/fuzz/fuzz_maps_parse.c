/* SPDX-License-Identifier: Apache-2.0 */
/* The text of /proc/<pid>/maps: whatever it says, entries make sense and nothing is read outside. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proc/procfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bounds {
	const char *text;
	size_t len;
	uint64_t nr_lines;
};

static int check(void *ctx, const struct maps_entry *e)
{
	struct bounds *b = ctx;
	size_t len = strlen(e->path);

	if (e->start >= e->end)
		abort();
	if (len && (e->path < b->text || e->path + len >= b->text + b->len))
		abort();
	b->nr_lines++;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size ? size : 1);
	struct bounds b = { .text = text, .len = size };
	uint64_t nr_bad, nr_newlines = 0;

	if (!text)
		return 0;
	memcpy(text, data, size);
	for (size_t i = 0; i < size; i++)
		nr_newlines += text[i] == '\n';
	if (maps_parse(text, size, check, &b, &nr_bad) != 0)
		abort();
	if (b.nr_lines + nr_bad > nr_newlines + 1 || b.nr_lines + nr_bad < nr_newlines)
		abort();
	free(text);
	return 0;
}
