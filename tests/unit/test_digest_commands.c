/* SPDX-License-Identifier: Apache-2.0 */
#include "digest/commands.h"
#include "model.h"

static bool is_process(const struct profile *p, const struct process_share *s, int64_t pid,
		       const char *comm, int64_t count, int64_t in_kernel)
{
	return s->pid == pid && strcmp(profile_str(p, s->comm), comm) == 0 && s->count == count &&
	       s->in_kernel == in_kernel;
}

static bool is_command(const struct profile *p, const struct command_share *s, const char *comm,
		       uint32_t nr_processes, int64_t count, int64_t in_kernel)
{
	return strcmp(profile_str(p, s->comm), comm) == 0 && s->nr_processes == nr_processes &&
	       s->count == count && s->in_kernel == in_kernel;
}

/* The labels of a thread. */
static uint32_t thread(struct profile *p, const char *comm, int64_t pid, int64_t tid)
{
	struct profile_label l[3] = {
		{ .key = model_string(p, "pid"), .num = pid },
		{ .key = model_string(p, "tid"), .num = tid },
		{ .key = model_string(p, "comm"), .str = model_string(p, comm) },
	};
	uint32_t id;

	must(profile_label_set(p, l, 3, &id) == 0);
	return id;
}

static struct profile *model_of_make(void)
{
	struct profile *p = model_empty();
	uint32_t f = model_bare_location(p, PROFILE_NONE, 1), none = 0;

	model_add(p, &f, 1, thread(p, "make", 1, 1), 2);
	model_add(p, &f, 1, thread(p, "sh", 10, 10), 1);
	model_add(p, &f, 1, thread(p, "cc1", 10, 10), 40);
	model_add(p, &f, 1, thread(p, "cc1", 11, 11), 30);
	model_add(p, &f, 1, thread(p, "cc1", 11, 12), 5);
	model_add(p, &none, 0, thread(p, "cc1", 11, 12), 5);
	model_add(p, &f, 1, thread(p, "as", 12, 12), 2);
	profile_count_in_kernel(p, thread(p, "cc1", 11, 11), 7);
	profile_count_in_kernel(p, thread(p, "cc1", 11, 12), 2);
	profile_count_in_kernel(p, thread(p, "make", 1, 1), 3);
	(void)thread(p, "gone", 13, 13);
	return p;
}

static void test_processes(void)
{
	struct profile *p = model_of_make();
	struct process_share *s;
	int64_t sum = 0;
	uint32_t nr;

	must(digest_processes(p, &s, &nr) == 0);
	for (uint32_t i = 0; i < nr; i++)
		sum += s[i].count;
	ok(nr == 5 && sum == 85, "processes: all samples are in one of them");
	ok(is_process(p, &s[0], 10, "cc1", 40, 0) && is_process(p, &s[1], 11, "cc1", 40, 9),
	   "processes: threads count for their process, the most first, then by PID");
	ok(is_process(p, &s[2], 12, "as", 2, 0) && is_process(p, &s[3], 1, "make", 2, 2),
	   "processes: equal ones are in the order of their names");
	ok(is_process(p, &s[4], 10, "sh", 1, 0), "processes: before an execve() it is another one");
	free(s);
	profile_free(p);
}

static void test_commands(void)
{
	struct profile *p = model_of_make();
	struct process_share *s;
	struct command_share *c;
	uint32_t nr_processes, nr;

	must(digest_processes(p, &s, &nr_processes) == 0);
	must(digest_commands(p, s, nr_processes, &c, &nr) == 0);
	ok(nr == 4 && is_command(p, &c[0], "cc1", 2, 80, 9),
	   "commands: processes of one name are one command");
	ok(is_command(p, &c[1], "as", 1, 2, 0) && is_command(p, &c[2], "make", 1, 2, 2) &&
		   is_command(p, &c[3], "sh", 1, 1, 0),
	   "commands: the most samples first, then by name");
	free(c);
	free(s);
	profile_free(p);
}

static void test_without_labels(void)
{
	struct profile *p = model_empty();
	uint32_t f = model_bare_location(p, PROFILE_NONE, 1), labels;
	struct process_share *s;
	struct command_share *c;
	uint32_t nr;

	must(digest_processes(p, &s, &nr) == 0 && nr == 0);
	ok(digest_commands(p, s, nr, &c, &nr) == 0 && nr == 0,
	   "commands: a profile without samples has none");
	free(c);
	free(s);
	must(profile_label_set(p, NULL, 0, &labels) == 0);
	model_add(p, &f, 1, labels, 3);
	must(digest_processes(p, &s, &nr) == 0);
	ok(nr == 1 && is_process(p, &s[0], 0, "", 3, 0),
	   "processes: samples without labels are one without a name");
	free(s);
	profile_free(p);
}

static void test_many(void)
{
	struct profile *p = model_empty();
	uint32_t f = model_bare_location(p, PROFILE_NONE, 1), nr_processes, nr;
	struct process_share *s;
	struct command_share *c;
	char comm[16];

	for (int64_t i = 0; i < 100000; i++) {
		snprintf(comm, sizeof(comm), "c%d", (int)(i % 1000));
		model_add(p, &f, 1, thread(p, comm, i, i), 1);
	}
	must(digest_processes(p, &s, &nr_processes) == 0);
	must(digest_commands(p, s, nr_processes, &c, &nr) == 0);
	ok(nr_processes == 100000 && nr == 1000 && c[0].nr_processes == 100 && c[999].count == 100,
	   "commands: 100,000 processes of 1,000 commands");
	free(c);
	free(s);
	profile_free(p);
}

int main(void)
{
	test_processes();
	test_commands();
	test_without_labels();
	test_many();
	return tap_done();
}
