/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/debug_frame.h"

#include <elf.h>
#include <errno.h>

#include "base/clock.h"
#include "debugfiles/debug_search.h"
#include "elf/elf_image.h"
#include "unwind/eh_frame.h"
#include "unwind/table.h"

/* Some code never has CFI: the compiler's start-up and termination code, and functions in assembly.
 * If more than this share of a file lacks CFI, the file was built without it. */
#define BARE_FREE_BYTES 256
#define BARE_SHARE 4 /* one in four */

#define FIND_MAX_CPU_NS NS_PER_S

static uint64_t code_bytes(const struct elf_image *img)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < elf_image_nr_sections(img); i++) {
		const struct elf_section *s = elf_image_section_at(img, i);

		if (s->flags & SHF_EXECINSTR && s->type == SHT_PROGBITS &&
		    s->size <= UINT64_MAX - bytes)
			bytes += s->size;
	}
	return bytes;
}

bool debug_frame_is_wanted(const struct elf_image *img, const struct unwind_stats *stats)
{
	uint64_t all = code_bytes(img);
	uint64_t bare = all > stats->covered_bytes ? all - stats->covered_bytes : 0;

	return bare > BARE_FREE_BYTES && bare > all / BARE_SHARE;
}

static int find_file(const struct elf_image *img, const struct debug_query *where,
		     struct debug_file *ret_file)
{
	/* searches are counted when symbols are resolved */
	struct debug_search_stats ignored = { 0 };

	return elf_image_build_id(img)->len ? debug_search(where, &ignored, ret_file) : -ENOENT;
}

int debug_frame_open(const struct elf_image *img, const struct debug_query *where,
		     struct cfi **ret_cfi)
{
	_cleanup_(debug_file_done) struct debug_file debug = DEBUG_FILE_NONE;
	int r = find_file(img, where, &debug);

	return r < 0 ? r : cfi_open_debug_frame(img, debug.image, ret_cfi);
}

int debug_frame_find(int fd, const struct debug_query *where, const struct cancel *cancel)
{
	_cleanup_(debug_file_done) struct debug_file debug = DEBUG_FILE_NONE;
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	struct debug_query q = *where;
	int r = elf_image_open_fd(fd, &img);

	if (r < 0)
		return r;
	elf_image_limit(img, cancel, FIND_MAX_CPU_NS);
	q.image = img;
	q.fd = fd; /* the store's own descriptor may be closed by now */
	r = find_file(img, &q, &debug);
	return r < 0 ? r : TAKE_FD(debug.fd);
}
