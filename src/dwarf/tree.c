/* SPDX-License-Identifier: Apache-2.0 */
#include "dwarf/tree.h"

#include <errno.h>

#define CHARGE_EVERY 4096 /* attributes; an entry may have many of size zero */

void dw_tree_init(struct dw_tree *t, const struct dw_unit *u, uint32_t top)
{
	*t = (struct dw_tree){ .u = u, .muted_at = UINT32_MAX, .parents[0] = top };
	t->c = cursor_of(u->view.bytes + u->first_die, u->view.n - u->first_die);
}

void dw_tree_skip(struct dw_tree *t, const struct dw_abbrev *a)
{
	if (a->fixed_bytes >= 0) {
		(void)cursor_take(&t->c, (size_t)a->fixed_bytes);
		return;
	}
	for (uint32_t i = 0; i < a->nr_attrs; i++)
		dw_form_skip(&t->c, t->u, t->u->abbrevs->attrs[a->first_attr + i].form);
}

int dw_tree_descend(struct dw_tree *t, uint32_t parent)
{
	if (t->depth + 1 >= DW_TREE_MAX_DEPTH)
		return -E2BIG;
	t->parents[++t->depth] = parent;
	return 0;
}

static void ascend(struct dw_tree *t)
{
	if (t->depth)
		t->depth--;
	if (t->muted_at == t->depth)
		t->muted_at = UINT32_MAX;
}

static int charge_entry(struct dw_tree *t, const struct dw_abbrev *a)
{
	uint64_t nr = t->nr_uncharged += a->nr_attrs;

	if (nr < CHARGE_EVERY)
		return 0;
	t->nr_uncharged = 0;
	return dw_work(t->u->file->d, nr) ? 0 : -E2BIG;
}

int dw_tree_walk(struct dw_tree *t, dw_tree_fn visit, void *ctx)
{
	int r = 0;

	while (r == 0 && !t->c.bad && cursor_left(&t->c)) {
		uint32_t die = (uint32_t)(t->c.at - t->u->view.bytes);
		uint64_t code = cursor_uleb128(&t->c);
		const struct dw_abbrev *a;

		if (code == 0) {
			ascend(t);
			continue;
		}
		a = dw_abbrevs_find(t->u->abbrevs, code);
		r = a ? charge_entry(t, a) : -EBADMSG;
		if (r == 0)
			r = visit(ctx, a, die);
	}
	return r;
}
