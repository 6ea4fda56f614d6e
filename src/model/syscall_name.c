/* SPDX-License-Identifier: Apache-2.0 */
#include "model/syscall_name.h"

#include <asm/unistd.h>
#include <stddef.h>

static const struct {
	int nr;
	const char *name;
} names[] = {
#include "syscall_names.inc"
};

const char *syscall_name(int nr)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].nr == nr)
			return names[i].name;
	return NULL;
}
