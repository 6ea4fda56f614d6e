/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/debug_frame.h"

#include <elf.h>
#include <errno.h>

#include "agent/debug_search.h"
#include "elf/elf_image.h"
#include "unwind/eh_frame.h"
#include "unwind/table.h"

/* Code that nobody has rules for: what compilers add to start and end a program, and functions in
 * assembly. More than this share of a file is a file that was built without. */
#define BARE_FREE_BYTES 256
#define BARE_SHARE 4 /* one in four */

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

int debug_frame_open(const struct elf_image *img, const struct debug_query *where,
		     struct cfi **ret_cfi)
{
	_cleanup_(debug_file_done) struct debug_file debug = DEBUG_FILE_NONE;
	struct debug_search_stats ignored = { 0 }; /* counted when names are looked for */
	int r;

	if (!elf_image_build_id(img)->len)
		return -ENOENT;
	r = debug_search(where, &ignored, &debug);
	return r < 0 ? r : cfi_open_debug_frame(img, debug.image, ret_cfi);
}
