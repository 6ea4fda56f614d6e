/* SPDX-License-Identifier: Apache-2.0 */
/* A path that several items of the filestore refer to, freed with the last of them. One thread, or
 * under the store's lock. */
#ifndef PROC_FILE_PATH_H
#define PROC_FILE_PATH_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct file_path {
	uint32_t refs;
	uint32_t len;
	char text[]; /* NUL-terminated */
};

/* NULL: out of memory. */
static inline struct file_path *file_path_new(const char *text, size_t len)
{
	struct file_path *p = malloc(sizeof(*p) + len + 1);

	if (!p)
		return NULL;
	p->refs = 1;
	p->len = (uint32_t)len;
	memcpy(p->text, text, len);
	p->text[len] = '\0';
	return p;
}

static inline struct file_path *file_path_ref(struct file_path *p)
{
	p->refs++;
	return p;
}

static inline void file_path_unref(struct file_path *p)
{
	if (p && --p->refs == 0)
		free(p);
}

#endif
