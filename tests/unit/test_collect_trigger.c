/* SPDX-License-Identifier: Apache-2.0 */
/* The list of triggers, with two that only write down what they are asked. */
#include "collect/trigger.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collect/programs.h"
#include "collect/trigger_offcpu.h"
#include "collect/trigger_oncpu.h"
#include "sample/sample.h"
#include "tap.h"

struct fake {
	uint32_t origin;
	uint64_t nr_lost;
};

static char calls[512];                        /* "name@origin " of each */
static int fail_new, fail_attach, fail_follow; /* of origin 1 */

static void note(const char *name, uint32_t origin)
{
	size_t n = strlen(calls);

	snprintf(calls + n, sizeof(calls) - n, "%s@%u ", name, origin);
}

static bool were(const char *expected)
{
	bool same = strcmp(calls, expected) == 0;

	if (!same)
		printf("# got '%s', expected '%s'\n", calls, expected);
	calls[0] = '\0';
	return same;
}

static uint32_t origin(const void *state)
{
	return ((const struct fake *)state)->origin;
}

static const struct value_type types[SAMPLE_MAX_VALUES + 1] = { { "things", "count" } };
static struct value_types values = { .types = types, .nr_types = 1 };

static int fake_new(const struct trigger_setup *setup, struct value_types *ret_values,
		    void **ret_state, struct pa_error *err)
{
	struct fake *f = calloc(1, sizeof(*f));

	must(f);
	note("new", setup->origin);
	f->origin = setup->origin;
	f->nr_lost = 10 * (setup->origin + 1);
	if (fail_new && setup->origin == 1) {
		free(f);
		return -EPERM;
	}
	*ret_values = values;
	ret_values->period = 100 + setup->origin;
	*ret_state = f;
	return 0;
}

static void fake_configure(void *state, const struct cpus *online, struct programs_config *cfg)
{
	note("configure", origin(state));
	cfg->records_per_s += 7 + origin(state);
}

static int fake_attach(void *state, struct programs *p, const struct cpus *online,
		       struct pa_error *err)
{
	note("attach", origin(state));
	return fail_attach && origin(state) == 1 ? -EACCES : 0;
}

static int fake_enable(void *state, uint64_t begin_ns)
{
	note("enable", origin(state) + (uint32_t)begin_ns);
	return 0;
}

static void fake_look(void *state, struct cpus *silent)
{
	cpus_remove(silent, origin(state)); /* number 0 has seen CPU 0, number 1 CPU 1 */
}

static int fake_follow(void *state, const struct cpus *online)
{
	note("follow", origin(state));
	return fail_follow && origin(state) == 0 ? -EBUSY : 0;
}

static void fake_disable(void *state, uint64_t end_ns)
{
	note("disable", origin(state) + (uint32_t)end_ns);
}

static uint64_t fake_nr_lost(const void *state)
{
	return ((const struct fake *)state)->nr_lost;
}

static int fake_account(void *state, struct trigger_account *ret_account)
{
	ret_account->due = 1000 + origin(state);
	return 0;
}

static void fake_detach(void *state)
{
	note("detach", origin(state));
}

static void fake_free(void *state)
{
	note("free", origin(state));
	free(state);
}

static const struct trigger whole = {
	.name = "whole",
	.create = fake_new,
	.configure = fake_configure,
	.attach = fake_attach,
	.enable = fake_enable,
	.look = fake_look,
	.follow = fake_follow,
	.disable = fake_disable,
	.nr_lost = fake_nr_lost,
	.account = fake_account,
	.detach = fake_detach,
	.free = fake_free,
};

/* Nothing but what has to be there. */
static const struct trigger least = {
	.name = "least",
	.create = fake_new,
	.attach = fake_attach,
	.account = fake_account,
	.detach = fake_detach,
	.free = fake_free,
};

static struct triggers *two(const struct trigger *second)
{
	const struct trigger *const list[] = { &whole, second };
	struct pa_options o = { 0 };
	struct triggers *t = NULL;
	int r = triggers_new(list, 2, &o, NULL, &t, NULL);

	return r < 0 ? NULL : t;
}

static void test_all_are_asked(void)
{
	struct triggers *t = two(&whole);
	struct programs_config cfg = { 0 };
	struct trigger_account a = { .nr_counts = 3 };
	struct cpus online = { 0 }, silent;

	must(t);
	ok(were("new@0 new@1 "), "the index in the list is the origin");
	ok(triggers_nr(t) == 2 && triggers_get(t, 1) == &whole &&
		   triggers_values(t, 1)->period == 101,
	   "each trigger has its own values");
	triggers_configure(t, &online, &cfg);
	ok(cfg.records_per_s == 15, "requirements of triggers add up");
	must(triggers_attach(t, NULL, &online, NULL) == 0 && triggers_enable(t, 100) == 0);
	triggers_look(t, &silent);
	ok(!cpus_has(&silent, 0) && !cpus_has(&silent, 1) && cpus_has(&silent, 2),
	   "a CPU is silent if no trigger has seen anything");
	ok(triggers_nr_lost(t) == 30, "losses of triggers add up");
	must(triggers_follow(t, &online) == 0);
	triggers_disable(t, 500);
	ok(were("configure@0 configure@1 attach@0 attach@1 enable@100 enable@101 follow@0 follow@1 "
		"disable@500 disable@501 "),
	   "each trigger is called, in the order of the list, with one begin and one end");
	ok(triggers_account(t, 1, &a) == 0 && a.due == 1001 && a.nr_counts == 0,
	   "an account begins empty");
	triggers_free(t);
	ok(were("detach@0 detach@1 free@0 free@1 "), "all triggers are destroyed");
}

static void test_least(void)
{
	struct triggers *t = two(&least);
	struct programs_config cfg = { 0 };
	struct cpus online = { 0 }, silent;

	must(t);
	triggers_configure(t, &online, &cfg);
	ok(triggers_attach(t, NULL, &online, NULL) == 0 && triggers_enable(t, 100) == 0 &&
		   triggers_follow(t, &online) == 0 && triggers_nr_lost(t) == 10,
	   "most callbacks are optional");
	triggers_look(t, &silent);
	ok(cpus_has(&silent, 1), "a trigger without a callback has seen nothing");
	triggers_disable(t, 500);
	triggers_free(t);
	calls[0] = '\0';
}

static void test_failures(void)
{
	struct triggers *t;
	struct cpus online = { 0 };

	fail_new = 1;
	ok(two(&whole) == NULL && were("new@0 new@1 detach@0 free@0 "),
	   "if one cannot be created, those before it are destroyed");
	fail_new = 0;
	t = two(&whole);
	must(t);
	fail_attach = 1;
	ok(triggers_attach(t, NULL, &online, NULL) == -EACCES,
	   "a trigger that cannot attach reports it");
	fail_attach = 0;
	triggers_detach(t);
	ok(triggers_attach(t, NULL, &online, NULL) == 0,
	   "after detaching, attaching can be tried again");
	calls[0] = '\0';
	fail_follow = 1;
	ok(triggers_follow(t, &online) == -EBUSY && were("follow@0 follow@1 "),
	   "a trigger that cannot follow a CPU does not affect others");
	fail_follow = 0;
	triggers_free(t);
	triggers_free(NULL);
	calls[0] = '\0';
}

static void refuses(struct value_types bad, const char *what)
{
	struct value_types good = values;

	values = bad;
	ok(two(&whole) == NULL, "%s is refused", what);
	values = good;
	calls[0] = '\0';
}

static void test_bad_values(void)
{
	struct pa_options o = { 0 };
	struct triggers *t;

	ok(triggers_new(NULL, 0, &o, NULL, &t, NULL) == 0 && triggers_nr(t) == 0,
	   "a session may take no samples");
	t = triggers_free(t);
	refuses((struct value_types){ types, 0 }, "a sample without a value");
	refuses((struct value_types){ types, SAMPLE_MAX_VALUES + 1 },
		"a sample with too many values");
	refuses((struct value_types){ types, 1, .count_type = 1 }, "a count index out of range");
	refuses((struct value_types){ types, 1, .shown_type = 1 }, "a shown value out of range");
	refuses((struct value_types){ types, 1, .default_type = 1 },
		"a default value out of range");
	values.nr_types = SAMPLE_MAX_VALUES;
	t = two(&whole);
	ok(t != NULL, "the maximum number of values is accepted");
	triggers_free(t);
	values.nr_types = 1;
	calls[0] = '\0';
}

static void test_counts_have_a_limit(void)
{
	struct trigger_account a = { 0 };

	for (int i = 0; i < TRIGGER_MAX_COUNTS + 5; i++) {
		trigger_count(&a, "name", "text", 1);
		trigger_lose(&a, "name", "text", 1);
	}
	ok(a.nr_counts == TRIGGER_MAX_COUNTS && a.nr_losses == TRIGGER_MAX_COUNTS,
	   "more triggers than fit are refused");
}

static void test_oncpu_values(void)
{
	const struct trigger *const list[] = { &trigger_oncpu };
	struct pa_options o = { .sample_rate_hz = 100 };
	struct programs_config cfg = { 0 };
	const struct value_types *v;
	struct cpus online = { 0 };
	struct triggers *t;

	must(triggers_new(list, 1, &o, NULL, &t, NULL) == 0);
	v = triggers_values(t, 0);
	ok(v->nr_types == 2 && strcmp(v->types[v->count_type].type, "samples") == 0 &&
		   strcmp(v->types[v->shown_type].type, "samples") == 0 &&
		   strcmp(v->types[v->default_type].unit, "nanoseconds") == 0 &&
		   v->period == 10000000,
	   "cpu-clock samples are worth their period in nanoseconds");
	cpus_add(&online, 0);
	cpus_add(&online, 5);
	triggers_configure(t, &online, &cfg);
	ok(cfg.records_per_s == 200, "two CPUs at 100 Hz are 200 records a second");
	triggers_free(t);
	o.event = PA_EVENT_CYCLES;
	must(triggers_new(list, 1, &o, NULL, &t, NULL) == 0);
	v = triggers_values(t, 0);
	ok(strcmp(v->types[v->default_type].type, "cycles") == 0 && v->period == 0,
	   "cycles samples have their own periods");
	triggers_free(t);
}

static uint64_t terms_of(const struct trigger_account *a)
{
	uint64_t sum = a->submitted;

	for (uint32_t i = 0; i < a->nr_counts; i++)
		sum += a->counts[i].count;
	for (uint32_t i = 0; i < a->nr_losses; i++)
		sum += a->losses[i].count;
	return sum;
}

static void test_oncpu_account(void)
{
	const struct pa_tick_stats cpus[3] = {
		{ .ticks = 10, .idle = 1, .other = 2, .outside = 3, .submitted = 4 },
		{ .ticks = 3, .ring_busy = 2, .nested = 1 },
		{ .ticks = 20, .idle = 5, .other = 5, .submitted = 8, .ring_full = 2 },
	};
	struct trigger_account a = { 0 };

	oncpu_account(cpus, 3, 36, &a);
	ok(a.due == 36 && terms_of(&a) == 36, "every tick ends in one place");
	ok(a.nr_losses == 4 && strcmp(a.losses[0].name, "not_delivered") == 0 &&
		   a.losses[0].count == 3,
	   "ticks that were never delivered are lost");
	ok(strcmp(a.losses[1].name, "ring_full") == 0 && a.losses[1].count == 2 &&
		   strcmp(a.losses[2].name, "ring_busy") == 0 && a.losses[2].count == 2 &&
		   strcmp(a.losses[3].name, "nested") == 0 && a.losses[3].count == 1,
	   "a full ring, a ring whose lock was busy and too many samples at once are told apart");
}

static void check_residual(const struct pa_wait_stats *st, const struct offcpu_found *found,
			   int64_t residual, const char *what)
{
	struct trigger_account a = { 0 };

	offcpu_account(st, found, &a);
	ok((int64_t)(a.due - terms_of(&a)) == residual, "%s", what);
}

static void test_offcpu_account(void)
{
	struct pa_wait_stats st = {
		.intervals = 100,
		.not_delivered = 1,
		.idle = 2,
		.other = 3,
		.outside = 4,
		.own = 3,
		.exited = 6,
		.other_state = 6,
		.too_short = 10,
		.summed = 20,
		.submitted = 15,
		.end_lost = 3,
		.no_end = 4,
	};
	struct offcpu_found found = {
		.nr_summed = 20, .nr_open = 8, .nr_open_short = 2, .nr_open_ran = 1
	};
	struct trigger_account a = { 0 };

	st.lost[PA_WAIT_RING_FULL] = 4;
	st.lost[PA_WAIT_RING_BUSY] = 3;
	st.lost[PA_WAIT_NESTED] = 2;
	st.lost[PA_WAIT_NO_ROOM] = 1;
	st.lost[PA_WAIT_HELPER] = 2;
	offcpu_account(&st, &found, &a);
	ok(a.due == 100 && terms_of(&a) == 100, "every interval ends in one place");
	ok(a.submitted == 20 + 15 + 8, "an interval that is open at the end is in the profile");
	ok(strcmp(a.counts[6].name, "too_short") == 0 && a.counts[6].count == 12,
	   "one that is open and too short is counted as too short");
	ok(strcmp(a.losses[2].name, "ring_full") == 0 && a.losses[2].count == 7,
	   "a full ring loses stacks and ends of intervals");
	ok(strcmp(a.counts[3].name, "agent") == 0 && a.counts[3].count == 5,
	   "processes that read for the agent are the agent's");
	ok(strcmp(a.counts[5].name, "other_states") == 0 && a.counts[5].count == 7,
	   "a thread that was running is not one that waits");
	check_residual(&st, &(struct offcpu_found){ 20, 7, 2, 1 }, 1,
		       "an open interval that is not found in the map is missing from the sum");
	check_residual(
		&st, &(struct offcpu_found){ 18, 8, 2, 1 }, 2,
		"intervals that were summed up and are not in the map are missing from the sum");
	check_residual(&st, &(struct offcpu_found){ 20, 9, 2, 1 }, -1,
		       "an interval that is counted twice makes the sum too large");
	st.no_end--;
	check_residual(&st, &found, 1, "an end that nobody has counted is not taken for a loss");
}

int main(void)
{
	test_all_are_asked();
	test_least();
	test_failures();
	test_bad_values();
	test_counts_have_a_limit();
	test_oncpu_values();
	test_oncpu_account();
	test_offcpu_account();
	return tap_done();
}
