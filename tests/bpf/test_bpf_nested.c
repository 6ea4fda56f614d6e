/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two triggers on one CPU: ticks of a clock interrupt the samples that another program takes at system
 * calls. The target knows its own stack; every record of both must show exactly that.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bpf/thread_time.h"
#include "bpf/wait.h"
#include "tap.h"

#include "nested.skel.h"

#define DEPTH 48
#define TICK_NS 100000
#define RUN_MAX_S 20
#define NR_NESTED_WANTED 200
#define ORIGIN_SYSCALLS 1
#define PIDNS_INIT_INUM 0xEFFFFFFCu /* include/linux/proc_ns.h: PROC_PID_INIT_INO */
#define PF_KTHREAD 0x00200000

/* Shared with the target, which fills it before it makes its first system call in the loop. */
static struct truth {
	uint64_t returns[DEPTH];    /* of the functions 1 (the innermost) to DEPTH - 2 */
	uint64_t returns_at[DEPTH]; /* where they are on the stack */
	volatile bool is_ready;
} * truth;

/* ---- the target ---- */

static inline __attribute__((always_inline)) void spin_in_syscalls(void)
{
	truth->is_ready = true;
	for (;;) {
		long nr = SYS_getppid;

#if defined(__x86_64__)
		__asm__ volatile("syscall" : "+a"(nr) : : "rcx", "r11", "memory");
#else
		(void)syscall(nr);
#endif
	}
}

static void note_return(unsigned int nr, void *frame)
{
	uint64_t at = (uint64_t)(uintptr_t)frame + 8;

	truth->returns_at[nr] = at;
	memcpy(&truth->returns[nr], (const void *)(uintptr_t)at, 8);
}

static void odd(unsigned int nr);

static void even(unsigned int nr)
{
	note_return(nr, __builtin_frame_address(0));
	odd(nr - 1);
	__asm__ volatile(""); /* no tail call */
}

static void odd(unsigned int nr)
{
	note_return(nr, __builtin_frame_address(0));
	if (nr == 1)
		spin_in_syscalls();
	else
		even(nr - 1);
	__asm__ volatile("");
}

static void run_target(void)
{
	cpu_set_t one;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
	even(DEPTH - 2);
}

/* ---- what arrives ---- */

struct level {
	bool is_open; /* its stack is on its way */
	bool is_interrupted;
	uint32_t serial;
	uint32_t nr_seen; /* return addresses found in its pages */
};

struct seen {
	struct level levels[PA_MAX_NESTING];
	uint64_t nr[2]; /* by origin */
	uint64_t nr_nested, nr_bad, nr_bad_stack;
	uint64_t nr_stacks,
		nr_interrupted; /* whole ones; between whose pages another sample came */
};

static bool has_right_values(const struct pa_sample *s)
{
	const __u64 *v = pa_sample_values(s);

	if (s->origin == PA_ORIGIN_ONCPU)
		return s->nr_values == 1 && v[0] > 0;
	return s->nr_values == 2 && v[0] == SYS_getppid && v[1] == ~v[0];
}

/* The loop is in the innermost function. */
static bool has_right_frames(const struct pa_sample *s)
{
	const uint64_t *user = (const uint64_t *)pa_sample_user(s);

	if (s->nr_user < DEPTH || !(user[0] & PA_PC_EXACT))
		return false;
	for (unsigned int i = 1; i < DEPTH - 1; i++)
		if (user[i] != truth->returns[i])
			return false;
	return true;
}

static void see_sample(struct seen *seen, const struct pa_sample *s, size_t size, bool has_walk)
{
	uint32_t level = s->serial & PA_SERIAL_LEVEL_MASK;

	if (size != pa_sample_bytes(s) || s->origin > ORIGIN_SYSCALLS) {
		seen->nr_bad++;
		return;
	}
	seen->nr[s->origin]++;
	seen->nr_nested += level > 0;
	if (!has_right_values(s) || (has_walk && !has_right_frames(s)))
		seen->nr_bad++;
	for (uint32_t i = 0; i < level; i++)
		seen->levels[i].is_interrupted = true;
	seen->levels[level] =
		(struct level){ .is_open = s->flags & PA_SAMPLE_UNFINISHED, .serial = s->serial };
}

static struct level *level_of(struct seen *seen, uint32_t serial)
{
	struct level *l = &seen->levels[serial & PA_SERIAL_LEVEL_MASK];

	if (l->is_open && l->serial == serial)
		return l;
	seen->nr_bad_stack++;
	return NULL;
}

static void see_page(struct seen *seen, const struct pa_stack_page *p)
{
	struct level *l = level_of(seen, p->serial);

	for (unsigned int i = 1; l && i < DEPTH - 1; i++) {
		uint64_t at = truth->returns_at[i] - p->addr, word;

		if (at >= p->size)
			continue;
		memcpy(&word, p->bytes + at, sizeof(word));
		if (word == truth->returns[i])
			l->nr_seen++;
	}
}

static void see_end(struct seen *seen, const struct pa_stack_end *e)
{
	struct level *l = level_of(seen, e->serial);

	if (!l)
		return;
	l->is_open = false;
	if (e->stop == PA_STOP_COPY_LOST)
		return;
	seen->nr_bad_stack += l->nr_seen != DEPTH - 2;
	seen->nr_stacks++;
	seen->nr_interrupted += l->is_interrupted;
}

static struct seen seen;
static bool is_by_fp;

static int see(void *ctx, void *record, size_t size)
{
	const struct pa_record *head = record;

	if (head->type == PA_RECORD_SAMPLE)
		see_sample(&seen, record, size, is_by_fp);
	else if (head->type == PA_RECORD_STACK)
		see_page(&seen, record);
	else if (head->type == PA_RECORD_STACK_END)
		see_end(&seen, record);
	return 0;
}

/* ---- the programs ---- */

static void configure(struct nested_bpf *b)
{
	struct stat st;

	must(stat("/proc/self/ns/pid", &st) == 0);
	b->rodata->cfg = (struct pa_config){ .pidns_inum = (__u32)st.st_ino,
					     .pidns_is_initial = st.st_ino == PIDNS_INIT_INUM,
					     .thread_size = 16384,
					     .kernel_task_flags = PF_KTHREAD,
					     .use_tables = !is_by_fp };
	must(bpf_map__set_max_entries(b->maps.ring, 16u << 20) == 0);
	must(bpf_program__set_autoload(b->progs.pa_ksyms, false) == 0);
}

static int open_clock(pid_t pid, int program)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_period = TICK_NS };
	int fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);

	must(fd >= 0);
	must(ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) == 0);
	return fd;
}

static uint64_t nr_ticks_submitted(const struct nested_bpf *b)
{
	int nr_cpus = libbpf_num_possible_cpus();
	struct pa_tick_stats *per_cpu = calloc((size_t)nr_cpus, sizeof(*per_cpu));
	uint32_t zero = 0;
	uint64_t sum = 0;

	must(per_cpu && bpf_map__lookup_elem(b->maps.tick_stats, &zero, sizeof(zero), per_cpu,
					     (size_t)nr_cpus * sizeof(*per_cpu), 0) == 0);
	for (int i = 0; i < nr_cpus; i++)
		sum += per_cpu[i].submitted;
	free(per_cpu);
	return sum;
}

static bool is_enough(void)
{
	return is_by_fp ? seen.nr_nested >= NR_NESTED_WANTED
			: seen.nr_interrupted >= NR_NESTED_WANTED / 10;
}

static void sample_target(struct nested_bpf *b, pid_t pid)
{
	int fd = open_clock(pid, bpf_program__fd(b->progs.pa_oncpu));
	struct bpf_link *syscalls = bpf_program__attach(b->progs.pa_test_syscalls);
	struct ring_buffer *ring = ring_buffer__new(bpf_map__fd(b->maps.ring), see, NULL, NULL);
	time_t end = time(NULL) + RUN_MAX_S;

	must(syscalls && ring);
	while (time(NULL) < end && !is_enough()) {
		must(ring_buffer__consume(ring) >= 0);
		usleep(2000);
	}
	kill(pid, SIGKILL);
	must(waitpid(pid, NULL, 0) == pid);
	bpf_link__destroy(syscalls);
	close(fd);
	must(ring_buffer__consume(ring) >= 0);
	ring_buffer__free(ring);
}

static void run(bool by_fp)
{
	struct nested_bpf *b = nested_bpf__open();
	uint32_t on = PA_TARGET_ON, key;
	pid_t pid;

	must(b);
	memset(truth, 0, sizeof(*truth));
	memset(&seen, 0, sizeof(seen));
	is_by_fp = by_fp;
	configure(b);
	must(nested_bpf__load(b) == 0);
	b->data_shared->proc_stats.stack_budget = INT64_MAX / 2;
	pid = fork();
	if (pid == 0)
		run_target();
	must(pid > 0);
	while (!truth->is_ready)
		usleep(1000);
	key = (uint32_t)pid;
	must(bpf_map__update_elem(b->maps.targets, &key, sizeof(key), &on, sizeof(on), 0) == 0);
	sample_target(b, pid);
	ok(seen.nr_nested > 0, "%lu of %lu ticks interrupted a sample",
	   (unsigned long)seen.nr_nested, (unsigned long)seen.nr[PA_ORIGIN_ONCPU]);
	ok(seen.nr_bad == 0, "every sample is right (%lu are not)", (unsigned long)seen.nr_bad);
	ok(seen.nr[PA_ORIGIN_ONCPU] == nr_ticks_submitted(b) &&
		   seen.nr[ORIGIN_SYSCALLS] == b->bss->nr_submitted,
	   "the ring delivers as many samples as both triggers count: %lu and %lu",
	   (unsigned long)seen.nr[PA_ORIGIN_ONCPU], (unsigned long)seen.nr[ORIGIN_SYSCALLS]);
	nested_bpf__destroy(b);
}

int main(void)
{
	if (geteuid() != 0) {
		tap_skip("loading BPF programs needs root");
		return tap_done();
	}
	truth = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	must(truth != MAP_FAILED);
	run(true);
	run(false);
	ok(seen.nr_interrupted > 0 && seen.nr_bad_stack == 0,
	   "%lu of %lu stacks were interrupted, and each has its own pages (%lu have not)",
	   (unsigned long)seen.nr_interrupted, (unsigned long)seen.nr_stacks,
	   (unsigned long)seen.nr_bad_stack);
	return tap_done();
}
