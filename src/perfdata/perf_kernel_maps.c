/* SPDX-License-Identifier: Apache-2.0 */
#include "perfdata/perf_kernel_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "perfdata/perf_records.h"

#define FIRST_SYMBOL "_text"
#define LAST_SYMBOL "_etext"
#define LINE_SIZE 4096 /* the line of a module lists all modules that use it */
#define NAME_SIZE 64   /* of module names: the kernel's limit is 56 (MODULE_NAME_LEN) */

/* True if the line is that of the symbol: an address, a letter and the name. There are about
 * 100,000 lines. */
static bool is_symbol(const char *line, const char *name)
{
	size_t n = strlen(line), len = strlen(name);

	return n > len + 1 && line[n - 1] == '\n' && line[n - len - 2] == ' ' &&
	       memcmp(line + n - len - 1, name, len) == 0;
}

/* The range of the kernel's own code; empty if addresses are hidden. */
static void find_kernel(FILE *symbols, uint64_t *ret_start, uint64_t *ret_end)
{
	char line[LINE_SIZE];

	*ret_start = *ret_end = 0;
	while (!*ret_end && fgets(line, sizeof(line), symbols))
		if (is_symbol(line, FIRST_SYMBOL)) {
			*ret_start = strtoull(line, NULL, 16);
			if (!*ret_start)
				return; /* addresses are hidden */
		} else if (is_symbol(line, LAST_SYMBOL)) {
			*ret_end = strtoull(line, NULL, 16);
		}
}

static int put_kernel(struct buf *b, const char *kallsyms_path)
{
	_cleanup_(fclosep) FILE *symbols = fopen(kallsyms_path, "re");
	struct perf_mapping m = { .path = PERF_KERNEL_NAME FIRST_SYMBOL };

	if (!symbols)
		return 0;
	find_kernel(symbols, &m.start, &m.end);
	m.offset = m.start;
	return m.start && m.end > m.start ? perf_put_kernel_mapping(b, &m) : 0;
}

int perf_put_module(struct buf *b, const char *line)
{
	char name[NAME_SIZE], path[NAME_SIZE + 2];
	struct perf_mapping m = { .path = path };
	uint64_t size;

	if (sscanf(line, "%63s %" SCNu64 " %*s %*s %*s %" SCNx64, name, &size, &m.start) != 3 ||
	    !m.start || size > UINT64_MAX - m.start)
		return 0;
	m.end = m.start + size;
	(void)snprintf(path, sizeof(path), "[%s]", name);
	return perf_put_kernel_mapping(b, &m);
}

static int put_modules(struct buf *b, int proc_fd)
{
	_cleanup_(closep) int fd = openat(proc_fd, "modules", O_RDONLY | O_CLOEXEC);
	_cleanup_(fclosep) FILE *modules = fd < 0 ? NULL : fdopen(fd, "r");
	char line[LINE_SIZE];
	int r = 0;

	if (!modules)
		return 0; /* a kernel without modules */
	(void)TAKE_FD(fd);
	while (r == 0 && fgets(line, sizeof(line), modules))
		r = perf_put_module(b, line);
	return r;
}

int perf_put_kernel_maps(struct buf *b, const char *kallsyms_path, int proc_fd)
{
	int r = put_kernel(b, kallsyms_path);

	return r < 0 ? r : put_modules(b, proc_fd);
}
