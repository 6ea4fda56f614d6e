/* SPDX-License-Identifier: Apache-2.0 */
/* Labels that a caller adds to processes or drops: who is asked when, what is taken, what it may cost. */
#include <stdint.h>

#include "replay.h"
#include "tap.h"

#define PARENT 900001 /* no real processes */
#define CHILD 900002
#define KERNEL_TASK 2

struct caller {
	unsigned int nr_asked;
	pid_t last_pid;
	char last_known[512]; /* "key=value;…" */
	int result;
	void (*edit)(struct process_labels_draft *d);
};

static int ask(void *ctx, struct process_labels_draft *d)
{
	struct caller *c = ctx;
	size_t at = 0;

	c->nr_asked++;
	c->last_pid = d->sample->pid;
	for (uint32_t i = 0; i < d->nr_known && at < sizeof(c->last_known); i++)
		at += (size_t)snprintf(c->last_known + at, sizeof(c->last_known) - at, "%s=%s;",
				       d->known[i].key, d->known[i].value);
	if (c->edit)
		c->edit(d);
	return c->result;
}

/* A capture of two profiles that ask one caller. */
struct scene {
	struct caller caller;
	struct process_labels *labels;
	struct world *world;
	struct capture first, second; /* they share the world and the pipe */
};

static void scene_init(struct scene *sc, size_t max_bytes, uint32_t max_processes)
{
	struct world_config cfg = { .proc_root = "/proc",
				    .kallsyms_path = "/dev/null",
				    .all = true };
	struct process_labels_config asking = { .ask = ask,
						.max_bytes = max_bytes,
						.max_processes = max_processes };
	struct model_config model = { .values = &cpu_values };
	struct pipe *pipe;

	*sc = (struct scene){ 0 };
	must(world_new(&cfg, NULL, &sc->world) == 0 && pipe_new(sc->world, &pipe) == 0);
	asking.ctx = &sc->caller;
	asking.tracker = sc->world->tracker;
	must(process_labels_new(&asking, &sc->labels) == 0);
	model.process_labels = sc->labels;
	sc->first = (struct capture){ .world = sc->world, .pipe = pipe };
	sc->second = sc->first;
	must(model_new(&model, sc->world, &sc->first.model) == 0 &&
	     model_new(&model, sc->world, &sc->second.model) == 0);
	must(pipe_add_sink(pipe, 0, &sc->first.model->sink) == 0 &&
	     pipe_add_sink(pipe, 0, &sc->second.model->sink) == 0);
}

static void scene_done(struct scene *sc)
{
	pipe_free(sc->first.pipe);
	model_free(sc->first.model);
	model_free(sc->second.model);
	process_labels_free(sc->labels);
	world_free(sc->world);
}

static void sample_of(struct scene *sc, uint64_t time_ns, pid_t pid)
{
	uint64_t none = 0, kernel = REPLAY_KERNEL_PC;
	bool is_kernel = pid == KERNEL_TASK;

	must(replay_sample(&sc->first, time_ns, pid, is_kernel ? &kernel : &none, is_kernel, &none,
			   0, is_kernel ? PA_SAMPLE_KERNEL_TASK | PA_SAMPLE_IN_KERNEL : 0,
			   is_kernel ? PA_STOP_KERNEL : PA_STOP_EXEC) == 0 &&
	     capture_settle(&sc->first, false) == 0);
}

/* The label of the newest set of labels; numbers as "#1". NULL: it has none. */
static const char *label(const struct capture *c, const char *key)
{
	static char text[64];
	const struct profile *p = c->model->profile;
	struct profile_span set = p->label_sets[p->nr_label_sets - 1];
	const char *found = NULL;

	for (uint32_t i = 0; i < set.nr; i++) {
		const struct profile_label *l = &p->labels[set.first + i];

		if (strcmp(profile_str(p, l->key), key) != 0)
			continue;
		must(!found); /* a key occurs once */
		(void)snprintf(text, sizeof(text), "#%lld", (long long)l->num);
		found = l->str ? profile_str(p, l->str) : text;
	}
	return found;
}

static bool has(const struct capture *c, const char *key, const char *value)
{
	const char *text = label(c, key);

	return value ? text && strcmp(text, value) == 0 : !text;
}

/* Samples of a process that belong to a team. */
static int64_t nr_of(const struct capture *c, pid_t pid, const char *team)
{
	const struct profile *p = c->model->profile;
	int64_t nr = 0;

	for (uint32_t i = 0; i < p->nr_samples; i++) {
		struct profile_span set = p->label_sets[p->samples[i].labels];
		bool is_pid = false, is_team = false;

		for (uint32_t k = 0; k < set.nr; k++) {
			const struct profile_label *l = &p->labels[set.first + k];

			is_pid |= !l->str && strcmp(profile_str(p, l->key), "pid") == 0 &&
				  l->num == pid;
			is_team |= l->str && strcmp(profile_str(p, l->str), team) == 0;
		}
		nr += is_pid && is_team ? profile_value(p, i, 0) : 0;
	}
	return nr;
}

static void add_team(struct process_labels_draft *d)
{
	must(process_labels_set(d, "team", "search") == 0);
}

static void test_once(void)
{
	struct scene sc;

	scene_init(&sc, 0, 0);
	sc.caller.edit = add_team;
	must(replay_task(&sc.first, EVENT_EXEC, 10, PARENT, 0) == 0);
	sample_of(&sc, 100, PARENT);
	ok(sc.caller.nr_asked == 1 && sc.caller.last_pid == PARENT,
	   "a process is asked for once for two profiles");
	ok(strstr(sc.caller.last_known, "pid=900001;") &&
		   strstr(sc.caller.last_known, "comm=replay;") &&
		   !strstr(sc.caller.last_known, "thread"),
	   "the labels that all samples of a process have are known: %s", sc.caller.last_known);
	ok(has(&sc.first, "team", "search") && has(&sc.second, "team", "search") &&
		   has(&sc.first, "pid", "#900001") && has(&sc.first, "comm", "replay"),
	   "the first sample has the added label, in both profiles");
	for (uint64_t i = 0; i < 100; i++)
		sample_of(&sc, 200 + i, PARENT);
	ok(sc.caller.nr_asked == 1 && has(&sc.second, "team", "search"),
	   "later samples have the label, and nobody is asked again");
	must(replay_task(&sc.first, EVENT_FORK, 400, CHILD, PARENT) == 0);
	sample_of(&sc, 410, CHILD);
	ok(sc.caller.nr_asked == 2 && sc.caller.last_pid == CHILD, "a child is asked for itself");
	must(replay_task(&sc.first, EVENT_EXEC, 420, CHILD, 0) == 0);
	sc.caller.edit = NULL;
	sample_of(&sc, 430, CHILD);
	ok(sc.caller.nr_asked == 3 && has(&sc.first, "team", NULL),
	   "another program in the same process is asked for, and loses the labels of the one "
	   "before");
	sample_of(&sc, 415, CHILD);
	ok(sc.caller.nr_asked == 3 && nr_of(&sc.first, CHILD, "search") == 2,
	   "a late sample of the program before has that one's labels");
	sample_of(&sc, 440, KERNEL_TASK);
	sample_of(&sc, 450, KERNEL_TASK);
	ok(sc.caller.nr_asked == 4, "a thread of the kernel is asked for once");
	scene_done(&sc);
}

static void edit_all(struct process_labels_draft *d)
{
	must(process_labels_drop(d, "tid") == 0 && process_labels_drop(d, "thread") == 0);
	must(process_labels_set(d, "comm", "first") == 0 &&
	     process_labels_set(d, "comm", "renamed") == 0);
	must(process_labels_set(d, "gone", "1") == 0 && process_labels_drop(d, "gone") == 0);
	must(process_labels_drop(d, "container_id") == 0);
	must(process_labels_set(d, "bell", "a\a\nb") == 0);
}

static void test_edits(void)
{
	struct scene sc;

	scene_init(&sc, 0, 0);
	sc.caller.edit = edit_all;
	sample_of(&sc, 100, PARENT);
	ok(has(&sc.first, "tid", NULL) && has(&sc.first, "thread", NULL),
	   "labels of samples can be dropped for a process");
	ok(has(&sc.first, "comm", "renamed"),
	   "a label of a process is replaced, by the last value");
	ok(has(&sc.first, "gone", NULL), "an added label can be dropped");
	ok(has(&sc.first, "pid", "#900001") && has(&sc.first, "no_user_stack", "exec"),
	   "other labels stay");
	scene_done(&sc);
}

static struct {
	int set[4], drop[4], twice, reserved_set[8], reserved_drop[4], unknown, limits[5];
} got;

static void misuse(struct process_labels_draft *d)
{
	static const char *const not_set[] = { "pid",   "tid",       "thread",       "syscall",
					       "state", "truncated", "no_user_stack" };
	static const char *const not_dropped[] = { "pid", "state", "truncated", "no_user_stack" };
	char key[300], value[5000];

	memset(key, 'k', sizeof(key));
	memset(value, 'v', sizeof(value));
	got.set[0] = process_labels_set(d, NULL, "v");
	got.set[1] = process_labels_set(d, "k", NULL);
	got.set[2] = process_labels_set(d, "", "v");
	got.set[3] = process_labels_set(d, "k", "");
	got.drop[0] = process_labels_drop(d, NULL);
	for (unsigned int i = 0; i < 7; i++)
		got.reserved_set[i] = process_labels_set(d, not_set[i], "v");
	for (unsigned int i = 0; i < 4; i++)
		got.reserved_drop[i] = process_labels_drop(d, not_dropped[i]);
	got.unknown = process_labels_drop(d, "nowhere");
	key[257] = value[4097] = '\0';
	got.limits[0] = process_labels_set(d, key, "v");
	got.limits[1] = process_labels_set(d, "k", value);
	key[256] = value[4096] = '\0';
	got.limits[2] = process_labels_set(d, key, value);
	for (int i = 0; i < 16; i++) {
		(void)snprintf(key, sizeof(key), "k%d", i);
		got.limits[3] = process_labels_set(d, key, "v");
	}
	got.limits[4] = process_labels_set(d, "k3", "w");
}

static bool all_are(const int *results, unsigned int nr, int r)
{
	for (unsigned int i = 0; i < nr; i++)
		if (results[i] != r)
			return false;
	return true;
}

static void test_misuse(void)
{
	struct scene sc;

	scene_init(&sc, 0, 0);
	sc.caller.edit = misuse;
	sample_of(&sc, 100, PARENT);
	ok(all_are(got.set, 4, -EINVAL) && got.drop[0] == -EINVAL,
	   "NULL and empty texts are errors");
	ok(all_are(got.reserved_set, 7, -EPERM), "labels of single samples cannot be set");
	ok(all_are(got.reserved_drop, 4, -EPERM),
	   "labels that say what a sample is cannot be dropped");
	ok(got.unknown == -ENOENT, "dropping a label that nobody knows is an error");
	ok(got.limits[0] == -ENAMETOOLONG && got.limits[1] == -ENAMETOOLONG && got.limits[2] == 0,
	   "the longest key and value are taken, longer ones refused");
	ok(got.limits[3] == -ENOSPC && got.limits[4] == 0,
	   "one label too many is refused, and another value of one of them taken");
	ok(has(&sc.first, "k3", "w") && has(&sc.first, "k14", "v") && has(&sc.first, "k15", NULL),
	   "a sample with the most labels is kept with all of them");
	ok(process_labels_stats(sc.labels).nr_asked == 1 &&
		   process_labels_stats(sc.labels).nr_failed == 0,
	   "refused labels do not count as a failure");
	scene_done(&sc);
}

static void test_failure(void)
{
	struct scene sc;

	scene_init(&sc, 0, 0);
	sc.caller.edit = edit_all;
	sc.caller.result = -EIO;
	sample_of(&sc, 100, PARENT);
	sample_of(&sc, 110, PARENT);
	ok(has(&sc.first, "comm", "replay") && has(&sc.first, "bell", NULL) &&
		   has(&sc.first, "tid", "#900001"),
	   "after a failure the process keeps its labels");
	ok(sc.caller.nr_asked == 1 && process_labels_stats(sc.labels).nr_failed == 1,
	   "a failure is counted, and nobody asked again");
	scene_done(&sc);
}

static unsigned int nr_texts;

static void add_new_text(struct process_labels_draft *d)
{
	char value[4000];

	memset(value, 'v', sizeof(value));
	(void)snprintf(value, sizeof(value), "%u", nr_texts++);
	value[strlen(value)] = '-';
	value[sizeof(value) - 1] = '\0';
	must(process_labels_set(d, "text", value) == 0);
}

/* Each process has a long text of its own. */
static void test_memory(void)
{
	struct process_labels_stats st;
	struct scene sc;

	scene_init(&sc, 1u << 20, 0);
	sc.caller.edit = add_new_text;
	for (pid_t i = 0; i < 1000; i++)
		sample_of(&sc, 100 + (uint64_t)i, PARENT + i);
	st = process_labels_stats(sc.labels);
	ok(st.nr_asked == 1000 && st.nr_no_room > 700 && st.nr_no_room < 800,
	   "memory: labels of %llu of 1,000 processes found room in 1 MiB",
	   (unsigned long long)(1000 - st.nr_no_room));
	ok(sc.first.model->stats.nr_kept == 1000 && has(&sc.first, "text", NULL),
	   "memory: samples without room for labels are kept with the usual ones");
	scene_done(&sc);
	scene_init(&sc, 0, 1);
	sc.caller.edit = add_team;
	sample_of(&sc, 100, PARENT);
	sample_of(&sc, 110, CHILD);
	ok(sc.caller.nr_asked == 1 && has(&sc.first, "team", NULL) &&
		   process_labels_stats(sc.labels).nr_no_room == 2,
	   "memory: for a process that cannot be remembered nobody is asked");
	scene_done(&sc);
}

/* Processes that come and go for a long time: the limit is for those that live. */
static void test_forgotten(void)
{
	const uint64_t minute_ns = 60000000000ull;
	struct scene sc;

	scene_init(&sc, 0, 1000);
	sc.caller.edit = add_team;
	must(replay_task(&sc.first, EVENT_EXEC, 1, PARENT, 0) == 0);
	sample_of(&sc, 2, PARENT);
	for (pid_t i = 0; i < 20000; i++) {
		uint64_t at = 1000 + (uint64_t)i * (minute_ns / 100);

		must(replay_task(&sc.first, EVENT_FORK, at, CHILD + i, PARENT) == 0);
		sample_of(&sc, at + 1, CHILD + i);
		must(replay_task(&sc.first, EVENT_EXIT, at + 2, CHILD + i, 0) == 0);
		if (i % 100 == 0)
			world_forget(sc.world, at + 3, at + 3);
	}
	ok(sc.caller.nr_asked == 20001 && process_labels_stats(sc.labels).nr_no_room == 0,
	   "memory: processes that are gone make room for 20,000 others");
	sample_of(&sc, 20000 * minute_ns, PARENT);
	ok(sc.caller.nr_asked == 20001 && has(&sc.first, "team", "search"),
	   "memory: a process that lives is not forgotten, however long it sleeps");
	scene_done(&sc);
}

int main(void)
{
	struct sample any = { 0 };

	ok(process_labels_find(NULL, &any)->nr_added == 0 &&
		   process_labels_stats(NULL).nr_asked == 0,
	   "without a caller nothing is changed");
	test_once();
	test_edits();
	test_misuse();
	test_failure();
	test_memory();
	test_forgotten();
	return tap_done();
}
