/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The instructions around a pc, as far as they can be read. */
#ifndef BPF_CODE_H
#define BPF_CODE_H

#include "walk_state.h"

/* Defined by the includer. Reads target memory: 0, or negative. */
PA_INLINE int pa_walk_read(struct pa_walk *w, void *to, __u32 size, __u64 addr);

/* Code may begin and end with its mapping: if the neighbouring page cannot be read, the bytes on
 * its own page still can. Pages have this size or a multiple of it. */
#define PA_CODE_PAGE_BYTES 4096u

/* The 8 bytes from pc on, the first one lowest; 0 for unreadable ones. */
PA_INLINE __u64 pa_code_from(struct pa_walk *w, __u64 pc)
{
	__u32 nr = PA_CODE_PAGE_BYTES - (__u32)(pc & (PA_CODE_PAGE_BYTES - 1));
	__u64 code = 0;

	if (!pa_walk_read(w, &code, sizeof(code), pc))
		return code;
	code = 0;
	if (nr >= sizeof(code) || pa_walk_read(w, &code, nr & (sizeof(code) - 1), pc))
		return 0;
	return code;
}

/* The 8 bytes before pc, the last one highest. */
PA_INLINE __u64 pa_code_before(struct pa_walk *w, __u64 pc)
{
	__u32 nr = (__u32)(pc & (PA_CODE_PAGE_BYTES - 1));
	__u64 code = 0;

	if (!pa_walk_read(w, &code, sizeof(code), pc - sizeof(code)))
		return code;
	code = 0;
	if (!nr || nr >= sizeof(code) || pa_walk_read(w, &code, nr & (sizeof(code) - 1), pc - nr))
		return 0;
	return code << (8 * (sizeof(code) - nr));
}

#endif
