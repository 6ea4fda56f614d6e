/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of kernel code, from the first list that shows addresses. */
#ifndef SYMBOLIZE_SYMBOLIZER_KERNEL_H
#define SYMBOLIZE_SYMBOLIZER_KERNEL_H

#include "symbolize/symbolizer.h"

struct kernel_key;
struct kernel_ranges;

/* One way to get the list of the kernel's symbols, in the format of /proc/kallsyms. */
struct kernel_list {
	uint32_t number;  /* stored in the cache; unique to the list */
	const char *name; /* for the report */
	/* Opens the list; the caller closes it. Errors that are distinguished: -ENOENT, -EACCES,
	 * -EOPNOTSUPP (not on this kernel). */
	int (*open)(void *ctx, int *ret_fd);
};

/* Everything is borrowed until the symbolizer is freed. */
struct kernel_sources {
	const struct kernel_list *lists; /* the first list that shows addresses is used */
	uint32_t nr_lists;
	void *ctx;                          /* for open() and read_key() */
	const struct kernel_ranges *ranges; /* code loaded during the capture; NULL: none */
	/* The file that the running kernel was linked into, for lines; NULL: none. */
	const struct elf_image *vmlinux;
	const char *vmlinux_path;          /* for the report */
	const struct cancel *lines_cancel; /* for reading vmlinux; NULL: never cancelled */
	const char *cache_path;            /* for permanent symbols; NULL: no cache */
	/* Reads what the cache depends on. If it fails there is no cache. */
	int (*read_key)(void *ctx, struct kernel_key *ret_key);
};

#define KERNEL_SOURCE_SIZE 512

/* The result. */
struct kernel_outcome {
	/* For the report: the list that is used, or "none: " and why; then the problems with other
	 * lists. */
	char source[KERNEL_SOURCE_SIZE];
	const char
		*list; /* the name of the list that is used; NULL: none; borrowed from the lists */
	bool is_fallback; /* not the first list */
	bool is_cached;
	bool is_denied; /* the first list shows no addresses to this process */
};

/* Appends information about the source. */
void kernel_outcome_add(struct kernel_outcome *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The kernel and its modules. Never fails for lack of a list or of its addresses: it then gives raw
 * names. A module's functions are named "name [module]". Symbols that a cache cannot contain (BPF
 * programs) are looked up in the list, once, when an address needs it. */
int symbolizer_new_kernel(const struct kernel_sources *src, struct symbolizer **ret_symbolizer,
			  struct kernel_outcome *ret_outcome);

#endif
