/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "agent/pa_profile.h"
#include "base/error.h"
#include "base/outfile.h"
#include "digest/changes.h"
#include "digest/functions.h"
#include "write/writer.h"

struct diff {
	/* first, because callers have a pointer to it */
	struct pa_diff pub;
	const struct pa_profile *base_profile, *profile; /* borrowed */
	struct functions base, now;
	struct pa_change *changes; /* owned */
};

void pa_diff_free(struct pa_diff *d)
{
	struct diff *own = (struct diff *)d;

	if (!d)
		return;
	functions_done(&own->base);
	functions_done(&own->now);
	free(own->changes);
	free(own);
}

static const char *unit_of(const struct pa_summary *s)
{
	return s->value_unit ? s->value_unit : "count";
}

static const char *type_of(const struct pa_summary *s)
{
	return s->value_type ? s->value_type : "samples";
}

/* True if a type, like "cpu/nanoseconds", is in the lists of both files. */
static bool have_common_type(const struct pa_summary *a, const struct pa_summary *b)
{
	for (size_t i = 0; i < a->nr_value_types; i++)
		for (size_t k = 0; k < b->nr_value_types; k++)
			if (!strcmp(a->value_types[i], b->value_types[k]))
				return true;
	return false;
}

/* Checks that the values can be compared. Samples with two different periods can be: their shares
 * of CPU time are comparable. */
static int check_types(const struct pa_summary *a, const struct pa_summary *b, struct pa_error *err)
{
	if (!strcmp(unit_of(a), unit_of(b)) && !strcmp(type_of(a), type_of(b)))
		return 0;
	return error_set(err, EINVAL,
			 "'%s' and '%s' cannot be compared: one has %s/%s, the other %s/%s; %s",
			 a->source_file, b->source_file, type_of(a), unit_of(a), type_of(b),
			 unit_of(b),
			 have_common_type(a, b) ? "choose a type that both have"
						: "give two files that have a type in common");
}

/* A profile without values has no shares: everything would have grown from nothing, or vanished. */
static int check_sum(const struct pa_summary *s, struct pa_error *err)
{
	return s->samples ? 0
			  : error_set(err, EINVAL,
				      "'%s' cannot be compared: the sum of its %s is 0; capture it "
				      "again, for longer",
				      s->source_file, type_of(s));
}

static struct pa_change change_of(const struct diff *d, const struct change *c)
{
	bool is_there = c->now.function != PROFILE_NONE;
	const struct functions *f = is_there ? &d->now : &d->base;
	uint32_t function = is_there ? c->now.function : c->base.function;

	return (struct pa_change){
		.name = functions_name(f, function),
		.file = functions_file(f, function),
		.base_self = (uint64_t)c->base.self,
		.base_total = (uint64_t)c->base.total,
		.self = (uint64_t)c->now.self,
		.total = (uint64_t)c->now.total,
		.is_unnamed = functions_is_unnamed(f, function),
		.source = functions_source(f, function),
	};
}

static int compare_profiles(struct diff *d, const struct profile *base, const struct profile *now)
{
	struct changes found = { 0 };
	int r = functions_init(&d->base, base, base->count_type);

	if (r == 0)
		r = functions_init(&d->now, now, now->count_type);
	if (r == 0)
		r = digest_changes(&d->base, &d->now, &found);
	if (r < 0)
		return r;
	d->pub.changes = d->changes = calloc((size_t)found.nr + 1, sizeof(*d->changes));
	for (uint32_t i = 0; d->changes && i < found.nr; i++)
		d->changes[i] = change_of(d, &found.list[i]);
	free(found.list);
	d->pub.nr_changes = found.nr;
	d->pub.base_sum = (uint64_t)found.base_sum;
	d->pub.sum = (uint64_t)found.now_sum;
	return d->changes ? 0 : -ENOMEM;
}

int pa_diff_new(const struct pa_profile *base, const struct pa_profile *p,
		struct pa_diff **ret_diff, struct pa_error *err)
{
	const struct pa_summary *s = pa_profile_summary(p);
	struct diff *d;
	int r;

	error_clear(err);
	if (!base || !s || !ret_diff)
		return error_set(err, EINVAL, "pa_diff_new(): two profiles are required");
	r = check_types(&base->summary.pub, s, err);
	if (r == 0)
		r = check_sum(&base->summary.pub, err);
	if (r == 0)
		r = check_sum(s, err);
	if (r < 0)
		return r;
	d = calloc(1, sizeof(*d));
	if (!d)
		return error_set(err, ENOMEM, "out of memory while comparing two profiles");
	d->pub.sz = sizeof(d->pub);
	d->pub.pa_change_sz = sizeof(struct pa_change);
	d->base_profile = base;
	d->profile = p;
	d->pub.value_type = s->value_type;
	d->pub.value_unit = s->value_unit;
	r = compare_profiles(d, base->profile, p->profile);
	if (r < 0) {
		pa_diff_free(&d->pub);
		return error_set(err, -r, "out of memory while comparing two profiles");
	}
	*ret_diff = &d->pub;
	return 0;
}

int pa_diff_write(const struct pa_diff *d, const struct pa_output *output,
		  const struct pa_file_options *opts, struct pa_error *err)
{
	const struct diff *own = (const struct diff *)d;
	_cleanup_(outfile_freep) struct outfile *out = NULL;
	struct flame_view view;
	const struct writer *w;
	struct pa_output to;
	int r;

	error_clear(err);
	if (!d)
		return error_set(err, EINVAL, "pa_diff_write(): a difference is required");
	view = (struct flame_view){ type_of(&own->profile->summary.pub), own->profile->profile,
				    own->base_profile->profile };
	r = pa_profile_take_output(output, &to, &w, err);
	if (r < 0)
		return r;
	if (!w->write_all)
		return error_set(err, EINVAL, "cannot write '%s': '%s' cannot show a difference",
				 to.path ? to.path : "", to.format);
	r = pa_profile_open_output(&to, opts, &out, err);
	if (r == 0)
		r = w->write_all(&view, 1, pa_profile_title(own->profile), out, NULL, err);
	return r < 0 ? r : outfile_commit(out, err);
}
