/* SPDX-License-Identifier: Apache-2.0 */
/* What a sample's record becomes in the model. */
#include "replay.h"
#include "tap.h"

static struct capture *new_capture(void)
{
	struct world_config cfg = {
		.proc_root = "/proc", .kallsyms_path = "/dev/null", .all = true, .max_fds = 8
	};
	struct capture *c = NULL;

	must(capture_new(&cfg, NULL, &c) == 0);
	return c;
}

/* The keys of the labels that a sample of this comm and thread gets, each with '#' if it is a
 * number. */
static const char *labels_of(const char *comm, const char *thread)
{
	static char keys[256];
	struct capture *c = new_capture();
	struct {
		struct pa_sample s;
		uint64_t period;
	} r = { .s = { .head = { PA_RECORD_SAMPLE, REPLAY_PARENT, 100 },
		       .nr_values = 1,
		       .tid = REPLAY_PARENT,
		       .flags = PA_SAMPLE_KERNEL_TASK,
		       .stop = PA_STOP_KERNEL } };
	const struct profile *p = c->model->profile;

	memcpy(r.s.comm, comm, strlen(comm));
	memcpy(r.s.thread, thread, strlen(thread));
	must(capture_record(c, &r, sizeof(r)) == 0 && capture_settle(c, true) == 0);
	must(p->nr_samples == 1);
	keys[0] = '\0';
	for (uint32_t i = 0; i < p->label_sets[p->samples[0].labels].nr; i++) {
		const struct profile_label *l =
			&p->labels[p->label_sets[p->samples[0].labels].first + i];
		size_t n = strlen(keys);

		snprintf(keys + n, sizeof(keys) - n, "%s%s ", profile_str(p, l->key),
			 l->str ? "" : "#");
	}
	capture_free(c);
	return keys;
}

static void test_labels(void)
{
	const char *got = labels_of("comm", "thread");

	ok(strcmp(got, "pid# tid# comm thread ") == 0, "names are strings: %s", got);
	got = labels_of("", "thread");
	ok(strcmp(got, "pid# tid# thread ") == 0, "an empty comm is not a label: %s", got);
	got = labels_of("", "");
	ok(strcmp(got, "pid# tid# ") == 0, "an empty thread name is not a label: %s", got);
}

int main(void)
{
	test_labels();
	return tap_done();
}
