/* SPDX-License-Identifier: Apache-2.0 */
/* The text of scheduler statistics, byte for byte: others read it by line. */
#include "write/pmu_text.h"

#include <stdlib.h>
#include <unistd.h>

#include "tap.h"

static char path[] = "/tmp/pmu_text.XXXXXX";

static bool gives(const struct sched_report *r, const char *whose, bool per_process,
		  const char *expected)
{
	struct outfile *out;
	char text[8192];
	size_t n;
	FILE *f;
	bool is_same;

	must(outfile_open(path, NULL, &out, NULL) == 0);
	must(pmu_text_write(r, whose, per_process, out, NULL) == 0 &&
	     outfile_commit(out, NULL) == 0);
	outfile_free(out);
	f = fopen(path, "r");
	must(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	is_same = strcmp(text, expected) == 0;
	if (!is_same)
		printf("# got:\n%s# expected:\n%s", text, expected);
	return is_same;
}

static struct sched_block full_block(void)
{
	return (struct sched_block){
		.pid = 84228,
		.comm = "server",
		.nr_switches = 26358,
		.reasons = { 11912, 11095, 3351 },
		.on_cpu = { 26357, 1, 3000, 14325000, 287499, 10000, 1000000, 2000500, 12000000 },
		.run_queue = { 9, 1, 1400, 2000000, 3000, 4000, 5000, 6000, 7000 },
		.counters = { 2000000, 3000000, 1500 },
	};
}

#define ON_CPU                                                                                     \
	"\nOn-CPU Time (time slice per context switch):\n"                                         \
	"  Min:    0.003 ms\n"                                                                     \
	"  Max:    14.325 ms\n"                                                                    \
	"  Mean:   0.287 ms\n"                                                                     \
	"  P50:    0.010 ms\n"                                                                     \
	"  P95:    1.000 ms\n"                                                                     \
	"  P99:    2.001 ms\n"                                                                     \
	"  P99.9:  12.000 ms\n"
#define RUN_QUEUE                                                                                  \
	"\nRunqueue Latency (time waiting for CPU):\n"                                             \
	"  Min:    0.001 ms\n"                                                                     \
	"  Max:    2.000 ms\n"                                                                     \
	"  Mean:   0.003 ms\n"                                                                     \
	"  P50:    0.004 ms\n"                                                                     \
	"  P95:    0.005 ms\n"                                                                     \
	"  P99:    0.006 ms\n"                                                                     \
	"  P99.9:  0.007 ms\n"
#define REASONS                                                                                    \
	"\nContext Switch Reasons:\n"                                                              \
	"  Preempted (running):     45.2%  (11912 times)\n"                                        \
	"  Voluntary (sleep/mutex): 42.1%  (11095 times)\n"                                        \
	"  I/O Wait (D state):      12.7%  (3351 times)\n"
#define COUNTERS                                                                                   \
	"\nHardware Counters:\n"                                                                   \
	"  Total Cycles:           2000000\n"                                                      \
	"  Total Instructions:     3000000\n"                                                      \
	"  Total Cache Misses:     1500\n"                                                         \
	"  IPC (Instr/Cycle):      1.500\n"                                                        \
	"  Cache Misses/1K Instr:  0.500\n"

static void test_whole(void)
{
	struct sched_report r = { .total = full_block() };

	ok(gives(&r, "PID: 84228", false,
		 "=== PMU Metrics (PID: 84228) ===\n"
		 "Samples: 26358\n" ON_CPU RUN_QUEUE REASONS COUNTERS),
	   "one process with everything");
	r.total.reasons[PA_SWITCH_IO_WAIT] -= 351;
	r.total.reasons[PA_SWITCH_STOPPED] = 350;
	r.total.reasons[PA_SWITCH_EXITED] = 1;
	r.no_counters = "this machine has none";
	ok(gives(&r, "System-Wide", false,
		 "=== PMU Metrics (System-Wide) ===\n"
		 "Samples: 26358\n" ON_CPU RUN_QUEUE "\nContext Switch Reasons:\n"
		 "  Preempted (running):     45.2%  (11912 times)\n"
		 "  Voluntary (sleep/mutex): 42.1%  (11095 times)\n"
		 "  I/O Wait (D state):      11.4%  (3000 times)\n"
		 "  Stopped (signal/trace):  1.3%  (350 times)\n"
		 "  Exited:                  0.0%  (1 times)\n"
		 "\nHardware Counters: not available (this machine has none)\n"),
	   "the machine, without counters, with tasks that stopped and exited");
}

/* Tasks in state D are voluntary switches then. */
static void test_no_io_wait(void)
{
	struct sched_report r = { .total = full_block(),
				  .no_counters = "none",
				  .no_io_wait = "no such field" };

	r.total.reasons[PA_SWITCH_VOLUNTARY] += r.total.reasons[PA_SWITCH_IO_WAIT];
	r.total.reasons[PA_SWITCH_IO_WAIT] = 0;
	ok(gives(&r, "PID: 84228", false,
		 "=== PMU Metrics (PID: 84228) ===\n"
		 "Samples: 26358\n" ON_CPU RUN_QUEUE "\nContext Switch Reasons:\n"
		 "  Preempted (running):     45.2%  (11912 times)\n"
		 "  Voluntary (sleep/mutex): 54.8%  (14446 times)\n"
		 "  I/O Wait (D state):      not available (no such field)\n"
		 "\nHardware Counters: not available (none)\n"),
	   "a kernel that does not say what is a wait for I/O has no number of them");
}

static void test_parts(void)
{
	struct sched_report r = { .total = full_block() };

	r.total.counters[PA_COUNTER_CYCLES] = PA_UNKNOWN;
	r.total.on_cpu = r.total.run_queue = (struct distribution){ 0 };
	r.total.nr_switches = 0;
	ok(gives(&r, "PID: 1,2", false,
		 "=== PMU Metrics (PID: 1,2) ===\n"
		 "Samples: 0\n"
		 "\nHardware Counters:\n"
		 "  Total Instructions:     3000000\n"
		 "  Total Cache Misses:     1500\n"
		 "  Cache Misses/1K Instr:  0.500\n"),
	   "what was not measured is left out, and what depends on it");
	r.total.counters[PA_COUNTER_INSTRUCTIONS] = 0;
	ok(gives(&r, "PID: 1", false,
		 "=== PMU Metrics (PID: 1) ===\n"
		 "Samples: 0\n"
		 "\nHardware Counters:\n"
		 "  Total Instructions:     0\n"
		 "  Total Cache Misses:     1500\n"),
	   "nothing is divided by 0");
}

static void test_processes(void)
{
	struct sched_block blocks[] = { full_block(), { .pid = 7, .comm = "a\033b" } };
	struct sched_report r = { .processes = blocks,
				  .nr_processes = 2,
				  .no_counters = "not permitted" };

	ok(gives(&r, "System-Wide, Per-PID", true,
		 "=== PMU Metrics (System-Wide, Per-PID) ===\n"
		 "\n--- PID 84228 (server) ---\n"
		 "Samples: 26358\n" ON_CPU RUN_QUEUE REASONS
		 "\nHardware Counters: not available (not permitted)\n"
		 "\n--- PID 7 (a?b) ---\n"
		 "Samples: 0\n"
		 "\nHardware Counters: not available (not permitted)\n"),
	   "a block for each process, in the order of the report, with a name that is printable");
	r.nr_processes = 0;
	ok(gives(&r, "System-Wide, Per-PID", true,
		 "=== PMU Metrics (System-Wide, Per-PID) ===\n"
		 "No PMU metrics collected\n"),
	   "no process at all");
}

int main(void)
{
	int fd = mkstemp(path);

	must(fd >= 0);
	close(fd);
	test_whole();
	test_no_io_wait();
	test_parts();
	test_processes();
	must(unlink(path) == 0);
	return tap_done();
}
