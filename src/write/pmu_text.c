/* SPDX-License-Identifier: Apache-2.0 */
#include "write/pmu_text.h"

#include <inttypes.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "write/clean_text.h"

#define MAX_TEXT_BYTES (64u << 20)

static double ms_of(uint64_t ns)
{
	return (double)ns / 1e6;
}

static int add_distribution(struct buf *b, const char *title, const struct distribution *d)
{
	const struct {
		const char *label;
		uint64_t ns;
	} rows[] = {
		{ "Min:", d->min_ns },    { "Max:", d->max_ns }, { "Mean:", d->mean_ns },
		{ "P50:", d->p50_ns },    { "P95:", d->p95_ns }, { "P99:", d->p99_ns },
		{ "P99.9:", d->p999_ns },
	};
	int r = d->count ? buf_printf(b, "\n%s:\n", title) : 0;

	for (size_t i = 0; d->count && i < sizeof(rows) / sizeof(rows[0]) && r == 0; i++)
		r = buf_printf(b, "  %-8s%.3f ms\n", rows[i].label, ms_of(rows[i].ns));
	return r;
}

static int add_reason(struct buf *b, const char *label, uint64_t nr, uint64_t nr_switches)
{
	return buf_printf(b, "  %-25s%.1f%%  (%" PRIu64 " times)\n", label,
			  100.0 * (double)nr / (double)nr_switches, nr);
}

/* Appends the switch reasons: the first three always, the others only if they occurred. */
static int add_reasons(struct buf *b, const struct sched_block *block, const char *no_io_wait)
{
	static const char *const labels[PA_NR_SWITCH_REASONS] = {
		[PA_SWITCH_PREEMPTED] = "Preempted (running):",
		[PA_SWITCH_VOLUNTARY] = "Voluntary (sleep/mutex):",
		[PA_SWITCH_IO_WAIT] = "I/O Wait (D state):",
		[PA_SWITCH_STOPPED] = "Stopped (signal/trace):",
		[PA_SWITCH_EXITED] = "Exited:",
	};
	int r;

	if (!block->nr_switches)
		return 0;
	r = buf_printf(b, "\nContext Switch Reasons:\n");
	for (unsigned int i = 0; i < PA_NR_SWITCH_REASONS && r == 0; i++)
		if (i == PA_SWITCH_IO_WAIT && no_io_wait)
			r = buf_printf(b, "  %-25snot available (%s)\n", labels[i], no_io_wait);
		else if (i <= PA_SWITCH_IO_WAIT || block->reasons[i])
			r = add_reason(b, labels[i], block->reasons[i], block->nr_switches);
	return r;
}

static int add_counter(struct buf *b, const char *label, uint64_t count)
{
	return count == PA_UNKNOWN ? 0 : buf_printf(b, "  %-24s%" PRIu64 "\n", label, count);
}

/* Appends part per `scale` of whole, if both are known. */
static int add_ratio(struct buf *b, const char *label, uint64_t part, uint64_t whole, double scale)
{
	if (part == PA_UNKNOWN || whole == PA_UNKNOWN || whole == 0)
		return 0;
	return buf_printf(b, "  %-24s%.3f\n", label, scale * (double)part / (double)whole);
}

static int add_counters(struct buf *b, const struct sched_block *block, const char *no_counters)
{
	uint64_t cycles = block->counters[PA_COUNTER_CYCLES];
	uint64_t instructions = block->counters[PA_COUNTER_INSTRUCTIONS];
	uint64_t misses = block->counters[PA_COUNTER_CACHE_MISSES];
	int r;

	if (no_counters)
		return buf_printf(b, "\nHardware Counters: not available (%s)\n", no_counters);
	r = buf_printf(b, "\nHardware Counters:\n");
	if (r == 0)
		r = add_counter(b, "Total Cycles:", cycles);
	if (r == 0)
		r = add_counter(b, "Total Instructions:", instructions);
	if (r == 0)
		r = add_counter(b, "Total Cache Misses:", misses);
	if (r == 0)
		r = add_ratio(b, "IPC (Instr/Cycle):", instructions, cycles, 1);
	return r < 0 ? r : add_ratio(b, "Cache Misses/1K Instr:", misses, instructions, 1000);
}

static int add_block(struct buf *b, const struct sched_block *block,
		     const struct sched_report *report)
{
	int r = buf_printf(b, "Samples: %" PRIu64 "\n", block->nr_switches);

	if (r == 0)
		r = add_distribution(b, "On-CPU Time (time slice per context switch)",
				     &block->on_cpu);
	if (r == 0)
		r = add_distribution(b, "Runqueue Latency (time waiting for CPU)",
				     &block->run_queue);
	if (r == 0)
		r = add_reasons(b, block, report->no_io_wait);
	return r < 0 ? r : add_counters(b, block, report->no_counters);
}

static int add_process_block(struct buf *b, const struct sched_block *block,
			     const struct sched_report *report)
{
	int r = buf_printf(b, "\n--- PID %d (", (int)block->pid);

	if (r == 0)
		r = text_append_clean(b, block->comm);
	if (r == 0)
		r = buf_printf(b, ") ---\n");
	return r < 0 ? r : add_block(b, block, report);
}

int pmu_text_write(const struct sched_report *report, const char *whose, bool per_process,
		   struct outfile *out, struct pa_error *err)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT(MAX_TEXT_BYTES);
	int r = buf_printf(&b, "=== PMU Metrics (");

	if (r == 0)
		r = text_append_clean(&b, whose);
	if (r == 0)
		r = buf_printf(&b, ") ===\n");
	if (r == 0 && !per_process)
		r = add_block(&b, &report->total, report);
	for (size_t i = 0; per_process && i < report->nr_processes && r == 0; i++)
		r = add_process_block(&b, &report->processes[i], report);
	if (r == 0 && per_process && !report->nr_processes)
		r = buf_printf(&b, "No PMU metrics collected\n");
	return r < 0 ? r : outfile_write(out, b.data, b.len, err);
}
