/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corrupt_dwarf CASES FILE…: damaged debug information. Each file is cut short or has bits flipped,
 * mostly in its .debug_ sections, CASES times in all, the same way every time; then addresses of it
 * are looked up: no crash, no hang, no unbounded memory.
 */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "dwarf/dwarf.h"
#include "elf/elf_image.h"
#include "tap.h"

#define MAX_FILE_BYTES (8u << 20)
#define MAX_FLIPS 8
#define MAX_HOT 32
#define CASE_LIMIT_S 10 /* no case takes longer than the whole test should */
#define PROBES 24
#define MAX_RSS_KB (1u << 20)

struct hot {
	size_t start, size;
};

struct file {
	uint8_t *bytes;
	size_t size;
	uint64_t code, code_bytes;
	struct hot hot[MAX_HOT]; /* the sections where damage matters */
	size_t nr_hot;
};

struct counts {
	unsigned long nr_cases, nr_opened, nr_answers;
	uint64_t slowest_ns;
};

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

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
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct elf_image *img;
	struct stat st;

	*f = (struct file){ 0 };
	must(fd >= 0 && fstat(fd, &st) == 0 && st.st_size <= MAX_FILE_BYTES);
	f->size = (size_t)st.st_size;
	f->bytes = malloc(f->size);
	must(f->bytes && read(fd, f->bytes, f->size) == (ssize_t)f->size);
	close(fd);
	must(elf_image_open_mem(f->bytes, f->size, &img) == 0);
	find_hot(f, img);
	elf_image_free(img);
}

/* A copy of exactly its size, so that a sanitizer sees a read past the end. */
static uint8_t *damaged_copy(const struct file *f, uint64_t *state, size_t *ret_size)
{
	size_t size = next_random(state) % 8 ? f->size : next_random(state) % f->size;
	uint8_t *copy = malloc(size ? size : 1);
	size_t nr_flips = 1 + next_random(state) % MAX_FLIPS;

	must(copy);
	memcpy(copy, f->bytes, size);
	for (size_t i = 0; i < nr_flips; i++) {
		const struct hot *h = &f->hot[next_random(state) % f->nr_hot];
		size_t at = next_random(state) % 16 ? h->start + next_random(state) % h->size
						    : next_random(state) % f->size;
		uint8_t bit = (uint8_t)(1u << next_random(state) % 8);

		if (at < size)
			copy[at] ^= bit;
	}
	*ret_size = size;
	return copy;
}

static void run_case(const struct file *f, const uint8_t *copy, size_t size, uint64_t *state,
		     struct counts *n)
{
	static struct dwarf_frame frames[DWARF_MAX_FRAMES];
	struct elf_image *img = NULL;
	struct dwarf *d = NULL;

	if (elf_image_open_mem(copy, size, &img) == 0 &&
	    dwarf_open(&(struct dwarf_files){ .image = img, .debug = img, .alt = img }, &d) == 0) {
		n->nr_opened++;
		for (int i = 0; i < PROBES; i++) {
			uint64_t addr = f->code + next_random(state) % f->code_bytes;
			uint32_t nr = 0;

			n->nr_answers += dwarf_resolve(d, addr, frames, &nr) == 0;
		}
	}
	dwarf_free(d);
	elf_image_free(img);
}

static void run_file(const struct file *f, unsigned long nr_cases, struct counts *n)
{
	uint64_t state = 1;

	for (unsigned long i = 0; i < nr_cases; i++) {
		uint64_t began = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		size_t size;
		uint8_t *copy = damaged_copy(f, &state, &size);

		alarm(CASE_LIMIT_S); /* kills the test: a hang */
		run_case(f, copy, size, &state, n);
		began = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began;
		if (began > n->slowest_ns)
			n->slowest_ns = began;
		n->nr_cases++;
		free(copy);
	}
	alarm(0);
}

int main(int argc, char **argv)
{
	struct counts n = { 0 };
	struct rusage used;

	must(argc > 2);
	for (int i = 2; i < argc; i++) {
		unsigned long nr_cases = strtoul(argv[1], NULL, 10) / (unsigned long)(argc - 2);
		struct file f;

		load(&f, argv[i]);
		run_file(&f, nr_cases, &n);
		free(f.bytes);
	}
	getrusage(RUSAGE_SELF, &used);
	printf("# %lu cases, %lu opened, %lu answers, slowest %llu us, %ld KB\n", n.nr_cases,
	       n.nr_opened, n.nr_answers, (unsigned long long)n.slowest_ns / 1000, used.ru_maxrss);
	ok(n.nr_opened > n.nr_cases / 4 && n.nr_answers > n.nr_opened,
	   "%lu damaged files: no crash and no hang, and most still give answers", n.nr_cases);
	ok(used.ru_maxrss < MAX_RSS_KB, "nor does any of them take all memory");
	return tap_done();
}
