/* SPDX-License-Identifier: Apache-2.0 */
#include "write/writer.h"

#include <string.h>

static const struct writer *const writers[] = { &writer_pprof, &writer_folded, &writer_flame_page };

const struct writer *writer_get(size_t i)
{
	return i < sizeof(writers) / sizeof(writers[0]) ? writers[i] : NULL;
}

const struct writer *writer_find(const char *name)
{
	for (size_t i = 0; writer_get(i); i++)
		if (strcmp(writer_get(i)->name, name) == 0)
			return writer_get(i);
	return NULL;
}
