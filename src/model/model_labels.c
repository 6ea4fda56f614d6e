/* SPDX-License-Identifier: Apache-2.0 */
/* The labels of a sample: a table of their providers. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "model/model.h"
#include "model/syscall_name.h"
#include "proc/cgroups.h"

/* One label of one sample. If neither member is set, the sample has no such label. */
struct label_value {
	bool is_number;
	int64_t number;
	const char *text; /* at most max_bytes of it; NULL or empty: none */
	size_t max_bytes;
};

struct label_provider {
	const char *key;
	struct label_value (*value)(const struct sample *s);
	unsigned int use; /* enum model_label_use, added up */
};

static const char *const stop_names[] = {
#define X(stop, value, machine, people, advice) [value] = machine,
#include "bpf/stop_reasons.def"
#undef X
};

static bool is_without_stack(uint8_t stop)
{
	return PA_STOPS_WITHOUT_STACK >> stop & 1;
}

static struct label_value pid_label(const struct sample *s)
{
	return (struct label_value){ .is_number = true, .number = s->pid };
}

static struct label_value tid_label(const struct sample *s)
{
	return (struct label_value){ .is_number = true, .number = s->tid };
}

static struct label_value comm_label(const struct sample *s)
{
	return (struct label_value){ .text = s->comm, .max_bytes = s->comm_bytes };
}

static struct label_value thread_label(const struct sample *s)
{
	return (struct label_value){ .text = s->thread, .max_bytes = s->comm_bytes };
}

static struct label_value truncated_label(const struct sample *s)
{
	bool is_truncated = s->stop != PA_STOP_END && !is_without_stack(s->stop);

	return (struct label_value){ .text = is_truncated ? stop_names[s->stop] : NULL,
				     .max_bytes = SIZE_MAX };
}

/* A kernel task is not expected to have a user stack. */
static struct label_value no_user_stack_label(const struct sample *s)
{
	bool has_none = is_without_stack(s->stop) && s->stop != PA_STOP_KERNEL;

	return (struct label_value){ .text = has_none ? stop_names[s->stop] : NULL,
				     .max_bytes = SIZE_MAX };
}

static struct label_value syscall_label(const struct sample *s)
{
	bool is_wanted = s->wait && s->syscall_nr >= 0;

	return (struct label_value){ .text = is_wanted ? syscall_name(s->syscall_nr) : NULL,
				     .max_bytes = SIZE_MAX };
}

/* Only where it differs: in a PID namespace of its own. */
static struct label_value ns_pid_label(const struct sample *s)
{
	return (struct label_value){ .is_number = s->ns_pid && s->ns_pid != s->pid,
				     .number = s->ns_pid };
}

#define PROCESS_LABEL (MODEL_LABEL_OF_PROCESS | MODEL_LABEL_DROPPABLE | MODEL_LABEL_SETTABLE)

/* In the order in which they appear in a profile. */
static const struct label_provider providers[MODEL_NR_LABELS] = {
	{ "pid", pid_label, MODEL_LABEL_OF_PROCESS },
	{ "tid", tid_label, MODEL_LABEL_DROPPABLE },
	{ "comm", comm_label, PROCESS_LABEL },
	{ "thread", thread_label, MODEL_LABEL_DROPPABLE },
#define TRUNCATED 4
	{ "truncated", truncated_label, 0 },
	{ "no_user_stack", no_user_stack_label, 0 },
	{ "syscall", syscall_label, MODEL_LABEL_DROPPABLE },
	{ "ns_pid", ns_pid_label, PROCESS_LABEL },
};

/* The labels of everything in one cgroup, after those of the sample itself: texts of a struct
 * cgroup, interned once. */
static const struct {
	const char *key;
	size_t offset;
} of_cgroups[MODEL_NR_CGROUP_LABELS] = {
	{ "pod_uid", offsetof(struct cgroup, pod_uid) },
	{ "container_id", offsetof(struct cgroup, container_id) },
	{ "cgroup_path", offsetof(struct cgroup, path) },
	{ "pod_name", offsetof(struct cgroup, pod_name) },
	{ "namespace", offsetof(struct cgroup, pod_namespace) },
	{ "container_name", offsetof(struct cgroup, container_name) },
};

static const char *text_of(const struct cgroup *cgroup, unsigned int label)
{
	return *(const char *const *)((const char *)cgroup + of_cgroups[label].offset);
}

#define STATE_KEY "state"

/* The bit of a label that is provided here, among those of the sample or of its cgroup. */
static uint32_t label_bit(unsigned int number)
{
	return 1u << number;
}

int model_label_use(const char *key, uint32_t *ret_bit)
{
	for (unsigned int i = 0; i < MODEL_NR_LABELS; i++)
		if (strcmp(key, providers[i].key) == 0) {
			*ret_bit = label_bit(i);
			return (int)providers[i].use;
		}
	for (unsigned int i = 0; i < MODEL_NR_CGROUP_LABELS; i++)
		if (strcmp(key, of_cgroups[i].key) == 0) {
			*ret_bit = label_bit(MODEL_NR_LABELS + i);
			return PROCESS_LABEL;
		}
	return strcmp(key, STATE_KEY) == 0 ? 0 : -ENOENT;
}

/* Returns text, or NULL if there is no such label. */
static const char *value_text(const struct label_value *v, char text[MODEL_LABEL_TEXT_SIZE])
{
	int max = v->max_bytes < MODEL_LABEL_TEXT_SIZE ? (int)v->max_bytes : MODEL_LABEL_TEXT_SIZE;

	if (v->is_number)
		(void)snprintf(text, MODEL_LABEL_TEXT_SIZE, "%lld", (long long)v->number);
	else if (v->text && v->text[0])
		(void)snprintf(text, MODEL_LABEL_TEXT_SIZE, "%.*s", max, v->text);
	else
		return NULL;
	return text;
}

void model_list_labels(const struct sample *s, struct model_label_texts *texts,
		       struct process_labels_draft *d)
{
	_Static_assert(MODEL_NR_LABELS + MODEL_NR_CGROUP_LABELS <= PROCESS_LABELS_KNOWN_MAX,
		       "every label of a process has room");
	for (unsigned int i = 0; i < MODEL_NR_LABELS; i++) {
		struct label_value v = providers[i].value(s);
		const char *text = providers[i].use & MODEL_LABEL_OF_PROCESS
					   ? value_text(&v, texts->texts[i])
					   : NULL;

		if (text)
			d->known[d->nr_known++] = (struct process_label){ providers[i].key, text };
	}
	for (unsigned int i = 0; s->cgroup && i < MODEL_NR_CGROUP_LABELS; i++) {
		const char *text = text_of(s->cgroup, i);

		if (text && text[0])
			d->known[d->nr_known++] = (struct process_label){ of_cgroups[i].key, text };
	}
}

int model_init_labels(struct model *m)
{
	int r = 0;

	for (unsigned int i = 0; i < MODEL_NR_LABELS && r == 0; i++)
		r = profile_string(m->profile, providers[i].key, &m->label_keys[i]);
	for (unsigned int i = 0; i < MODEL_NR_CGROUP_LABELS && r == 0; i++)
		r = profile_string(m->profile, of_cgroups[i].key, &m->cgroup_keys[i]);
	return r < 0 ? r : profile_string(m->profile, STATE_KEY, &m->state_key);
}

int model_add_state_label(struct model *m, uint32_t labels, const char *state, uint32_t *ret_id)
{
	struct profile_span span = m->profile->label_sets[labels];
	struct profile_label all[MODEL_MAX_LABELS];
	int r;

	memcpy(all, m->profile->labels + span.first, span.nr * sizeof(all[0]));
	all[span.nr] = (struct profile_label){ .key = m->state_key };
	r = profile_string(m->profile, state, &all[span.nr].str);
	return r < 0 ? r : profile_label_set(m->profile, all, span.nr + 1, ret_id);
}

uint32_t model_truncated_key(const struct model *m)
{
	return m->label_keys[TRUNCATED];
}

/* An empty text is not a label: string 0 means that the label is a number. */
static int add_label(struct model *m, uint32_t key, const struct label_value *v,
		     struct profile_label *labels, uint32_t *nr)
{
	struct profile_label l = { .key = key, .num = v->number };
	int r = 0;

	if (!v->is_number && v->text)
		r = strtab_intern_n(&m->profile->strings, v->text, v->max_bytes, &l.str);
	if (r == 0 && (v->is_number || l.str))
		labels[(*nr)++] = l;
	return r;
}

static int intern_cgroup(struct model *m, const struct cgroup *cgroup)
{
	struct cgroup_strings *to = &m->cgroups[cgroup->number];
	int r = 0;

	for (unsigned int i = 0; i < MODEL_NR_CGROUP_LABELS && r == 0; i++)
		if (text_of(cgroup, i))
			r = profile_string(m->profile, text_of(cgroup, i), &to->values[i]);
	to->is_known = r == 0;
	return r;
}

static int cgroup_strings(struct model *m, const struct cgroup *cgroup,
			  const struct cgroup_strings **ret_strings)
{
	int r = ARRAY_RESERVE(m->cgroups, m->cap_cgroups, cgroup->number + 1, CGROUPS_MAX);

	if (r < 0)
		return r;
	while (m->nr_cgroups <= cgroup->number)
		m->cgroups[m->nr_cgroups++] = (struct cgroup_strings){ 0 };
	*ret_strings = &m->cgroups[cgroup->number];
	return (*ret_strings)->is_known ? 0 : intern_cgroup(m, cgroup);
}

static int add_cgroup_labels(struct model *m, const struct cgroup *cgroup, uint32_t dropped,
			     struct profile_label *labels, uint32_t *nr)
{
	const struct cgroup_strings *strings;
	int r = cgroup_strings(m, cgroup, &strings);

	for (unsigned int i = 0; i < MODEL_NR_CGROUP_LABELS && r == 0; i++)
		if (strings->values[i] && !(dropped & label_bit(MODEL_NR_LABELS + i)))
			labels[(*nr)++] = (struct profile_label){ .key = m->cgroup_keys[i],
								  .str = strings->values[i] };
	return r;
}

static int add_process_labels(struct model *m, const struct label_changes *c,
			      struct profile_label *labels, uint32_t *nr)
{
	int r = 0;

	for (uint32_t i = 0; i < c->nr_added && r == 0; i++) {
		struct profile_label *l = &labels[(*nr)++];

		*l = (struct profile_label){ 0 };
		r = profile_string(m->profile, c->added[i].key, &l->key);
		if (r == 0)
			r = profile_string(m->profile, c->added[i].value, &l->str);
	}
	return r;
}

int model_label_set(struct model *m, const struct sample *s, uint32_t *ret_id)
{
	const struct label_changes *changes = process_labels_find(m->process_labels, s);
	struct profile_label labels[MODEL_MAX_LABELS];
	uint32_t nr = 0;
	int r = 0;

	for (unsigned int i = 0; i < MODEL_NR_LABELS && r == 0; i++) {
		struct label_value v = providers[i].value(s);

		if (!(changes->dropped & label_bit(i)))
			r = add_label(m, m->label_keys[i], &v, labels, &nr);
	}
	if (r == 0 && s->cgroup)
		r = add_cgroup_labels(m, s->cgroup, changes->dropped, labels, &nr);
	if (r == 0)
		r = add_process_labels(m, changes, labels, &nr);
	return r < 0 ? r : profile_label_set(m->profile, labels, nr, ret_id);
}
