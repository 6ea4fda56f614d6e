/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/process_names.h"
#include "fake_proc.h"

static void add_process_of(const struct fake *f, unsigned int user, pid_t pid, const char *comm,
			   char state)
{
	char name[64], text[128];

	snprintf(name, sizeof(name), "%d/comm", (int)pid);
	snprintf(text, sizeof(text), "%s\n", comm);
	fake_write(f, name, text);
	snprintf(name, sizeof(name), "%d/status", (int)pid);
	snprintf(text, sizeof(text), "State:\t%c\nUid:\t%u\t%u\t%u\t%u\nNSpid:\t%d\n", state, user,
		 user, user, user, (int)pid);
	fake_write(f, name, text);
}

static void add_process(const struct fake *f, pid_t pid, const char *comm, char state)
{
	add_process_of(f, 1, pid, comm, state);
}

/* How many PIDs there are afterwards, those of given[] among them; negative: the error. */
static int find(const struct fake *f, const char *name, const pid_t *given, size_t nr_given,
		struct settings *s, struct pa_error *err)
{
	const char *const names[] = { name };
	int r;

	*s = (struct settings){ .o = { .process_names = names, .nr_process_names = 1 } };
	for (size_t i = 0; i < nr_given; i++)
		must(settings_add_pid(s, given[i]) == 0);
	r = process_names_find(s, &f->procfs, NULL, err);
	return r < 0 ? r : (int)s->o.nr_pids;
}

static void forget(struct settings *s)
{
	free((void *)(uintptr_t)s->o.pids);
}

static void test_matches(const struct fake *f)
{
	struct settings s;
	struct pa_error err = { 0 };

	ok(find(f, "redis", NULL, 0, &s, NULL) == 2, "names: every process of that name is found");
	forget(&s);
	ok(find(f, "redis", (pid_t[]){ 7, 20 }, 2, &s, NULL) == 3 && s.o.pids[0] == 7 &&
		   s.o.pids[1] == 20,
	   "names: a process whose PID is given too is listed once");
	forget(&s);
	ok(find(f, "redi", NULL, 0, &s, &err) == -ESRCH &&
		   strcmp(err.field, "process_names") == 0 && strstr(err.text, "'redi'"),
	   "names: the beginning of a name is not a match: %s", err.text);
	forget(&s);
	ok(find(f, "redis-server", NULL, 0, &s, NULL) == -ESRCH,
	   "names: a name with more letters is not a match");
	forget(&s);
	ok(find(f, "abcdefghijklmno", NULL, 0, &s, NULL) == 1,
	   "names: a name of 15 bytes is found");
	forget(&s);
	ok(find(f, "abcdefghijklmnopqr", NULL, 0, &s, NULL) == 1,
	   "names: of a longer name, the 15 bytes that the kernel keeps are compared");
	forget(&s);
	ok(find(f, "with\nnewline", NULL, 0, &s, NULL) == 1,
	   "names: a name with a newline is found");
	forget(&s);
	ok(find(f, "dead", NULL, 0, &s, NULL) == -ESRCH, "names: a zombie is not a match");
	forget(&s);
	ok(find(f, "self", NULL, 0, &s, NULL) == -ESRCH, "names: the own process is not a match");
	forget(&s);
}

static void test_found_again(const struct fake *f)
{
	static const char *const names[] = { "other", "redis" };
	const struct settings s = { .o = { .process_names = names, .nr_process_names = 2 } };

	ok(process_names_match(&s, &f->procfs, 30),
	   "names: a process that was found still matches");
	add_process(f, 30, "sshd", 'R');
	ok(!process_names_match(&s, &f->procfs, 30),
	   "names: a process of another name that has the PID now does not match");
	ok(!process_names_match(&s, &f->procfs, 99),
	   "names: a PID without a process does not match");
	add_process(f, 30, "redis", 'R');
}

/* Above the highest PID that a kernel gives: none is the test's own, which is left out. */
#define FIRST_PID 5000000
#define ROOTS_PID 6000000
#define MODEST_PID 7000000

static unsigned int nr_between(const struct settings *s, pid_t from, pid_t nr)
{
	unsigned int found = 0;

	for (size_t i = 0; i < s->o.nr_pids; i++)
		found += s->o.pids[i] >= from && s->o.pids[i] < from + nr;
	return found;
}

static void test_many(const struct fake *f)
{
	struct settings s;

	for (pid_t pid = FIRST_PID; pid < FIRST_PID + 300; pid++)
		add_process(f, pid, "worker", 'R');
	ok(find(f, "worker", NULL, 0, &s, NULL) == 300,
	   "names: 300 processes of one name are found");
	forget(&s);
	for (pid_t pid = FIRST_PID + 300; pid <= FIRST_PID + SETTINGS_MAX_PIDS; pid++)
		add_process(f, pid, "worker", 'R');
	ok(find(f, "worker", NULL, 0, &s, NULL) == SETTINGS_MAX_PIDS,
	   "names: of more than 4096 processes, 4096 are taken");
	forget(&s);
	for (pid_t pid = ROOTS_PID; pid < ROOTS_PID + 10; pid++)
		add_process_of(f, 0, pid, "worker", 'R');
	for (pid_t pid = MODEST_PID; pid < MODEST_PID + 20; pid++)
		add_process_of(f, 2, pid, "worker", 'R');
	ok(find(f, "worker", (pid_t[]){ 20 }, 1, &s, NULL) == SETTINGS_MAX_PIDS &&
		   s.o.pids[0] == 20 && nr_between(&s, ROOTS_PID, 10) == 10,
	   "names: a user who starts thousands keeps none of root's processes out");
	ok(nr_between(&s, MODEST_PID, 20) == 20,
	   "names: a user who starts thousands keeps none of another user's out");
	forget(&s);
}

int main(void)
{
	struct fake f;

	fake_init(&f);
	add_process(&f, 20, "redis", 'S');
	add_process(&f, 30, "redis", 'R');
	add_process(&f, 31, "redisx", 'R');
	add_process(&f, 40, "abcdefghijklmno", 'S');
	add_process(&f, 41, "with\nnewline", 'S');
	add_process(&f, 50, "dead", 'Z');
	if (getpid() > 100)
		add_process(&f, getpid(), "self", 'R');
	test_matches(&f);
	test_found_again(&f);
	test_many(&f);
	fake_done(&f);
	return tap_done();
}
