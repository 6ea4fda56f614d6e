/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "cli/report_parts.h"
#include "cli/terminal_text.h"

#define NR_COMMANDS 8
#define NR_COMMANDS_VERBOSE 30
#define NR_COMMANDS_SMALL 3 /* printed however small they are */
#define SMALL_PERCENT 1

#define KERNEL_COLUMNS 8
#define PROCESSES_COLUMNS 7

static bool is_small(const struct report_page *p, size_t i)
{
	return i >= NR_COMMANDS_SMALL &&
	       PA_ITEM(p->s, pa_command_stat, p->s->commands, i)->nr_samples * 100 <
		       p->s->samples * SMALL_PERCENT;
}

static size_t count_shown(const struct report_page *p)
{
	size_t max = p->opts->is_verbose ? NR_COMMANDS_VERBOSE
					 : report_min(NR_COMMANDS, p->max_rows);
	size_t nr = 0;

	while (nr < p->s->nr_commands && nr < max && (p->opts->is_verbose || !is_small(p, nr)))
		nr++;
	/* "1 more" would take as many lines as the command itself */
	return nr == max && p->s->nr_commands == nr + 1 && p->s->commands_seen == nr + 1 ? nr + 1
											 : nr;
}

static void print_heading(const struct report_page *p)
{
	(void)report_cpu_s_heading(p);
	(void)fprintf(p->out, "%*s", REPORT_SHARE_COLUMNS, "share");
	if (report_is_wide(p))
		(void)fprintf(p->out, "%*s%*s", KERNEL_COLUMNS, "kernel", PROCESSES_COLUMNS,
			      "procs");
	(void)fputs("  command\n", p->out);
}

static void print_command(const struct report_page *p, const struct pa_command_stat *c)
{
	uint32_t used = report_cpu_s_column(p, c->nr_samples);
	char share[TEXT_SHARE_SIZE];

	used += report_share_column(p, c->nr_samples);
	if (report_is_wide(p)) {
		(void)fprintf(p->out, "%*s%*" PRIu64, KERNEL_COLUMNS,
			      text_share(c->nr_in_kernel, c->nr_samples, share), PROCESSES_COLUMNS,
			      c->nr_processes);
		used += KERNEL_COLUMNS + PROCESSES_COLUMNS;
	}
	(void)fputs("  ", p->out);
	(void)text_put(p->out, c->comm, report_columns_after(p, used + 2));
	(void)fputc('\n', p->out);
}

static void print_more_commands(const struct report_page *p, size_t nr_shown)
{
	uint64_t more = p->s->commands_seen - nr_shown, samples = p->s->samples;
	int indent = report_is_wide(p) ? KERNEL_COLUMNS + PROCESSES_COLUMNS : 0;

	if (p->s->commands_seen <= nr_shown)
		return;
	for (size_t i = 0; i < nr_shown; i++)
		samples -= PA_ITEM(p->s, pa_command_stat, p->s->commands, i)->nr_samples;
	(void)report_cpu_s_column(p, samples);
	(void)report_share_column(p, samples);
	(void)fprintf(p->out, "%*s  %" PRIu64 " more\n", indent, "", more);
}

void report_commands(const struct report_page *p)
{
	size_t nr = count_shown(p);

	if (p->s->nr_processes < 2 || !nr)
		return;
	print_heading(p);
	for (size_t i = 0; i < nr; i++)
		print_command(p, PA_ITEM(p->s, pa_command_stat, p->s->commands, i));
	print_more_commands(p, nr);
	(void)fputc('\n', p->out);
}
