/* SPDX-License-Identifier: Apache-2.0 */
/* 100,000 processes in one capture: each output keeps its bounds, and its numbers add up. A pass over all of them
 * for each of them would take longer than a test has. */
#include <jansson.h>
#include <unistd.h>
#include <zlib.h>

#include "agent/summary.h"
#include "capture.h"
#include "cli/report.h"
#include "cli/report_json.h"
#include "cli/terminal_text.h"
#include "model.h"
#include "proto/profile.pb-c.h"
#include "write/writer.h"

#define NR_PROCESSES 100000
#define NR_LISTED 1000
#define MAX_JSON_BYTES (512u << 10)
#define MAX_PPROF_BYTES (32u << 20) /* uncompressed */
#define MAX_REPORT_LINES 40

/* Process i has i % 7 + 1 samples; all of them. */
static struct profile *model_of_processes(int64_t *ret_samples)
{
	struct profile *p = model_empty();
	uint32_t file = model_mapping(p, "/usr/bin/app", 1, 0x1000, 0x1000);
	uint32_t frame = model_location(p, file, 0x1001, "work");

	*ret_samples = 0;
	for (int64_t i = 0; i < NR_PROCESSES; i++) {
		char comm[16];

		(void)snprintf(comm, sizeof(comm), "worker-%d", (int)(i % 5000));
		model_add(p, &frame, 1, model_labels(p, comm, i + 1), i % 7 + 1);
		*ret_samples += i % 7 + 1;
	}
	return p;
}

static void test_summary(const struct pa_summary *s, int64_t samples)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < s->nr_processes_listed; i++)
		sum += s->processes[i].nr_samples;
	ok(s->nr_processes_listed == NR_LISTED && s->processes_seen == NR_PROCESSES,
	   "summary: the list of processes is bounded, their number is not");
	must(s->nr_processes_unlisted == 1);
	ok(sum == NR_LISTED * 7 && sum + s->processes_unlisted->nr_samples == (uint64_t)samples &&
		   s->processes_samples == (uint64_t)samples,
	   "summary: processes that are listed and the others together have all samples");
	ok(s->processes_unlisted->pid == 0 && !s->processes_unlisted->comm,
	   "summary: the others have neither PID nor name");
	ok(s->nr_commands == 100 && s->commands_seen == 5000, "summary: so is that of commands");
}

static void test_json(const struct pa_summary *s, int64_t samples)
{
	char *text;
	json_t *j, *list, *item;
	json_int_t sum = 0;
	size_t i;

	must(report_json(s, NULL, &text) == 0);
	ok(strlen(text) < MAX_JSON_BYTES, "json: %zu bytes", strlen(text));
	j = json_loads(text, 0, NULL);
	list = json_object_get(j, "processes");
	json_array_foreach(list, i, item)
		sum += json_integer_value(json_object_get(item, "nr_samples"));
	item = json_array_get(json_object_get(j, "processes_unlisted"), 0);
	sum += json_integer_value(json_object_get(item, "nr_samples"));
	ok(json_array_size(list) == NR_LISTED && sum == samples,
	   "json: processes and processes_unlisted have all samples");
	json_decref(j);
	free(text);
}

static void test_report(const struct pa_summary *s)
{
	const struct report_options opts = { .max_cols = 80 };
	char *text = NULL;
	size_t len, nr = 0;
	FILE *f = open_memstream(&text, &len);

	must(f);
	report_print(s, &opts, f);
	must(fclose(f) == 0);
	for (const char *at = text; (at = strchr(at, '\n')); at++)
		nr++;
	ok(nr <= MAX_REPORT_LINES && strstr(text, "in 100000 processes") &&
		   strstr(text, " 4997 more\n"),
	   "report: %zu lines, with how many commands are not listed", nr);
	free(text);
}

static void test_pprof(const struct profile *p, int64_t samples)
{
	char path[] = "/tmp/many-processes.XXXXXX";
	uint8_t *bytes = malloc(MAX_PPROF_BYTES);
	struct outfile *out;
	Pprof__Profile *read;
	int64_t sum = 0;
	gzFile gz;
	int n;

	must(bytes && close(mkstemp(path)) == 0);
	must(outfile_open(path, NULL, &out, NULL) == 0);
	must(writer_pprof.write(p, out, NULL, NULL) == 0 && outfile_commit(out, NULL) == 0);
	outfile_free(out);
	gz = gzopen(path, "rb");
	must(gz);
	n = gzread(gz, bytes, MAX_PPROF_BYTES);
	ok(n > 0 && n < (int)MAX_PPROF_BYTES, "pprof: %d bytes", n);
	(void)gzclose(gz);
	read = pprof__profile__unpack(NULL, (size_t)n, bytes);
	must(read);
	for (size_t i = 0; i < read->n_sample; i++)
		sum += read->sample[i]->value[0];
	ok(read->n_sample == NR_PROCESSES && sum == samples,
	   "pprof: every process has its samples");
	pprof__profile__free_unpacked(read, NULL);
	free(bytes);
	(void)unlink(path);
}

int main(void)
{
	struct world_config cfg = { .proc_root = "/proc", .all = true, .max_fds = 4 };
	_cleanup_(summary_freep) struct summary *sum = NULL;
	struct pa_summary s;
	struct capture *c;
	int64_t samples;

	must(capture_new(&cfg, NULL, &c) == 0);
	profile_free(c->model->profile);
	c->model->profile = model_of_processes(&samples);
	must(model_init_labels(c->model) == 0);
	c->model->naming.notes = calloc(2, sizeof(*c->model->naming.notes));
	must(c->model->naming.notes && summary_of_model(c->model, NULL, &sum) == 0 &&
	     summary_add_digest(sum, c->model->profile, 100) == 0);
	s = *summary_get(sum);
	s.nr_processes = NR_PROCESSES;
	s.samples = (uint64_t)samples;
	s.period = 10000000;
	s.target_text = "all processes";
	s.end_reason = "duration";
	s.event = "cpu-clock";
	s.host = s.kernel_release = s.machine = "x";
	test_summary(&s, samples);
	test_json(&s, samples);
	test_report(&s);
	test_pprof(c->model->profile, samples);
	capture_free(c);
	return tap_done();
}
