/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk_recording light|single|full FILE…: walks recorded stacks, by the kernel's walker as the host
 * compiles it: plain frames many at once, or all of them one by one; and where that ends for a hard
 * rule, or always, with all registers. Built once per architecture. For each recording it prints its
 * name, why the walk ended, whether all registers were needed and how many frames were plain; then a
 * line for each frame, leaf first: file, link-time address, function.
 */
#include "recording.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#include "base/buf.h"
#include "bpf/walk_plain.h"
#include "elf/elf_image.h"
#include "elf/elf_symbols.h"
#include "elf/vdso.h"
#include "proc/procfs.h"
#include "tap.h"
#include "unwind/eh_frame.h"
#include "unwind/full_row.h"
#include "unwind/full_walk.h"
#include "unwind/known_code.h"
#include "unwind/rule_dict.h"
#include "unwind/table.h"
#include "unwind/x86_exit.h"

#define MAX_FILES 64
#define MAX_MAPPINGS 256
#define MAX_BYTES (4u << 20)
#define NR_KEPT 1021

#ifdef PA_WALK_ARM64
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_X86_64
#endif

struct code_file {
	char path[1024];
	struct elf_image *img; /* NULL: not an ELF file */
	struct cfi *cfi;
	struct unwind_table *table;
};

struct code_map {
	uint64_t start, end, offset;
	struct code_file *file;
};

static struct code_file files[MAX_FILES];
static unsigned int nr_files;
static struct rule_dict dict;

static char bytes[MAX_BYTES];
static const struct recording *rec;
static const char *region_bytes[RECORDING_MAX_REGIONS];
static struct code_map code[MAX_MAPPINGS];
static unsigned int nr_code;

struct frame {
	uint64_t pc;
	bool is_exact;
};

struct walked {
	struct frame frames[PA_MAX_USER_FRAMES];
	uint32_t nr, stop, nr_plain;
};

static const char *const stop_names[] = {
#define X(stop, value, machine, ...) [value] = machine,
#include "bpf/stop_reasons.def"
#undef X
};

/* Files, each opened once. */

static void open_code(struct code_file *f)
{
	struct known_code known;
	const struct cfi *source;
	int fd;

	if (strcmp(f->path, "[vdso]") == 0) {
		must(vdso_open(&f->img) == 0);
	} else {
		fd = open(f->path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || elf_image_open_fd(fd, &f->img) < 0)
			return;
	}
	must(elf_image_machine(f->img) == MACHINE);
	(void)cfi_open_eh_frame(f->img, &f->cfi); /* none: there may be known code */
	source = f->cfi;
	must(known_code_find(f->img, &known) == 0);
	must(unwind_compile_known(&source, source ? 1 : 0, &known, &dict, &f->table) == 0);
	known_code_done(&known);
}

static struct code_file *file_of(const char *path)
{
	for (unsigned int i = 0; i < nr_files; i++)
		if (strcmp(files[i].path, path) == 0)
			return &files[i];
	must(nr_files < MAX_FILES && strlen(path) < sizeof(files[0].path));
	strcpy(files[nr_files].path, path);
	open_code(&files[nr_files]);
	return &files[nr_files++];
}

static int add_mapping(void *ctx, const struct maps_entry *e)
{
	if (!e->is_exec || e->end > PA_USER_MAX)
		return 0;
	must(nr_code < MAX_MAPPINGS);
	code[nr_code++] = (struct code_map){ e->start, e->end, e->offset, file_of(e->path) };
	return 0;
}

static void load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0, at = sizeof(*rec);
	uint64_t nr_bad;
	ssize_t r;

	must(fd >= 0);
	while ((r = read(fd, bytes + n, sizeof(bytes) - n)) > 0)
		n += (size_t)r;
	close(fd);
	rec = (const struct recording *)bytes;
	must(n > sizeof(*rec) && n < sizeof(bytes) && rec->magic == RECORDING_MAGIC &&
	     rec->machine == MACHINE && rec->nr_regions <= RECORDING_MAX_REGIONS);
	for (uint64_t i = 0; i < rec->nr_regions; i++) {
		region_bytes[i] = bytes + at;
		must(rec->regions[i].bytes < n - at);
		at += rec->regions[i].bytes;
	}
	nr_code = 0;
	must(maps_parse(bytes + at, n - at, add_mapping, NULL, &nr_bad) == 0 && nr_bad == 0);
}

static const struct code_map *code_at(uint64_t pc)
{
	for (unsigned int i = 0; i < nr_code; i++)
		if (pc >= code[i].start && pc < code[i].end)
			return &code[i];
	return NULL;
}

static int read_memory(void *ctx, uint64_t addr, void *to, size_t size)
{
	const struct code_map *m;

	for (uint64_t i = 0; i < rec->nr_regions; i++) {
		uint64_t at = addr - rec->regions[i].addr;

		if (at < rec->regions[i].bytes && size <= rec->regions[i].bytes - at) {
			memcpy(to, region_bytes[i] + at, size);
			return 0;
		}
	}
	/* Of code there is no recording; it is what the file has. */
	m = code_at(addr);
	if (!m || !m->file->img || size > m->end - addr ||
	    elf_image_read(m->file->img, addr - m->start + m->offset, to, size) < 0)
		return -EFAULT;
	return 0;
}

/* The address that the file has for a pc; false: not an ELF file. */
static bool link_time(const struct code_map *m, uint64_t pc, uint64_t *ret_addr)
{
	return m->file->img &&
	       elf_image_vaddr_of(m->file->img, pc - m->start + m->offset, ret_addr) == 0;
}

static uint32_t find_word(uint64_t pc, pa_rule *ret_word)
{
	const struct code_map *m = code_at(pc);
	uint64_t addr;

	if (!m)
		return PA_STOP_NO_MAPPING;
	*ret_word = PA_RULE_WORD_NONE;
	if (m->file->table && link_time(m, pc, &addr)) {
		*ret_word = unwind_table_find(m->file->table, &dict, addr);
		if (*ret_word == PA_RULE_WORD_NONE)
			*ret_word = PA_RULE_WORD_GAP;
	}
	return 0;
}

static inline int pa_walk_read(struct pa_walk *w, void *to, __u32 size, __u64 addr)
{
	return read_memory(NULL, addr, to, size);
}

static inline __u32 pa_walk_code_kind(struct pa_walk *w, __u64 addr)
{
	const struct code_map *m = code_at(addr);

	if (!m)
		return PA_CODE_NONE;
	return m->file->table ? PA_CODE_TABLE : PA_CODE_BARE;
}

static long read_code(void *ctx, uint64_t addr, void *to, size_t n)
{
	for (; n; n /= 2)
		if (code_at(addr) && read_memory(ctx, addr, to, n) == 0)
			return (long)n;
	return -1;
}

/* Code that no table describes, by its own instructions. */
static bool learn(struct pa_walk *w, pa_rule *ret_rule)
{
	struct x86_code reader = { read_code, NULL };
	struct x86_exit e;

	if (MACHINE != EM_X86_64 || x86_exit_find(&reader, w->pc, &e) < 0 || e.by > X86_BY_RECORD ||
	    !pa_walk_agrees(w, e.rule))
		return false;
	*ret_rule = e.rule;
	return true;
}

static inline __u32 pa_walk_rule(struct pa_walk *w, __u64 pc, pa_rule *rule)
{
	uint32_t stop = find_word(pc, rule);

	if (!stop && PA_RULE_CFA_KIND(*rule) == PA_CFA_NONE && pc == w->pc - !w->is_exact)
		(void)learn(w, rule);
	return stop;
}

/* Of all that the kernel would have kept by now. */
static inline int pa_walk_rule_at(const struct pa_walk *w, struct pa_rule_cache *rules, __u32 at,
				  __u64 pc, pa_rule *rule)
{
	struct pa_walk asking = *w;

	asking.pc = pc + 1;
	if (find_word(pc, rule))
		return 0;
	if (pa_is_after_call(&asking, pc, *rule))
		*rule |= PA_RULE_AFTER_CALL;
	return 1;
}

/* As in bpf/walk.bpf.c. */
static void walk_plain(struct pa_walk *w, struct walked *out)
{
	__u64 pcs[PA_WORD_SLOTS];
	uint32_t at = w->nr, nr;

	if (!pa_walk_may_be_plain(w))
		return;
	nr = pa_walk_plain_frames(w, NULL, pcs, 0, PA_MAX_USER_FRAMES - at);
	for (uint32_t i = 0; i < nr; i++)
		out->frames[at + i] = (struct frame){ pcs[i], false };
	out->nr_plain += nr;
}

static void walk_light(struct walked *out, bool is_single)
{
	struct pa_walk w = { .pc = rec->pc,
			     .sp = rec->regs[PA_REG_SP],
			     .fp = rec->regs[PA_REG_FP],
			     .lr = rec->regs[30],
			     .nr = 1,
			     .is_exact = 1,
			     .has_fp = 1,
			     .has_regs = 1,
			     .has_lr = 1 };

	memcpy(w.regs, rec->regs, sizeof(w.regs));
	out->frames[0] = (struct frame){ w.pc, true };
	while (pa_walk_frame(&w)) {
		out->frames[w.nr - 1] = (struct frame){ w.pc, w.is_exact };
		if (w.is_interrupted)
			out->frames[w.nr - 2].is_exact = true;
		if (!is_single)
			walk_plain(&w, out);
	}
	out->nr = w.nr;
	out->stop = w.stop;
}

static uint32_t find_row(void *ctx, uint64_t pc, pa_rule *ret_word, struct cfi_full_row *ret_row)
{
	const struct code_map *m = code_at(pc);
	uint32_t stop = find_word(pc, ret_word);
	uint64_t addr;

	if (stop || PA_RULE_CFA_KIND(*ret_word) == PA_CFA_NONE)
		return stop;
	must(link_time(m, pc, &addr));
	if (!m->file->cfi || cfi_rules_at(m->file->cfi, addr, ret_row) < 0)
		ret_row->nr_regs = 0; /* known by other means */
	return 0;
}

static enum pa_record_place record_at(void *ctx, uint64_t pc)
{
	struct pa_walk w = { .pc = pc };

	(void)ctx;
	return (enum pa_record_place)pa_record_at(&w);
}

static bool can_return_to(void *ctx, uint64_t pc)
{
	struct pa_walk w = { .pc = pc };

	(void)ctx;
	return pa_can_return_to(&w, pc);
}

static bool learn_full(void *ctx, const struct full_walk *from, pa_rule *ret_word)
{
	struct pa_walk w = from->at;

	(void)ctx;
	return learn(&w, ret_word);
}

static bool may_skip(void *ctx, uint64_t sp, uint64_t fp)
{
	struct pa_walk w = { .sp = sp, .fp = fp, .has_fp = 1 };

	(void)ctx;
	return pa_walk_may_skip(&w);
}

static void walk_full(struct walked *out)
{
	static const struct full_walk_source source = { read_memory,   find_row,   record_at,
							can_return_to, learn_full, may_skip };
	struct full_walk w;

	full_walk_init(&w, unwind_arch_of(MACHINE), rec->pc, rec->regs,
		       MACHINE == EM_X86_64 ? 16 : 32);
	w.source = &source;
	out->frames[0] = (struct frame){ w.at.pc, true };
	while (full_walk_frame(&w)) {
		out->frames[w.at.nr - 1] = (struct frame){ w.at.pc, w.at.is_exact };
		if (w.at.is_interrupted)
			out->frames[w.at.nr - 2].is_exact = true;
	}
	out->nr = w.at.nr;
	out->stop = w.at.stop;
}

struct search {
	uint64_t addr;
	char name[256];
};

static int look_at_symbol(void *ctx, const struct elf_symbol *sym)
{
	struct search *s = ctx;

	if (s->addr < sym->addr || s->addr - sym->addr >= sym->size)
		return 0;
	snprintf(s->name, sizeof(s->name), "%s", sym->name);
	return 1;
}

static bool is_stub(const struct elf_image *img, uint64_t addr)
{
	static const char *const names[] = { ".plt", ".plt.got", ".plt.sec" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct elf_section *s = elf_image_section(img, names[i]);

		if (s && addr >= s->addr && addr - s->addr < s->size)
			return true;
	}
	return false;
}

/* Deep stacks have one address many times: the last ones that were asked for are kept. */
static void find_name(const struct code_file *file, struct search *s)
{
	static struct {
		const struct code_file *file;
		struct search s;
	} kept[NR_KEPT];
	unsigned int at = s->addr % NR_KEPT;

	if (kept[at].file != file || kept[at].s.addr != s->addr) {
		if (is_stub(file->img, s->addr))
			strcpy(s->name, "<stub>");
		else
			(void)elf_symbols_each(file->img, look_at_symbol, s); /* none: no name */
		kept[at].file = file;
		kept[at].s = *s;
	}
	*s = kept[at].s;
}

static void print_frame(const struct frame *f)
{
	struct search s = { .addr = f->is_exact ? f->pc : f->pc - 1 };
	const struct code_map *m = code_at(s.addr);

	if (m && link_time(m, s.addr, &s.addr))
		find_name(m->file, &s);
	printf("\t%s\t%#" PRIx64 "\t%s\n", m ? m->file->path : "", s.addr, s.name);
}

static void walk(const char *path, const char *how)
{
	static struct walked w;
	bool is_full = strcmp(how, "full") == 0;

	load(path);
	w.nr_plain = 0;
	if (!is_full) {
		walk_light(&w, strcmp(how, "single") == 0);
		is_full = w.stop == PA_STOP_HARD_RULE;
	}
	if (is_full)
		walk_full(&w);
	printf("%s\t%s\t%d\t%u\n", path, stop_names[w.stop], is_full, w.nr_plain);
	for (uint32_t i = 0; i < w.nr; i++)
		print_frame(&w.frames[i]);
}

int main(int argc, char **argv)
{
	must(argc >= 2 && rule_dict_init(&dict) == 0);
	for (int i = 2; i < argc; i++)
		walk(argv[i], argv[1]);
	return 0;
}
