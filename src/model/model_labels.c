/* SPDX-License-Identifier: Apache-2.0 */
/* The labels of a sample: a table of their providers. */
#include <string.h>

#include "model/model.h"
#include "model/syscall_name.h"

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

/* In the order in which they appear in a profile. */
static const struct label_provider providers[MODEL_NR_LABELS] = {
	{ "pid", pid_label },
	{ "tid", tid_label },
	{ "comm", comm_label },
	{ "thread", thread_label },
#define TRUNCATED 4
	{ "truncated", truncated_label },
	{ "no_user_stack", no_user_stack_label },
	{ "syscall", syscall_label },
};

int model_init_labels(struct model *m)
{
	int r = 0;

	for (unsigned int i = 0; i < MODEL_NR_LABELS && r == 0; i++)
		r = profile_string(m->profile, providers[i].key, &m->label_keys[i]);
	return r < 0 ? r : profile_string(m->profile, "state", &m->state_key);
}

int model_add_state_label(struct model *m, uint32_t labels, const char *state, uint32_t *ret_id)
{
	struct profile_span span = m->profile->label_sets[labels];
	struct profile_label all[MODEL_NR_LABELS + 1];
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

int model_label_set(struct model *m, const struct sample *s, uint32_t *ret_id)
{
	struct profile_label labels[MODEL_NR_LABELS];
	uint32_t nr = 0;
	int r = 0;

	for (unsigned int i = 0; i < MODEL_NR_LABELS && r == 0; i++) {
		struct label_value v = providers[i].value(s);

		r = add_label(m, m->label_keys[i], &v, labels, &nr);
	}
	return r < 0 ? r : profile_label_set(m->profile, labels, nr, ret_id);
}
