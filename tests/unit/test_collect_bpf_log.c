/* SPDX-License-Identifier: Apache-2.0 */
/* What libbpf prints goes to the log of whoever called it, and the print function is given back. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>

#include "collect/bpf_log.h"
#include "collect/ksym_iter.h"
#include "collect/privileges.h"
#include "collect/programs.h"
#include "tap.h"

#define MANY 200

/* A caller: its log, and what came there. */
struct listener {
	struct log log;
	pthread_t thread;
	char name[32];
	unsigned int nr_lines, nr_own, nr_newlines;
	bool has_begin, has_reason, has_end;
	enum pa_log_level begin_level;
};

static unsigned int nr_outside;

static int print_outside(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	__atomic_add_fetch(&nr_outside, 1, __ATOMIC_RELAXED);
	return 0;
}

static void hear(void *ctx, enum pa_log_level level, const char *text)
{
	struct listener *l = ctx;

	l->nr_lines++;
	l->nr_own += strstr(text, l->name) != NULL;
	l->nr_newlines += strchr(text, '\n') != NULL;
	if (strstr(text, "BEGIN PROG LOAD LOG")) {
		l->has_begin = true;
		l->begin_level = level;
	}
	l->has_reason |= strstr(text, "R5 !read_ok") != NULL;
	l->has_end |= strstr(text, "END PROG LOAD LOG") != NULL;
}

static struct listener listener_of(const char *name)
{
	struct listener l = { 0 };

	(void)snprintf(l.name, sizeof(l.name), "%s", name);
	return l;
}

/* Makes libbpf print a warning that has the name in it: there is no such file. */
static void provoke(const char *name)
{
	struct bpf_object *obj = bpf_object__open_file(name, NULL);

	if (obj)
		bpf_object__close(obj);
}

static libbpf_print_fn_t printer(void)
{
	libbpf_print_fn_t fn = libbpf_set_print(NULL);

	(void)libbpf_set_print(fn);
	return fn;
}

static void *provoke_often(void *ctx)
{
	struct listener *l = ctx;

	for (int i = 0; i < MANY; i++) {
		struct bpf_log_scope scope = bpf_log_begin(&l->log);

		provoke(l->name);
		bpf_log_end(&scope);
	}
	return NULL;
}

static void *provoke_outside(void *ctx)
{
	for (int i = 0; i < MANY; i++)
		provoke("/nowhere/outside");
	return NULL;
}

static void test_threads(void)
{
	struct listener a = listener_of("/nowhere/first"), b = listener_of("/nowhere/second");
	unsigned int before = nr_outside;
	pthread_t other;

	a.log = (struct log){ hear, &a };
	b.log = (struct log){ hear, &b };
	must(pthread_create(&a.thread, NULL, provoke_often, &a) == 0);
	must(pthread_create(&b.thread, NULL, provoke_often, &b) == 0);
	must(pthread_create(&other, NULL, provoke_outside, NULL) == 0);
	pthread_join(a.thread, NULL);
	pthread_join(b.thread, NULL);
	pthread_join(other, NULL);
	ok(a.nr_own >= MANY && a.nr_own == a.nr_lines && b.nr_own >= MANY && b.nr_own == b.nr_lines,
	   "two threads: each log has its own messages and no others (%u of %u, %u of %u)",
	   a.nr_own, a.nr_lines, b.nr_own, b.nr_lines);
	ok(nr_outside - before >= MANY, "messages of a third thread go where they went before (%u)",
	   nr_outside - before);
	ok(printer() == print_outside, "after two threads the print function is restored");
}

static void test_nesting(void)
{
	struct listener a = listener_of("/nowhere/outer");
	struct bpf_log_scope outer, inner;

	a.log = (struct log){ hear, &a };
	outer = bpf_log_begin(&a.log);
	inner = bpf_log_begin(NULL);
	provoke("/nowhere/inner");
	ok(a.nr_lines == 0, "a scope without a log is silent");
	bpf_log_end(&inner);
	provoke("/nowhere/outer");
	ok(a.nr_own > 0 && a.nr_own == a.nr_lines,
	   "after a silent scope the enclosing scope gets messages again");
	bpf_log_end(&outer);
	ok(printer() == print_outside, "after nested scopes the print function is restored");
}

static int print_stranger(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

static void test_replaced_meanwhile(void)
{
	struct bpf_log_scope scope = bpf_log_begin(NULL);

	(void)libbpf_set_print(print_stranger);
	bpf_log_end(&scope);
	ok(printer() == print_stranger, "a print function that was set meanwhile stays");
	(void)libbpf_set_print(print_outside);
}

static bool is_breaking;

/* libbpf asks before it loads a program of this section: reading a register that nobody has written is
 * what no verifier lets pass. */
static int prepare(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	static const struct bpf_insn bad = { .code = BPF_ALU64 | BPF_MOV | BPF_X,
					     .dst_reg = BPF_REG_0,
					     .src_reg = BPF_REG_5 };
	size_t nr = bpf_program__insn_cnt(prog);
	struct bpf_insn *insns;
	int r;

	if (!is_breaking)
		return 0;
	insns = calloc(nr, sizeof(*insns));
	must(insns);
	memcpy(insns, bpf_program__insns(prog), nr * sizeof(*insns));
	insns[0] = bad;
	r = bpf_program__set_insns(prog, insns, nr);
	free(insns);
	return r;
}

static void test_rejected(void)
{
	struct programs_config cfg = { .select = PA_SELECT_ALL,
				       .has_oncpu = true,
				       .ring_bytes = 4096 };
	struct listener a = listener_of("pa_oncpu");
	struct pa_error err = { 0 };
	struct programs *p = NULL;
	int r;

	a.log = (struct log){ hear, &a };
	is_breaking = true;
	r = programs_load(&cfg, &a.log, &p, &err);
	is_breaking = false;
	ok(r < 0 && !p && err.code == -r, "a program that the verifier rejects: %s", err.text);
	ok(a.has_begin && a.has_reason && a.has_end,
	   "the verifier's log is in the caller's, with the reason (%u lines)", a.nr_lines);
	ok(a.begin_level == PA_LOG_INFO && a.nr_newlines == 0,
	   "the verifier's log comes line by line, as information");
	ok(printer() == print_outside, "after a rejected program the print function is restored");
}

static void test_accepted(bool has_debug)
{
	struct programs_config cfg = { .select = PA_SELECT_ALL,
				       .has_oncpu = true,
				       .ring_bytes = 4096 };
	struct listener a = listener_of("libbpf: ");
	struct pa_error err = { 0 };
	struct programs *p = NULL;
	int fd = -1;

	a.log = (struct log){ hear, &a, has_debug };
	ok(programs_load(&cfg, &a.log, &p, &err) == 0, "the real programs are loaded%s%s",
	   err.code ? ": " : "", err.text);
	ok((a.nr_own > 0) == has_debug, "libbpf's debug messages are %s the log (%u lines)",
	   has_debug ? "in" : "not in", a.nr_own);
	programs_free(p);
	if (ksym_iter_open(&a.log, &fd) == 0)
		close(fd);
	ok(printer() == print_outside, "loading leaves no print function behind");
}

int main(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = prepare);

	must(libbpf_register_prog_handler("perf_event", BPF_PROG_TYPE_PERF_EVENT, 0, &opts) > 0);
	(void)libbpf_set_print(print_outside);
	test_threads();
	test_nesting();
	test_replaced_meanwhile();
	if (privilege_has_cap(CAP_BPF) || privilege_has_cap(CAP_SYS_ADMIN)) {
		test_rejected();
		test_accepted(true);
		test_accepted(false);
	} else {
		tap_skip("loading a program that is rejected needs CAP_BPF");
	}
	return tap_done();
}
