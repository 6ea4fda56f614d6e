/* SPDX-License-Identifier: Apache-2.0 */
/* A whole file: what is known of its code, and the table that comes of it. */
#include <stdint.h>
#include <stdlib.h>

#include "elf/elf_image.h"
#include "unwind/known_code.h"
#include "unwind/rule_dict.h"
#include "unwind/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What unwind_compile_known() is promised. */
static void check_order(const struct known_code *k)
{
	for (uint32_t i = 0; i < k->nr; i++)
		if (k->ranges[i].start >= k->ranges[i].end ||
		    (i && k->ranges[i].start < k->ranges[i - 1].end))
			abort();
}

/* Each range has its rule, from its first byte to its last. */
static void check_rules(const struct known_code *k, const struct unwind_table *t,
			const struct rule_dict *dict)
{
	for (uint32_t i = 0; i < k->nr; i++)
		if (unwind_table_find(t, dict, k->ranges[i].start) != k->ranges[i].rule ||
		    unwind_table_find(t, dict, k->ranges[i].end - 1) != k->ranges[i].rule)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct known_code k = { 0 };
	struct unwind_table *t;
	struct elf_image *img;
	struct rule_dict dict;

	if (elf_image_open_mem(data, size, &img) < 0)
		return 0;
	if (known_code_find(img, &k) == 0 && rule_dict_init(&dict) == 0) {
		check_order(&k);
		if (unwind_compile_known(NULL, 0, &k, &dict, &t) == 0) {
			check_rules(&k, t, &dict);
			unwind_table_free(t);
		}
		rule_dict_done(&dict);
	}
	known_code_done(&k);
	elf_image_free(img);
	return 0;
}
