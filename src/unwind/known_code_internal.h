/* SPDX-License-Identifier: Apache-2.0 */
/* The sources of known code, one per file. */
#ifndef UNWIND_KNOWN_CODE_INTERNAL_H
#define UNWIND_KNOWN_CODE_INTERNAL_H

#include <stdbool.h>

#include "unwind/known_code.h"

/* Ranges are not sorted while they are collected. -E2BIG, -ENOMEM. */
int known_code_add(struct known_code *k, uint64_t start, uint64_t end, pa_rule rule);

int signal_code_find(const struct elf_image *img, struct known_code *k);
int plt_code_find(const struct elf_image *img, struct known_code *k);

/* k contains only what signal_code_find() found. */
int go_code_find(const struct elf_image *img, struct known_code *k);
bool go_code_is_in(const struct elf_image *img);

#endif
