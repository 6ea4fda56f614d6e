/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of kernel code: which list they come from, and when it is read at all. */
#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#include "symbolize/kallsyms.h"
#include "symbolize/kernel_cache.h"
#include "symbolize/kernel_ranges.h"
#include "symbolize/symbolize_internal.h"
#include "symbolize/symbolizer_kernel.h"
#include "symbolize/vmlinux_offset.h"

#define NO_LIST UINT32_MAX

struct kernel_symbolizer {
	struct symbolizer base; /* first: shares its address */
	struct kernel_sources src;
	struct kernel_symbols syms;
	bool is_cached; /* transient symbols of the list are unknown */
	uint32_t list;  /* the list of the symbols */
	const char
		*why[2]; /* why a list cannot be used, of the first two; static, NULL: not tried */
	enum symbol_why hidden;   /* why no list is usable, if something can be done about it */
	struct symbolizer *lines; /* owned: of vmlinux; NULL: there is none */
	uint64_t lines_offset;    /* the KASLR offset relative to the file */
	struct answer answer;
};

static const char *why_unreadable(int r)
{
	switch (r) {
	case -ENOENT:
		return "there is none; mount /proc, or use a kernel with CONFIG_KALLSYMS";
	case -EACCES:
	case -EPERM:
		return "it may not be read";
	case -EOPNOTSUPP:
		return "this kernel has none";
	default:
		return "reading it failed";
	}
}

/* Why a list is unusable, or NULL if it is usable. r: the result of reading it. */
static const char *why_useless(struct kernel_symbolizer *k, const struct kernel_symbols *syms,
			       int r)
{
	enum symbol_why hidden = WHY_KERNEL_HIDDEN;
	const char *why = NULL;

	if (r < 0) {
		why = why_unreadable(r);
		if (r == -EACCES || r == -EPERM)
			hidden = WHY_KERNEL_NOT_READABLE;
	} else if (!syms->lasting.nr && syms->nr_zeroes) {
		why = "it shows zeroes (kptr_restrict, or CAP_SYSLOG is missing)";
		hidden = WHY_KERNEL_ZEROES;
	} else if (!syms->lasting.nr) {
		why = "it lists no functions";
	}
	if (k->hidden == WHY_KERNEL_HIDDEN)
		k->hidden = hidden;
	return why;
}

/* Reads one list; 1 if it is usable. */
static int read_list(struct kernel_symbolizer *k, uint32_t list, struct kernel_symbols *to)
{
	int fd, r = k->src.lists[list].open(k->src.ctx, &fd);
	const char *why;

	if (r == 0) {
		r = kallsyms_read(fd, to);
		close(fd);
	}
	if (r == -ENOMEM)
		return r;
	why = why_useless(k, to, r);
	if (!why)
		return 1;
	if (list < 2)
		k->why[list] = why;
	kernel_symbols_done(to);
	kernel_symbols_init(to);
	return 0;
}

/* Tries the list that was usable before, then all in order; 1 if one is usable. */
static int read_lists(struct kernel_symbolizer *k, uint32_t first, struct kernel_symbols *to)
{
	int r = 0;

	if (first < k->src.nr_lists) {
		r = read_list(k, first, to);
		k->list = first;
	}
	for (uint32_t i = 0; i < k->src.nr_lists && r == 0; i++) {
		if (i == first)
			continue;
		r = read_list(k, i, to);
		k->list = i;
	}
	return r;
}

/* The index of a list by its number, or NO_LIST. */
static uint32_t list_of_number(const struct kernel_symbolizer *k, uint32_t number)
{
	for (uint32_t i = 0; i < k->src.nr_lists; i++)
		if (k->src.lists[i].number == number)
			return i;
	return NO_LIST;
}

/* 1: the cache is valid; otherwise *ret_first is the list to try first. The cached symbols of a
 * list are not used if that list must not be used now. */
static int load_cache(struct kernel_symbolizer *k, const struct kernel_key *key,
		      uint32_t *ret_first)
{
	uint32_t number = 0;
	int r = kernel_cache_load(k->src.cache_path, key, &k->syms.lasting, &number);

	if (r == -ENOMEM)
		return r;
	if (r == 0 || r == -ESTALE)
		*ret_first = list_of_number(k, number);
	if (r < 0)
		return 0;
	if (*ret_first == NO_LIST) {
		ksym_table_done(&k->syms.lasting);
		return 0;
	}
	k->list = *ret_first;
	k->is_cached = true;
	return 1;
}

/* Only a key that is the same before and after reading the list is known to be valid. */
static void store_cache(struct kernel_symbolizer *k, const struct kernel_key *key,
			struct pa_error *err)
{
	struct kernel_key now = { 0 };

	if (k->src.read_key(k->src.ctx, &now) == 0 && memcmp(&now, key, sizeof(now)) == 0)
		(void)kernel_cache_store(k->src.cache_path, key, &k->syms.lasting,
					 k->src.lists[k->list].number,
					 err); /* the reason is in err */
}

/* 1: there are symbols; 0: no list has any. */
static int load_symbols(struct kernel_symbolizer *k, struct pa_error *err)
{
	struct kernel_key key = { 0 };
	bool has_key = k->src.cache_path && k->src.read_key(k->src.ctx, &key) == 0;
	uint32_t first = NO_LIST;
	int r = has_key ? load_cache(k, &key, &first) : 0;

	if (r != 0)
		return r;
	r = read_lists(k, first, &k->syms);
	if (r > 0 && has_key)
		store_cache(k, &key, err);
	return r;
}

/* Opens vmlinux; a file that does not match the running kernel is ignored. */
static int open_lines(struct kernel_symbolizer *k)
{
	struct elf_sources src = { .image = k->src.vmlinux,
				   .cancel = k->src.lines_cancel,
				   .label = "vmlinux" };
	int r;

	if (!src.image)
		return 0;
	if (cancel_is_asked(src.cancel)) {
		k->base.lines = WHY_LINES_CANCELLED;
		return 0;
	}
	r = vmlinux_offset(src.image, &k->syms.lasting, &k->lines_offset);
	if (r == 0)
		r = symbolizer_new_elf(&src, &k->lines);
	return r == -ENOMEM ? r : 0;
}

/* Reads the transient symbols, for an address that is not in the cache. */
static int read_passing(struct kernel_symbolizer *k)
{
	struct kernel_symbols now;
	uint32_t list = k->list;
	int r;

	k->is_cached = false; /* only once */
	kernel_symbols_init(&now);
	r = read_lists(k, list, &now);
	k->list = list;
	if (r > 0) {
		k->syms.passing = now.passing;
		ksym_table_init(&now.passing);
	}
	kernel_symbols_done(&now);
	return r < 0 ? r : 0;
}

/* True if the kernel reported code there; *ret_name is NULL if there were several pieces of
 * code. */
static bool find_reported(const struct kernel_symbolizer *k, uint64_t addr, const char **ret_name)
{
	return k->src.ranges && kernel_ranges_find(k->src.ranges, addr, ret_name);
}

/* Of the two symbols that begin before addr, the nearer one. */
static const char *find_listed(const struct kernel_symbolizer *k, uint64_t addr)
{
	uint64_t lasting_at = 0, passing_at = 0;
	const char *lasting, *passing;

	lasting = ksym_table_find(&k->syms.lasting, addr, &lasting_at);
	passing = ksym_table_find(&k->syms.passing, addr, &passing_at);
	if (!lasting || (passing && passing_at > lasting_at))
		return passing;
	return lasting;
}

/* Finds the name; reads symbols that are not in the cache if they could change it. */
static int find_kernel_name(struct kernel_symbolizer *k, uint64_t addr, const char **ret_name)
{
	int r = 0;

	if (k->is_cached && !ksym_table_is_sure(&k->syms.lasting, addr))
		r = read_passing(k);
	if (r == 0)
		*ret_name = find_listed(k, addr);
	return r;
}

/* Two programs used the same address: a name would be wrong for one of them. */
static int answer_reused(struct kernel_symbolizer *k, uint64_t addr,
			 struct symbol_result *ret_result)
{
	int r = answer_raw(&k->answer, NULL, addr, ret_result);

	k->base.missing = WHY_KERNEL_REUSED;
	if (r == 0)
		ret_result->is_reused = true;
	return r;
}

/* 1 if vmlinux has the line; it does not contain modules. */
static int find_line(struct kernel_symbolizer *k, uint64_t addr, const char *name,
		     struct symbol_result *ret_result)
{
	struct symbol_result res;
	int r;

	if (!k->lines || strchr(name, ' '))
		return 0;
	r = k->lines->ops->resolve(k->lines, addr - k->lines_offset, &res);
	k->base.lines = k->lines->lines;
	if (r < 0)
		return r;
	if (!res.is_named || !res.frames[0].line)
		return 0;
	*ret_result = res;
	return 1;
}

static int kernel_resolve(struct symbolizer *s, uint64_t addr, struct symbol_result *ret_result)
{
	struct kernel_symbolizer *k = (struct kernel_symbolizer *)s;
	const char *name = NULL;
	bool is_reported = find_reported(k, addr, &name);
	int r = is_reported ? 0 : find_kernel_name(k, addr, &name);

	if (r < 0)
		return r;
	if (is_reported && !name)
		return answer_reused(k, addr, ret_result);
	if (!name)
		return answer_raw(&k->answer, NULL, addr, ret_result);
	r = find_line(k, addr, name, ret_result);
	if (r != 0)
		return r < 0 ? r : 0;
	return answer_named(&k->answer, name, strcspn(name, " "), ret_result);
}

static void kernel_free(struct symbolizer *s)
{
	struct kernel_symbolizer *k = (struct kernel_symbolizer *)s;

	k->lines = symbolizer_free(k->lines);
	kernel_symbols_done(&k->syms);
	answer_done(&k->answer);
	free(k);
}

static const struct symbolizer_ops kernel_ops = { .resolve = kernel_resolve, .free = kernel_free };

static const char *list_name(const struct kernel_symbolizer *k, uint32_t list)
{
	return k->src.lists[list].name;
}

void kernel_outcome_add(struct kernel_outcome *o, const char *fmt, ...)
{
	size_t n = strlen(o->source);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(o->source + n, sizeof(o->source) - n, fmt,
			ap); /* a truncated text is better than none */
	va_end(ap);
}

/* Writes "/proc/kallsyms (cached)", or the list that is used instead of the first one, and why. */
static void describe_source(const struct kernel_symbolizer *k, const struct pa_error *err,
			    struct kernel_outcome *to)
{
	to->list = list_name(k, k->list);
	to->is_cached = k->is_cached;
	to->is_fallback = k->list > 0;
	kernel_outcome_add(to, "%s%s", list_name(k, k->list), k->is_cached ? " (cached)" : "");
	if (k->list > 0 && k->why[0])
		kernel_outcome_add(to, "; %s: %s", list_name(k, 0), k->why[0]);
	if (k->lines)
		kernel_outcome_add(to, "; lines: %s", k->src.vmlinux_path);
	if (err->code)
		kernel_outcome_add(to, "; not cached: %s", err->text);
}

/* The first list that failed has set k->hidden. */
static bool is_denied(const struct kernel_symbolizer *k)
{
	return k->hidden == WHY_KERNEL_NOT_READABLE || k->hidden == WHY_KERNEL_ZEROES;
}

/* Describes why the kernel has no symbols, list by list. */
static void describe_failure(const struct kernel_symbolizer *k, struct kernel_outcome *to)
{
	to->is_fallback = true;
	kernel_outcome_add(to, "none");
	for (uint32_t i = 0; i < k->src.nr_lists && i < 2; i++)
		kernel_outcome_add(to, "%s %s: %s", i ? ";" : ":", list_name(k, i), k->why[i]);
}

static int give_raw(const struct kernel_symbolizer *k, struct symbolizer **ret_symbolizer)
{
	int r = symbolizer_new_raw(ret_symbolizer);

	if (r == 0)
		(*ret_symbolizer)->missing = k->hidden;
	return r;
}

int symbolizer_new_kernel(const struct kernel_sources *src, struct symbolizer **ret_symbolizer,
			  struct kernel_outcome *ret_outcome)
{
	_cleanup_(symbolizer_freep) struct symbolizer *s = NULL;
	struct kernel_symbolizer *k = calloc(1, sizeof(*k));
	struct kernel_outcome outcome = { 0 };
	struct pa_error err = { 0 };
	int r;

	if (!k)
		return -ENOMEM;
	s = &k->base;
	s->ops = &kernel_ops;
	kernel_symbols_init(&k->syms); /* from here symbolizer_free() is safe */
	k->src = *src;
	s->missing = WHY_KERNEL_NOT_LISTED;
	k->hidden = WHY_KERNEL_HIDDEN;
	r = answer_init(&k->answer);
	if (r == 0)
		r = load_symbols(k, &err);
	if (r > 0 && open_lines(k) < 0)
		r = -ENOMEM;
	if (r < 0)
		return r;
	if (r > 0) {
		describe_source(k, &err, &outcome);
		*ret_symbolizer = TAKE(s);
	} else {
		describe_failure(k, &outcome);
		r = give_raw(k, ret_symbolizer);
	}
	outcome.is_denied = is_denied(k);
	*ret_outcome = outcome;
	return r < 0 ? r : 0;
}
