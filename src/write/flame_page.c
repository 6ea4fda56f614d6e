/* SPDX-License-Identifier: Apache-2.0 */
#include "write/flame_page.h"

#include <errno.h>

#include "flame_shell.inc"
#include "write/flame_profile.h"
#include "write/writer.h"

struct flame_page {
	struct flame_tables tables;
	const struct flame_view *views; /* borrowed */
	size_t nr_views;
	uint32_t title; /* title, as a string of the tables */
	/* names of the views, as strings of the tables */
	uint32_t names[FLAME_MAX_VIEWS];
	struct flame_profile profiles[FLAME_MAX_VIEWS]; /* profiles of the views */
	/* the profiles to compare with, of views that have one */
	struct flame_profile base_profiles[FLAME_MAX_VIEWS];
	struct text_out out;
};

static struct flame_page *flame_page_free(struct flame_page *page)
{
	if (!page)
		return NULL;
	flame_tables_done(&page->tables);
	for (size_t i = 0; i < page->nr_views; i++) {
		flame_profile_done(&page->profiles[i]);
		flame_profile_done(&page->base_profiles[i]);
	}
	free(page);
	return NULL;
}
DEFINE_CLEANUP(struct flame_page *, flame_page_free)

static int fill_page(struct flame_page *page, const char *title)
{
	const struct profile *first = page->views[0].profile;
	int r = flame_tables_init(&page->tables);

	page->tables.cancel = page->out.cancel;
	if (r == 0)
		r = flame_tables_string(&page->tables,
					title ? title : profile_str(first, first->program),
					&page->title);
	for (size_t i = 0; i < page->nr_views && r == 0; i++) {
		const struct flame_view *v = &page->views[i];

		r = flame_tables_string(&page->tables, v->name, &page->names[i]);
		if (r == 0)
			r = flame_profile_init(&page->profiles[i], v->profile, &page->tables,
					       FLAME_MAX_FRAMES);
		if (r == 0 && v->base)
			r = flame_profile_init(&page->base_profiles[i], v->base, &page->tables,
					       FLAME_MAX_FRAMES);
	}
	return r;
}

static void put_strings(struct text_out *out, const struct strtab *strings)
{
	text_out_text(out, ",\n\"strings\":[");
	for (uint32_t i = 0; i < strings->nr_strings; i++) {
		text_out_text(out, i ? ",\n" : "");
		text_out_json(out, strtab_get(strings, i));
	}
	text_out_text(out, "]");
}

/* Writes rows of numbers by column. */
static void put_rows(struct text_out *out, const char *name, const uint32_t *numbers, size_t nr)
{
	text_out_text(out, name);
	for (size_t i = 0; i < nr; i++) {
		text_out_text(out, i ? "," : "");
		text_out_number(out, numbers[i]);
	}
	text_out_text(out, "]");
}

static void put_tables(struct text_out *out, const struct flame_tables *t)
{
	_Static_assert(sizeof(*t->functions) == 5 * sizeof(uint32_t), "columns");
	_Static_assert(sizeof(*t->frames) == 3 * sizeof(uint32_t), "columns");
	put_strings(out, &t->strings);
	put_rows(out, ",\n\"functions\":[", (const uint32_t *)(const void *)t->functions,
		 5 * (size_t)t->nr_functions);
	put_rows(out, ",\n\"frames\":[", (const uint32_t *)(const void *)t->frames,
		 3 * (size_t)t->nr_frames);
}

static void put_views(struct flame_page *page)
{
	struct text_out *out = &page->out;

	text_out_text(out, ",\n\"views\":[");
	for (size_t i = 0; i < page->nr_views; i++) {
		text_out_text(out, i ? ",\n{\"name\":" : "{\"name\":");
		text_out_number(out, page->names[i]);
		text_out_text(out, ",\"profile\":");
		flame_profile_write(&page->profiles[i], &page->tables, out);
		if (page->views[i].base) {
			text_out_text(out, ",\"base\":");
			flame_profile_write(&page->base_profiles[i], &page->tables, out);
		}
		text_out_text(out, "}");
	}
	text_out_text(out, "]");
}

static int put_page(struct flame_page *page)
{
	struct text_out *out = &page->out;

	text_out_text(out, flame_shell_before);
	text_out_text(out, "{\"format\":1,\"version\":\"" PERFAGENT_VERSION "\",\"title\":");
	text_out_number(out, page->title);
	put_tables(out, &page->tables);
	put_views(page);
	text_out_text(out, "}");
	text_out_text(out, flame_shell_after);
	return text_out_flush(out);
}

int flame_page_write(const struct flame_view *views, size_t nr, const char *title,
		     struct outfile *out, const atomic_bool *cancel, struct pa_error *err)
{
	_cleanup_(flame_page_freep) struct flame_page *page = NULL;
	int r = 0;

	if (nr == 0 || nr > FLAME_MAX_VIEWS)
		return error_set(err, EINVAL, "%zu profiles do not fit into the page '%s'", nr,
				 outfile_path(out));
	page = calloc(1, sizeof(*page));
	if (!page)
		r = -ENOMEM;
	if (r == 0) {
		page->views = views;
		page->nr_views = nr;
		text_out_init(&page->out, out, cancel, err);
		r = fill_page(page, title);
	}
	if (r == -ECANCELED)
		return text_out_flush(&page->out);
	if (r < 0)
		return error_set(err, -r, "%s while writing '%s'",
				 r == -ENOMEM ? "out of memory" : "too many names",
				 outfile_path(out));
	return put_page(page);
}

/* Writes a page for a single profile, which is named by what it measures: "cpu". */
static int write_one(const struct profile *p, struct outfile *out, const atomic_bool *cancel,
		     struct pa_error *err)
{
	const struct flame_view view = {
		.name = p->default_type < p->nr_types
				? profile_str(p, p->types[p->default_type].type)
				: "",
		.profile = p,
	};

	return flame_page_write(&view, 1, NULL, out, cancel, err);
}

const struct writer writer_flame_page = {
	.name = "flamegraph", .suffix = ".html", .write = write_one, .write_all = flame_page_write
};
