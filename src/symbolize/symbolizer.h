/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses in, names out. One symbolizer names the code of one file (or of the kernel); it knows
 * neither processes nor the model. All strings it gives are its own until it is freed.
 */
#ifndef SYMBOLIZE_SYMBOLIZER_H
#define SYMBOLIZE_SYMBOLIZER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/error.h"

/* One function at an address; an inline chain is several, innermost first. */
struct symbol_frame {
	const char *name;        /* demangled where it was mangled */
	const char *system_name; /* as the symbol table has it */
	const char *filename;    /* NULL: not known */
	uint32_t line;           /* 0: not known */
	uint32_t start_line;     /* 0: not known */
};

struct symbol_result {
	const struct symbol_frame *frames; /* at least one */
	uint32_t nr_frames;
	/* The name came from a symbol. Otherwise it is "<file>+0x<start of the FDE>" or "0x…". */
	bool is_named;
	bool is_raw;    /* it is "0x…" */
	bool is_reused; /* it is not named because different code was there in turn */
};

struct symbolizer;

/* Behind every source of names. */
struct symbolizer_ops {
	/* addr is what the source's own addresses are: a link-time address for files, the run-time
	 * address for the kernel. Always gives a result; -ENOMEM is the only failure. The result is
	 * valid until the next call. */
	int (*resolve)(struct symbolizer *s, uint64_t addr, struct symbol_result *ret_result);
	/* The same for code that had been replaced in its place; NULL: none is. */
	int (*resolve_version)(struct symbolizer *s, uint64_t addr, uint64_t version,
			       struct symbol_result *ret_result);
	void (*free)(struct symbolizer *s);
};

struct symbolizer {
	const struct symbolizer_ops *ops;
	/* Why names are missing and what to do about it, for the report; static strings or NULL. */
	const char *missing_why;
	const char *missing_cure;
	/* Why debug information that is there gave no lines, or not all; static string or NULL. */
	const char *lines_why;
	/* What was left out because reading it would cost too much; static string or NULL. */
	const char *limit_why;
};

static inline struct symbolizer *symbolizer_free(struct symbolizer *s)
{
	if (s)
		s->ops->free(s);
	return NULL;
}
DEFINE_CLEANUP(struct symbolizer *, symbolizer_free)

struct elf_image;
struct elf_opener;

/* The files that tell of one piece of code. All are borrowed until the symbolizer is freed. */
struct elf_sources {
	const struct elf_image *image; /* the code itself */
	const struct elf_image *debug; /* its separate debug file; NULL: none */
	/* What .gnu_debugaltlink (dwz) of debug, else of image, leads to, its build-id compared;
	 * NULL: none. */
	const struct elf_image *alt;
	/* For .dwo and .dwp files; NULL: they are not looked for. */
	const struct elf_opener *opener;
	/* Debug information is then not read to its end; NULL: nobody cancels. */
	const struct cancel *cancel;
	uint64_t max_cpu_ns;    /* for debug information; 0: as much as any file */
	uint64_t *lines_cpu_ns; /* what lines have taken is added there, where max_cpu_ns is set;
				 * NULL: nobody asks */
	const char *label;      /* what stands before "+0x…": the file's base name; copied */
};

/* Names, lines and inline chains from DWARF; names from .symtab, .dynsym, .gnu_debugdata and the
 * FDEs where it has none. */
int symbolizer_new_elf(const struct elf_sources *src, struct symbolizer **ret_symbolizer);

/* About how many bytes that symbolizer may come to hold. */
uint64_t symbolizer_elf_cost_bytes(const struct elf_sources *src);

/* Only "0x…" names: for code nothing is known about. why and cure are static strings. */
int symbolizer_new_raw(const char *why, const char *cure, struct symbolizer **ret_symbolizer);
bool symbolizer_is_raw(const struct symbolizer *s);

struct kernel_key;
struct kernel_ranges;

/* One way to get the list of the kernel's symbols, in the format of /proc/kallsyms. */
struct kernel_list {
	uint32_t number;  /* stored in the cache: never another list's */
	const char *name; /* for the report */
	/* A file to read, which is closed then. Errors worth telling apart: -ENOENT, -EACCES,
	 * -EOPNOTSUPP (not on this kernel). */
	int (*open)(void *ctx, int *ret_fd);
};

/* All is borrowed until the symbolizer is freed. */
struct kernel_sources {
	const struct kernel_list *lists; /* the first that tells addresses is used */
	uint32_t nr_lists;
	void *ctx;                          /* for open() and read_key() */
	const struct kernel_ranges *ranges; /* code that came during the capture; NULL: none */
	/* The file that the running kernel was linked into, for lines; NULL: none. */
	const struct elf_image *vmlinux;
	const char *vmlinux_path; /* for the report */
	const char *cache_path;   /* of lasting symbols; NULL: no cache */
	/* What the cache depends on, now. An error: then there is no cache. */
	int (*read_key)(void *ctx, struct kernel_key *ret_key);
};

#define KERNEL_SOURCE_SIZE 512

/* What came of them. */
struct kernel_outcome {
	/* For the report: the list that is used, or "none: " and why; then what went wrong before. */
	char source[KERNEL_SOURCE_SIZE];
	bool is_fallback; /* not the first list */
	bool is_cached;
};

/* Says more about the source. */
void kernel_outcome_add(struct kernel_outcome *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* The kernel and its modules. Never fails for want of a list or of its addresses: it then gives raw
 * names. A module's functions are named "name [module]". What a cache cannot know (BPF programs) is
 * looked up in the list after all, once, when an address needs it. */
int symbolizer_new_kernel(const struct kernel_sources *src, struct symbolizer **ret_symbolizer,
			  struct kernel_outcome *ret_outcome);

struct jit_budget; /* jit_budget.h */

/* What a list is read for. */
enum jit_purpose {
	JIT_FOR_CODE,    /* names of a process's own code */
	JIT_FOR_FILES,   /* names of code that lies in files */
	JIT_FOR_MOMENTS, /* when code was replaced */
};

/* A sampled address of code made at run time. */
struct jit_address {
	uint64_t addr;
	uint64_t time_ns; /* CLOCK_MONOTONIC: of the first sample there */
	/* As jit_versions_at() gave it, for what is told first: then the time does not matter; else 0. */
	uint64_t version;
};

/* What the JIT of one process wrote about its code. */
struct jit_told {
	int map_fd, dump_fd; /* borrowed during the call; -1: none */
	uint64_t until_ns;   /* what is told with a later time does not count */
};

#define JIT_TOLD(map, dump)                                                                        \
	((struct jit_told){ .map_fd = (map), .dump_fd = (dump), .until_ns = UINT64_MAX })

#define JIT_MAX_TOLD 8 /* a process and those that it was forked from */

/* Each is asked for what those before it cannot name. */
struct jit_sources {
	struct jit_told told[JIT_MAX_TOLD];
	uint32_t nr_told;
	struct jit_address *addresses; /* all that will be asked for; sorted by the call */
	uint32_t nr_addresses;
	const struct cancel *cancel; /* borrowed during the call; NULL: nobody cancels */
	struct jit_budget *budget;   /* likewise; NULL: without limits */
	enum jit_purpose purpose;
};

struct jit_counts {
	uint64_t nr_maps;      /* perf maps read */
	uint64_t nr_map_lines; /* in them, of which … */
	uint64_t nr_map_bad_lines;
	uint64_t nr_maps_cut; /* larger than the limit */
	uint64_t nr_dumps;    /* jitdumps read */
	uint64_t nr_dumps_bad;
	uint64_t nr_dump_records; /* of which … */
	uint64_t nr_dump_bad_records;
	uint64_t nr_dump_bad_lines; /* addresses whose line information made no sense */
	uint64_t nr_dumps_cut;      /* larger than the limit */
};

void jit_counts_add(struct jit_counts *to, const struct jit_counts *from);

/* Which of the pieces of code that were at an address in turn was there at a moment. */
struct jit_versions;

/* 0: what was there at the address's own time; else a number that no other piece of code has. */
uint64_t jit_versions_at(const struct jit_versions *v, uint64_t addr);

/* Calls fn for each of the times (sorted, CLOCK_MONOTONIC) by its index, in order; in it
 * jit_versions_at() answers for that time. What it returns below 0 ends it. 0: it was not called,
 * for no address had its code replaced in what the jitdump tells; 1: it was. Sorts the addresses.
 * -ENOMEM; -EBADMSG: not a jitdump; -ECANCELED. */
int jit_versions_each(int dump_fd, struct jit_address *addresses, uint32_t nr_addresses,
		      const uint64_t *times_ns, uint32_t nr_times,
		      int (*fn)(void *ctx, uint32_t i, const struct jit_versions *v), void *ctx,
		      const struct cancel *cancel);

/* Names from perf maps and jitdumps. Of several pieces of code that were at an address in turn, a
 * map's last one counts, and a jitdump's last one before the address's time. Everything is read
 * here; counts are added to. What cannot be understood costs its own names. -ENOMEM, -E2BIG,
 * -ECANCELED. */
int symbolizer_new_jit(const struct jit_sources *src, struct jit_counts *counts,
		       struct symbolizer **ret_symbolizer);

#endif
