/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corrupt_dwarf CASES FILE…: damaged debug information, mostly in the .debug_ sections (corrupt.h).
 * Addresses of it are looked up: no crash, no hang, no unbounded memory.
 */
#include <sys/resource.h>

#include "corrupt.h"
#include "dwarf/dwarf.h"
#include "elf/elf_image.h"

#define MAX_FILE_BYTES (8u << 20)
#define MAX_HOT 32
#define PROBES 24
#define MAX_RSS_KB (1u << 20)

struct hot {
	size_t start, size;
};

struct file {
	struct corrupt_file whole;
	uint64_t code, code_bytes;
	struct hot hot[MAX_HOT]; /* the sections where damage matters */
	size_t nr_hot;
	unsigned long nr_opened, nr_answers; /* of all cases */
};

static void find_hot(struct file *f, const struct elf_image *img)
{
	for (size_t i = 0; i < elf_image_nr_sections(img); i++) {
		const struct elf_section *s = elf_image_section_at(img, i);

		if (strcmp(s->name, ".text") == 0) {
			f->code = s->addr;
			f->code_bytes = s->size;
		}
		if (strncmp(s->name, ".debug_", 7) == 0 && s->size && f->nr_hot < MAX_HOT)
			f->hot[f->nr_hot++] = (struct hot){ s->offset, s->size };
	}
	must(f->code_bytes && f->nr_hot);
}

static void load(struct file *f, const char *path)
{
	struct elf_image *img;

	*f = (struct file){ 0 };
	corrupt_load(&f->whole, path, MAX_FILE_BYTES);
	must(elf_image_open_mem(f->whole.bytes, f->whole.size, &img) == 0);
	find_hot(f, img);
	elf_image_free(img);
}

/* One in eight is truncated as well; nearly all flips hit the debug information. */
static struct damage choose(void *ctx, uint64_t *state)
{
	const struct file *f = ctx;
	size_t size = f->whole.size;
	struct damage d = { .size = random_below(state, 8) ? size : random_below(state, size) };

	d.nr_flips = 1 + random_below(state, CORRUPT_MAX_FLIPS);
	for (size_t i = 0; i < d.nr_flips; i++) {
		const struct hot *h = &f->hot[random_below(state, f->nr_hot)];

		d.flips[i] = random_below(state, 16) ? h->start + random_below(state, h->size)
						     : random_below(state, size);
		d.masks[i] = random_bit(state);
	}
	return d;
}

static void run(void *ctx, const struct damage *damage, uint8_t *copy, uint64_t *state)
{
	static struct dwarf_frame frames[DWARF_MAX_FRAMES];
	struct elf_image *img = NULL;
	struct dwarf *d = NULL;
	struct file *f = ctx;

	if (elf_image_open_mem(copy, damage->size, &img) == 0 &&
	    dwarf_open(&(struct dwarf_files){ .image = img, .debug = img, .alt = img }, &d) == 0) {
		f->nr_opened++;
		for (int i = 0; i < PROBES; i++) {
			uint64_t addr = f->code + random_below(state, f->code_bytes);
			uint32_t nr = 0;

			f->nr_answers += dwarf_resolve(d, addr, frames, &nr) == 0;
		}
	}
	dwarf_free(d);
	elf_image_free(img);
}

int main(int argc, char **argv)
{
	static const struct corrupt_test test = { choose, run };
	unsigned long nr_cases = corrupt_nr_cases(argc, argv), nr_opened = 0, nr_answers = 0;
	struct corrupt_counts n = { 0 };
	struct rusage used;

	for (int i = 2; i < argc; i++) {
		struct file f;

		load(&f, argv[i]);
		corrupt_run(&f.whole, nr_cases, &test, &f, &n);
		nr_opened += f.nr_opened;
		nr_answers += f.nr_answers;
		free(f.whole.bytes);
	}
	getrusage(RUSAGE_SELF, &used);
	printf("# %lu cases, %lu opened, %lu answers, slowest %llu us, %ld KB\n", n.nr_cases,
	       nr_opened, nr_answers, (unsigned long long)n.slowest_ns / 1000, used.ru_maxrss);
	ok(nr_opened > n.nr_cases / 4 && nr_answers > nr_opened,
	   "%lu damaged files: no crash and no hang, and most still give answers", n.nr_cases);
	ok(used.ru_maxrss < MAX_RSS_KB, "damaged files do not take all memory");
	return tap_done();
}
