/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's own list of its symbols: "ffffffff81000000 T _text", with "\t[module]" behind the
 * name for modules and BPF programs. Sizes are not in it: a function ends where the next begins.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "symbolize/symbolize_internal.h"

#define KALLSYMS_MAX_SYMBOLS (8u << 20) /* a distribution kernel has 150,000 */
#define KALLSYMS_MAX_NAME_BYTES (512u << 20)
#define KALLSYMS_MAX_BYTES (1ull << 30)
#define READ_BYTES (256u << 10)       /* also the longest line that is understood */
#define LAST_SYMBOL_BYTES (64u << 10) /* nothing says where the last function ends */

struct ksym {
	uint64_t addr;
	uint32_t name; /* offset in names; grows with the position in the file */
	uint32_t rank; /* of aliases the highest is shown */
};

struct kernel_symbolizer {
	struct symbolizer base; /* first: the two share their address */
	struct ksym *syms;      /* owned; sorted by address, one for each */
	uint32_t nr;
	uint32_t cap;
	struct buf names; /* owned: strings with their NULs */
	bool is_sorted;
	bool has_zeroes;
	bool is_in_long_line; /* the beginning of the line did not fit and is gone */
	struct answer answer;
};

/* Code symbols only. Aliases: global before weak before local. -1: not code. */
static int rank_of_type(char type)
{
	switch (type) {
	case 'T':
		return 3;
	case 'W':
		return 2;
	case 'w':
		return 1;
	case 't':
		return 0;
	default:
		return -1;
	}
}

static const char *parse_hex(const char *at, const char *end, uint64_t *ret_value)
{
	uint64_t v = 0;
	const char *p = at;

	for (; p < end; p++) {
		unsigned char c = (unsigned char)*p;

		if (c >= '0' && c <= '9')
			v = v << 4 | (c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (c - 'a' + 10);
		else
			break;
	}
	*ret_value = v;
	return p > at && p - at <= 16 ? p : NULL;
}

static const char *end_of_word(const char *at, const char *end)
{
	while (at < end && *at != ' ' && *at != '\t' && *at != '\0')
		at++;
	return at;
}

/* "name" or "name [module]". */
static int add_name(struct kernel_symbolizer *k, const char *name, const char *name_end,
		    const char *module, const char *module_end)
{
	size_t name_bytes = (size_t)(name_end - name), module_bytes = (size_t)(module_end - module);
	int r = buf_reserve(&k->names, name_bytes + module_bytes + 2);
	char *to;

	if (r < 0)
		return r;
	to = k->names.data + k->names.len;
	memcpy(to, name, name_bytes);
	to += name_bytes;
	if (module_bytes) {
		*to++ = ' ';
		memcpy(to, module, module_bytes);
		to += module_bytes;
	}
	*to++ = '\0';
	k->names.len = (size_t)(to - k->names.data);
	return 0;
}

static int add_symbol(struct kernel_symbolizer *k, uint64_t addr, int rank, const char *name,
		      const char *end)
{
	const char *name_end = end_of_word(name, end);
	const char *module = name_end < end ? name_end + 1 : end;
	const char *module_end = end_of_word(module, end);
	struct ksym sym = { addr, (uint32_t)k->names.len, (uint32_t)rank };
	int r;

	if (name_end == name)
		return 0;
	if (module == module_end || *module != '[')
		module_end = module;
	r = ARRAY_RESERVE(k->syms, k->cap, (size_t)k->nr + 1, KALLSYMS_MAX_SYMBOLS);
	if (r < 0)
		return r;
	r = add_name(k, name, name_end, module, module_end);
	if (r < 0)
		return r;
	if (k->nr && k->syms[k->nr - 1].addr > addr)
		k->is_sorted = false;
	k->syms[k->nr++] = sym;
	return 0;
}

/* Lines of any other shape are passed over. */
static int parse_line(struct kernel_symbolizer *k, const char *at, const char *end)
{
	uint64_t addr;
	const char *p = parse_hex(at, end, &addr);
	int rank;

	if (k->is_in_long_line) {
		k->is_in_long_line = false;
		return 0;
	}
	if (!p || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		return 0;
	rank = rank_of_type(p[1]);
	if (rank < 0)
		return 0;
	if (addr == 0) {
		k->has_zeroes = true;
		return 0;
	}
	return add_symbol(k, addr, rank, p + 3, end);
}

/* All whole lines of the buffer; the rest moves to its front. */
static int parse_lines(struct kernel_symbolizer *k, char *bytes, size_t *n)
{
	const char *at = bytes, *end = bytes + *n, *newline;

	while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
		int r = parse_line(k, at, newline);

		if (r < 0)
			return r;
		at = newline + 1;
	}
	*n = (size_t)(end - at);
	memmove(bytes, at, *n);
	if (*n == READ_BYTES) {
		*n = 0;
		k->is_in_long_line = true;
	}
	return 0;
}

static int parse_file(struct kernel_symbolizer *k, int fd)
{
	_cleanup_(freep) char *bytes = malloc(READ_BYTES);
	size_t left = 0;
	uint64_t total = 0;

	if (!bytes)
		return -ENOMEM;
	while (total < KALLSYMS_MAX_BYTES) {
		ssize_t got = read(fd, bytes + left, READ_BYTES - left);
		int r;

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return parse_line(k, bytes, bytes + left);
		left += (size_t)got;
		total += (uint64_t)got;
		r = parse_lines(k, bytes, &left);
		if (r < 0)
			return r;
	}
	return 0;
}

static int compare_ksyms(const void *pa, const void *pb)
{
	const struct ksym *a = pa, *b = pb;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

/* Leaves the best alias of each address: the highest rank, and of those the last in the file. */
static void sort_and_choose(struct kernel_symbolizer *k)
{
	uint32_t nr = 0;

	if (!k->is_sorted)
		qsort(k->syms, k->nr, sizeof(*k->syms), compare_ksyms);
	for (uint32_t i = 0; i < k->nr; i++) {
		struct ksym *last = nr ? &k->syms[nr - 1] : NULL;

		if (!last || last->addr != k->syms[i].addr)
			k->syms[nr++] = k->syms[i];
		else if (compare_ksyms(last, &k->syms[i]) < 0)
			*last = k->syms[i];
	}
	k->nr = nr;
}

static const struct ksym *find(const struct kernel_symbolizer *k, uint64_t addr)
{
	uint32_t low = 0, high = k->nr;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (k->syms[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || (low == k->nr && addr - k->syms[low - 1].addr >= LAST_SYMBOL_BYTES))
		return NULL;
	return &k->syms[low - 1];
}

static int kernel_resolve(struct symbolizer *s, uint64_t addr, struct symbol_result *ret_result)
{
	struct kernel_symbolizer *k = (struct kernel_symbolizer *)s;
	const struct ksym *sym = find(k, addr);
	const char *name;

	if (!sym)
		return answer_raw(&k->answer, NULL, addr, ret_result);
	name = k->names.data + sym->name;
	return answer_named(&k->answer, name, strcspn(name, " "), ret_result);
}

static void kernel_free(struct symbolizer *s)
{
	struct kernel_symbolizer *k = (struct kernel_symbolizer *)s;

	free(k->syms);
	buf_done(&k->names);
	answer_done(&k->answer);
	free(k);
}

static const struct symbolizer_ops kernel_ops = { .resolve = kernel_resolve, .free = kernel_free };

/* A kernel whose symbols cannot be known. source begins with "none: ", then the reason. */
static int give_raw(const char *source, const char *cure, struct symbolizer **ret_symbolizer,
		    const char **ret_source)
{
	int r = symbolizer_new_raw(source + strlen("none: "), cure, ret_symbolizer);

	if (r < 0)
		return r;
	*ret_source = source;
	return 0;
}

static int give_raw_without_file(int error, struct symbolizer **ret_symbolizer,
				 const char **ret_source)
{
	if (error == -ENOENT)
		return give_raw("none: there is no /proc/kallsyms",
				"mount /proc, or use a kernel with CONFIG_KALLSYMS", ret_symbolizer,
				ret_source);
	if (error == -EACCES || error == -EPERM)
		return give_raw("none: /proc/kallsyms may not be read", "run as root",
				ret_symbolizer, ret_source);
	return give_raw("none: reading /proc/kallsyms failed", NULL, ret_symbolizer, ret_source);
}

static int give_raw_without_symbols(bool has_zeroes, struct symbolizer **ret_symbolizer,
				    const char **ret_source)
{
	if (!has_zeroes)
		return give_raw("none: /proc/kallsyms lists no functions", NULL, ret_symbolizer,
				ret_source);
	return give_raw(
		"none: /proc/kallsyms shows zeroes (kptr_restrict, or CAP_SYSLOG is missing)",
		"run as root or with CAP_SYSLOG, and with kernel.kptr_restrict below 2",
		ret_symbolizer, ret_source);
}

static int load(struct kernel_symbolizer *k, const char *path)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	int r;

	if (fd < 0)
		return -errno;
	r = parse_file(k, fd);
	if (r < 0 && r != -E2BIG) /* past a limit: what is there is used */
		return r;
	sort_and_choose(k);
	return 0;
}

int symbolizer_new_kernel(const char *kallsyms_path, struct symbolizer **ret_symbolizer,
			  const char **ret_source)
{
	_cleanup_(symbolizer_freep) struct symbolizer *s = NULL;
	struct kernel_symbolizer *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return -ENOMEM;
	s = &k->base;
	s->ops = &kernel_ops; /* from here symbolizer_free() is safe */
	k->is_sorted = true;
	k->names = BUF_INIT(KALLSYMS_MAX_NAME_BYTES);
	r = answer_init(&k->answer);
	if (r < 0)
		return r;
	r = load(k, kallsyms_path);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return give_raw_without_file(r, ret_symbolizer, ret_source);
	if (k->nr == 0)
		return give_raw_without_symbols(k->has_zeroes, ret_symbolizer, ret_source);
	s->missing_why = "/proc/kallsyms does not list this code";
	*ret_symbolizer = TAKE(s);
	*ret_source = "/proc/kallsyms";
	return 0;
}
