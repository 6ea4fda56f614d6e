/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our answers as text, for the oracles to compare with. Reads one question per line:
 *   symbols FILE   address           answers the symbol, or "-" where none covers the address
 *   fdes FILE      address           answers "start end", or "-"
 *   demangle       name              answers the readable form, or the name itself
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_fde.h"
#include "elf/elf_image.h"
#include "symbolize/demangle.h"
#include "symbolize/symbolizer.h"
#include "symbolize/symbolizer_elf.h"

static char line[65536];

static bool next_question(void)
{
	if (!fgets(line, sizeof(line), stdin))
		return false;
	line[strcspn(line, "\n")] = '\0';
	return true;
}

static int answer_symbols(const struct elf_image *img)
{
	struct symbolizer *s;
	struct symbol_result r;

	if (symbolizer_new_elf(&(struct elf_sources){ .image = img, .label = "file" }, &s) < 0)
		return 1;
	while (next_question()) {
		if (s->ops->resolve(s, strtoull(line, NULL, 16), &r) < 0)
			return 1;
		printf("%s\n", r.is_named ? r.frames[r.nr_frames - 1].system_name : "-");
	}
	symbolizer_free(s);
	return 0;
}

static int answer_fdes(const struct elf_image *img)
{
	struct elf_fdes *fdes;
	uint64_t start, end;

	if (elf_fdes_open(img, &fdes) < 0 && elf_fdes_scan(img, &fdes) < 0)
		return 1;
	while (next_question()) {
		if (elf_fdes_find(fdes, strtoull(line, NULL, 16), &start, &end) == 0)
			printf("%" PRIx64 " %" PRIx64 "\n", start, end);
		else
			printf("-\n");
	}
	(void)elf_fdes_free(fdes);
	return 0;
}

static int answer_demangle(void)
{
	static char to[DEMANGLE_MAX_OUT];

	while (next_question())
		printf("%s\n", demangle(line, to, sizeof(to)) ? to : line);
	return 0;
}

int main(int argc, char **argv)
{
	struct elf_image *img;
	int fd, r;

	if (argc == 2 && strcmp(argv[1], "demangle") == 0)
		return answer_demangle();
	if (argc != 3)
		return 2;
	fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || elf_image_open_fd(fd, &img) < 0)
		return 1;
	r = strcmp(argv[1], "fdes") == 0 ? answer_fdes(img) : answer_symbols(img);
	elf_image_free(img);
	return r;
}
