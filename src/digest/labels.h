/* SPDX-License-Identifier: Apache-2.0 */
/* Finds labels of samples by name. */
#ifndef DIGEST_LABELS_H
#define DIGEST_LABELS_H

#include <string.h>

#include "profile/profile.h"

/* The string that is the key of labels with that name; 0: none has it. */
static inline uint32_t label_key(const struct profile *p, const char *name)
{
	for (uint32_t i = 0; i < p->nr_labels; i++)
		if ((i == 0 || p->labels[i].key != p->labels[i - 1].key) &&
		    strcmp(profile_str(p, p->labels[i].key), name) == 0)
			return p->labels[i].key;
	return 0;
}

/* The label of a set with that key; NULL: none. */
static inline const struct profile_label *label_find(const struct profile *p, uint32_t label_set,
						     uint32_t key)
{
	const struct profile_span *set = &p->label_sets[label_set];

	for (uint32_t i = 0; key && i < set->nr; i++)
		if (p->labels[set->first + i].key == key)
			return &p->labels[set->first + i];
	return NULL;
}

/* The text of a string label; 0: none. */
static inline uint32_t label_text(const struct profile *p, uint32_t label_set, uint32_t key)
{
	const struct profile_label *l = label_find(p, label_set, key);

	return l ? l->str : 0;
}

#endif
