/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/file_summary.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "agent/summary_places.h"
#include "digest/label_values.h"
#include "digest/labels.h"
#include "digest/sums.h"
#include "digest/truncations.h"

#define MAX_LABEL_VALUES 1000
#define TEXT_BYTES 512
#define DEFAULT_LABEL "comm"
#define NO_LABEL "[none]"

void file_summary_done(struct file_summary *s)
{
	summary_digest_done(&s->digest);
	free(s->label_values);
	free(s->value_types);
	free(s->label_keys);
	strtab_done(&s->texts);
}

/* Keeps a copy of a composed text; NULL if out of memory. */
static const char *keep_text(struct file_summary *s, const char *text)
{
	uint32_t id;

	return strtab_intern(&s->texts, text, &id) < 0 ? NULL : strtab_get(&s->texts, id);
}

static int list_types(struct file_summary *s, const struct profile *p)
{
	char text[TEXT_BYTES];

	s->pub.value_types = s->value_types = calloc((size_t)p->nr_types + 1, sizeof(char *));
	if (!s->value_types)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nr_types; i++) {
		(void)snprintf(text, sizeof(text), "%s/%s", profile_str(p, p->types[i].type),
			       profile_str(p, p->types[i].unit)); /* may be truncated */
		s->value_types[i] = keep_text(s, text);
		if (!s->value_types[i])
			return -ENOMEM;
		s->pub.nr_value_types++;
	}
	return 0;
}

/* Lists the label keys in the order of first use. Most samples have the same few keys. */
static int list_label_keys(struct file_summary *s, const struct profile *p)
{
	_cleanup_(freep) bool *is_known = calloc(p->strings.nr_strings, sizeof(*is_known));
	size_t nr = 0;

	if (!is_known)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nr_labels; i++) {
		nr += !is_known[p->labels[i].key];
		is_known[p->labels[i].key] = true;
	}
	s->pub.label_keys = s->label_keys = calloc(nr + 1, sizeof(char *));
	if (!s->label_keys)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nr_labels; i++) {
		if (is_known[p->labels[i].key])
			s->label_keys[s->pub.nr_label_keys++] = profile_str(p, p->labels[i].key);
		is_known[p->labels[i].key] = false;
	}
	return 0;
}

/* "value", "4096 bytes"; NULL if out of memory. */
static const char *label_value_text(struct file_summary *s, const struct profile *p,
				    const struct label_value *v)
{
	const char *unit = profile_str(p, v->unit);
	char text[TEXT_BYTES];

	if (v->is_missing)
		return NO_LABEL;
	if (v->str)
		return profile_str(p, v->str);
	(void)snprintf(text, sizeof(text), "%" PRId64 "%s%s", v->num, *unit ? " " : "", unit);
	return keep_text(s, text);
}

static int list_label_values(struct file_summary *s, const struct profile *p, const char *label)
{
	uint32_t key = label_key(p, label ? label : DEFAULT_LABEL), nr;
	_cleanup_(freep) struct label_value *found = NULL;
	int r;

	if (!key && label && !p->nr_samples) { /* which labels it would have is not known */
		s->pub.label = keep_text(s, label);
		return s->pub.label ? 0 : -ENOMEM;
	}
	if (!key)
		return label ? -ENOENT : 0;
	r = digest_label_values(p, key, &found, &nr);
	if (r < 0)
		return r;
	s->pub.label = profile_str(p, key);
	s->pub.label_values_seen = nr;
	nr = nr < MAX_LABEL_VALUES ? nr : MAX_LABEL_VALUES;
	s->pub.label_values = s->label_values = calloc((size_t)nr + 1, sizeof(*s->label_values));
	if (!s->label_values)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		s->label_values[i].value = label_value_text(s, p, &found[i]);
		s->label_values[i].nr_samples = (uint64_t)found[i].count;
		if (!s->label_values[i].value)
			return -ENOMEM;
		s->pub.nr_label_values++;
	}
	return 0;
}

static int by_unnamed_samples(const void *left, const void *right)
{
	const struct pa_unnamed_stat *a = left, *b = right;

	return a->nr_samples > b->nr_samples ? -1 : a->nr_samples < b->nr_samples;
}

/* Lists the files whose functions have no names in the profile. */
static int list_unnamed(struct file_summary *s, const struct profile *p)
{
	_cleanup_(freep) struct pa_unnamed_stat *all =
		calloc((size_t)p->nr_mappings + 1, sizeof(*all));
	_cleanup_(freep) uint64_t *counts = NULL;
	int r = all ? summary_count_unnamed(p, &counts) : -ENOMEM;
	uint32_t nr = 0;

	if (r < 0)
		return r;
	for (uint32_t i = 0; i <= p->nr_mappings; i++) {
		if (!counts[i])
			continue;
		s->pub.unnamed_samples += counts[i];
		all[nr++] = (struct pa_unnamed_stat){ .file = summary_mapping_path(p, i),
						      .nr_samples = counts[i],
						      .why = "the profile has only addresses" };
	}
	qsort(all, nr, sizeof(*all), by_unnamed_samples);
	s->pub.unnamed_seen = nr;
	s->pub.nr_unnamed = nr < FILE_MAX_UNNAMED ? nr : FILE_MAX_UNNAMED;
	memcpy(s->unnamed, all, s->pub.nr_unnamed * sizeof(*all));
	s->pub.unnamed = s->unnamed;
	return 0;
}

/* The part of a comment after that prefix; NULL if there is no such comment. */
static const char *comment_after(const struct profile *p, const char *start)
{
	for (uint32_t i = 0; i < p->nr_comments; i++)
		if (!strncmp(profile_str(p, p->comments[i]), start, strlen(start)))
			return profile_str(p, p->comments[i]) + strlen(start);
	return NULL;
}

static bool is_kernel_only(const struct profile *p, const struct profile_sample *s)
{
	const struct profile_span *stack = &p->stacks[s->stack];
	uint32_t outermost = stack->nr
				     ? p->locations[p->frames[stack->first + stack->nr - 1]].mapping
				     : PROFILE_NONE;

	return outermost != PROFILE_NONE && p->mappings[outermost].kind == PROFILE_MAPPING_KERNEL;
}

/* Counts complete stacks. Kernel threads have no label for that: their stacks end in the kernel. */
static void count_complete(struct pa_summary *s, const struct profile *p, uint32_t truncated)
{
	uint32_t none = label_key(p, "no_user_stack");

	for (uint32_t i = 0; i < p->nr_samples; i++) {
		const struct profile_sample *sample = &p->samples[i];
		uint64_t count = (uint64_t)profile_count(p, i);

		if (truncated && label_text(p, sample->labels, truncated))
			continue;
		if ((none && label_text(p, sample->labels, none)) || is_kernel_only(p, sample))
			s->no_user_stack += count;
		else
			s->stacks_complete += count;
	}
}

static struct summary_place truncation_place(const void *ctx, const struct truncation *t)
{
	const struct profile *p = ctx;

	return (struct summary_place){
		.ids = { t->reason,
			 t->mapping < p->nr_mappings ? p->mappings[t->mapping].path : 0 },
		.mapping = t->mapping,
		.nr_most = (uint64_t)t->count,
		.nr_samples = (uint64_t)t->count,
	};
}

static int list_truncations(struct file_summary *s, const struct profile *p, uint32_t label)
{
	struct summary_places places;
	int r = summary_places_of_truncations(p, label, truncation_place, p, &places);

	if (r < 0)
		return r;
	s->pub.truncations_samples = places.nr_samples;
	s->pub.truncations_seen = places.nr;
	s->pub.nr_truncations = places.nr < FILE_MAX_TRUNCATIONS ? places.nr : FILE_MAX_TRUNCATIONS;
	for (size_t i = 0; i < s->pub.nr_truncations; i++) {
		const char *reason = profile_str(p, places.all[i].ids[0]);
		const char *text = summary_stop_text(reason);

		s->truncations[i] = (struct pa_truncation_stat){
			.reason = reason,
			.text = text ? text : reason,
			.file = summary_mapping_path(p, places.all[i].mapping),
			.nr_samples = places.all[i].nr_samples,
		};
	}
	free(places.all);
	s->pub.truncations = s->truncations;
	return 0;
}

/* Only files that this program wrote say which stacks are complete. */
static int add_completeness(struct file_summary *s, const struct profile *p)
{
	uint32_t truncated = label_key(p, "truncated");

	if (!comment_after(p, "# perf-agent "))
		return 0;
	count_complete(&s->pub, p, truncated);
	return truncated ? list_truncations(s, p, truncated) : 0;
}

static void add_facts(struct file_summary *s, const struct profile *p,
		      const struct file_values *values)
{
	const struct profile_type *type = &p->types[p->count_type];
	int64_t sum = 0;

	summary_add_item_sizes(&s->pub);
	s->pub.sz = sizeof(s->pub);
	s->pub.version = PERFAGENT_VERSION;
	s->pub.source_file = values->path;
	s->pub.event = values->are_samples ? "cpu-clock" : profile_str(p, type->type);
	s->pub.period = values->are_samples ? (uint64_t)p->period : 0;
	s->pub.count_type = profile_str(p, type->type);
	s->pub.count_unit = profile_str(p, type->unit);
	s->pub.value_type = values->are_samples ? NULL : profile_str(p, type->type);
	s->pub.value_unit = values->are_samples ? NULL : profile_str(p, type->unit);
	s->pub.start_time_ns = p->time_ns > 0 ? (uint64_t)p->time_ns : 0;
	s->pub.duration_ns = p->duration_ns > 0 ? (uint64_t)p->duration_ns : 0;
	s->pub.target_text = comment_after(p, "target: ");
	s->pub.host = comment_after(p, "# host: ");
	s->pub.end_reason = comment_after(p, "# end: ");
	s->pub.end_signal = comment_after(p, "# end signal: ");
	s->pub.steal_ns = s->pub.targets_cpu_ns = PA_UNKNOWN;
	for (uint32_t i = 0; i < p->nr_samples; i++)
		sum = add_saturated(sum, profile_count(p, i));
	s->pub.samples = (uint64_t)sum;
	for (uint32_t i = 0; i < p->nr_label_sets; i++)
		s->pub.samples_in_kernel += (uint64_t)p->in_kernel[i];
	s->pub.nr_stacks = p->nr_stacks;
	s->pub.nr_locations = p->nr_locations;
	for (uint32_t i = 0; i < p->nr_locations; i++)
		s->pub.nr_locations_named += p->locations[i].is_named;
}

/* Counts processes; one that called execve() is still one process. */
static int count_processes(struct pa_summary *s, const struct profile *p)
{
	_cleanup_(freep) struct label_value *found = NULL;
	uint32_t key = label_key(p, "pid"), nr = 0;
	int r = key ? digest_label_values(p, key, &found, &nr) : 0;

	for (uint32_t i = 0; i < nr; i++)
		s->nr_processes += !found[i].is_missing && found[i].num > 0;
	return r;
}

int file_summary_fill(struct file_summary *s, const struct profile *p,
		      const struct file_values *values)
{
	int r = strtab_init(&s->texts);

	if (r < 0)
		return r;
	add_facts(s, p, values);
	r = list_types(s, p);
	if (r == 0)
		r = list_label_keys(s, p);
	if (r == 0)
		r = list_label_values(s, p, values->label);
	if (r == 0)
		r = list_unnamed(s, p);
	if (r == 0)
		r = add_completeness(s, p);
	if (r == 0)
		r = summary_digest_fill(&s->digest, p, values->max_functions, &s->pub);
	return r < 0 ? r : count_processes(&s->pub, p);
}
