/* SPDX-License-Identifier: Apache-2.0 */
/* Somebody who wants work to be given up when it has asked so many times. */
#ifndef TESTS_UNIT_PATIENCE_H
#define TESTS_UNIT_PATIENCE_H

#include "base/cancel.h"

struct patience {
	unsigned int left;
	unsigned int asked;
};

static inline bool patience_is_over(const void *ctx)
{
	struct patience *p = (struct patience *)(uintptr_t)ctx; /* of this test alone */

	p->asked++;
	if (p->left)
		p->left--;
	return p->left == 0;
}

static inline struct cancel patience_cancel(const struct patience *p)
{
	return (struct cancel){ patience_is_over, p };
}

#endif
