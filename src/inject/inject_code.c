/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code that runs in the target. It is compiled into a section of its own and copied from there,
 * so it uses only its argument: no globals, no literals, no calls except through the page.
 * tests/unit/test_inject_code.c runs a copy of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "inject/page.h"

#if defined(__clang__)
#define PLAIN_CODE __attribute__((no_sanitize("all")))
#else
#define PLAIN_CODE                                                                                 \
	__attribute__((no_sanitize("address", "undefined", "thread"), noclone,                     \
		       no_instrument_function, no_profile_instrument_function,                     \
		       optimize("O2", "no-stack-protector", "no-tree-switch-conversion",           \
				"no-jump-tables")))
#endif
#define INJECT_CODE __attribute__((section("inject_code"), used, noinline)) PLAIN_CODE
#define INJECT_PART static inline __attribute__((always_inline)) PLAIN_CODE

INJECT_PART long system_call(long nr, long a, long b, long c, long d)
{
	long ret;

#if defined(__x86_64__)
	register long r10 __asm__("r10") = d;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
			 : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	ret = x0;
#endif
	return ret;
}

/*
 * The interpreter opens its perf map with the GIL, and without O_NONBLOCK: a FIFO that anyone has laid
 * there would stop the program. So the file is made, or looked at, before. In a directory with the
 * sticky bit, such as /tmp, nobody else can then replace it.
 */
INJECT_PART enum inject_result check_map(struct inject_page *p)
{
	long fd = system_call(SYS_openat, AT_FDCWD, (long)p->map_path,
			      O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	struct stat st;
	long r;

	if (fd == -ENOENT || fd == -EROFS || fd == -ENOSPC || fd == -EMFILE || fd == -ENFILE)
		return INJECT_REFUSED;
	if (fd < 0)
		return INJECT_FOREIGN_MAP;
	r = system_call(SYS_fstat, fd, (long)&st, 0, 0);
	(void)system_call(SYS_close, fd, 0, 0, 0);
	if (r < 0 || !S_ISREG(st.st_mode) || st.st_nlink != 1 ||
	    st.st_uid != (uid_t)system_call(SYS_geteuid, 0, 0, 0, 0))
		return INJECT_FOREIGN_MAP;
	return INJECT_SWITCHED;
}

/* 1, 0, or -1: there is no such function, or it failed. */
INJECT_PART int is_active(struct inject_page *p)
{
	void *fn = p->get_object(p->active_name), *answer;
	int r;

	if (!fn)
		return -1;
	answer = p->call_function(fn, p->no_args);
	if (!answer)
		return -1;
	r = p->is_true(answer);
	p->dec_ref(answer);
	return r;
}

INJECT_PART int call(struct inject_page *p, const char *name, const char *format)
{
	void *fn = p->get_object(name), *answer;

	if (!fn)
		return -1;
	answer = p->call_function(fn, format, p->backend);
	if (!answer)
		return -1;
	p->dec_ref(answer);
	return 0;
}

INJECT_PART enum inject_result activate(struct inject_page *p)
{
	enum inject_result map = check_map(p);

	if (map != INJECT_SWITCHED)
		return map;
	if (call(p, p->activate_name, p->string_arg) == 0 && is_active(p) == 1) {
		p->was_switched_by_us = 1;
		return INJECT_SWITCHED;
	}
	/* An interpreter that has used up its 254 activations is left half switched on. */
	p->clear_error();
	(void)call(p, p->deactivate_name, p->no_args);
	return INJECT_REFUSED;
}

INJECT_PART enum inject_result deactivate(struct inject_page *p)
{
	if (call(p, p->deactivate_name, p->no_args) < 0)
		return INJECT_REFUSED;
	p->was_switched_by_us = 0;
	return INJECT_SWITCHED;
}

INJECT_PART enum inject_result switch_it(struct inject_page *p)
{
	int before;

	if (system_call(SYS_getpid, 0, 0, 0, 0) != p->pid)
		return INJECT_FORKED;
	before = is_active(p);
	if (before < 0)
		return INJECT_MISSING;
	if (before == (p->op == INJECT_ACTIVATE))
		return INJECT_UNCHANGED;
	return p->op == INJECT_ACTIVATE ? activate(p) : deactivate(p);
}

/* Either this sees the cancellation, or the agent sees that this has started. */
INJECT_CODE int inject_pending(void *page)
{
	struct inject_page *p = page;
	enum inject_result result = INJECT_CANCELLED;

	__atomic_store_n(&p->is_started, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&p->is_cancelled, __ATOMIC_SEQ_CST)) {
		result = switch_it(p);
		p->clear_error();
	}
	/* An earlier call that was left behind may be made as well: the first of them counts. */
	if (p->result == INJECT_PENDING)
		__atomic_store_n(&p->result, result, __ATOMIC_SEQ_CST);
	__atomic_store_n(&p->nr_done, p->nr_done + 1, __ATOMIC_SEQ_CST);
	return 0;
}

/* 0 for flags: any thread of the main interpreter may make the call. */
INJECT_CODE void inject_queue(struct inject_page *p)
{
	p->queue_result = p->add_pending_call(p->interpreter_main(), p->pending, p, 0);
	__atomic_store_n(&p->is_queued, 1, __ATOMIC_SEQ_CST);
}
