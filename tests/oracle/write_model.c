/* SPDX-License-Identifier: Apache-2.0 */
/*
 * write_model example|empty|calls|SEED DIR: writes a model into DIR as model.pb.gz and model.folded, as
 * model.txt: the text that protoc --decode should print, made from the model without any protobuf code,
 * and as model.digest: what the digest says about it.
 */
#include <inttypes.h>

#include "digest/commands.h"
#include "digest/functions.h"
#include "digest/hot_paths.h"
#include "digest/top.h"
#include "model.h"
#include "write/writer.h"

/* In proto3, what is 0 is not there. */
static void print_u64(FILE *f, const char *indent, const char *name, uint64_t v)
{
	if (v)
		fprintf(f, "%s%s: %" PRIu64 "\n", indent, name, v);
}

static void print_s64(FILE *f, const char *indent, const char *name, int64_t v)
{
	if (v)
		fprintf(f, "%s%s: %" PRId64 "\n", indent, name, v);
}

static void print_type(FILE *f, const char *name, const struct profile_type *t)
{
	fprintf(f, "%s {\n", name);
	print_u64(f, "  ", "type", t->type);
	print_u64(f, "  ", "unit", t->unit);
	fprintf(f, "}\n");
}

static void print_label(FILE *f, const struct profile_label *l)
{
	fprintf(f, "  label {\n");
	print_u64(f, "    ", "key", l->key);
	print_u64(f, "    ", "str", l->str);
	print_s64(f, "    ", "num", l->num);
	print_u64(f, "    ", "num_unit", l->unit);
	fprintf(f, "  }\n");
}

static void print_sample(FILE *f, const struct profile *p, const struct profile_sample *s)
{
	const struct profile_span *stack = &p->stacks[s->stack];
	const struct profile_span *labels = &p->label_sets[s->labels];

	fprintf(f, "sample {\n");
	for (uint32_t i = 0; i < stack->nr; i++)
		fprintf(f, "  location_id: %u\n", p->frames[stack->first + i] + 1);
	for (uint32_t i = 0; i < p->nr_types; i++)
		fprintf(f, "  value: %" PRId64 "\n",
			profile_value(p, (uint32_t)(s - p->samples), i));
	for (uint32_t i = 0; i < labels->nr; i++)
		print_label(f, &p->labels[labels->first + i]);
	fprintf(f, "}\n");
}

static void print_mapping(FILE *f, const struct profile_mapping *m, uint32_t id)
{
	fprintf(f, "mapping {\n  id: %u\n", id);
	print_u64(f, "  ", "memory_start", m->start);
	print_u64(f, "  ", "memory_limit", m->limit);
	print_u64(f, "  ", "file_offset", m->file_offset);
	print_u64(f, "  ", "filename", m->path);
	print_u64(f, "  ", "build_id", m->build_id);
	fprintf(f, "%s%s%s%s}\n", m->has_functions ? "  has_functions: true\n" : "",
		m->has_filenames ? "  has_filenames: true\n" : "",
		m->has_line_numbers ? "  has_line_numbers: true\n" : "",
		m->has_inline_frames ? "  has_inline_frames: true\n" : "");
}

static void print_location(FILE *f, const struct profile *p, uint32_t i)
{
	const struct profile_location *l = &p->locations[i];

	fprintf(f, "location {\n  id: %u\n", i + 1);
	if (l->mapping != PROFILE_NONE)
		fprintf(f, "  mapping_id: %u\n", l->mapping + 1);
	print_u64(f, "  ", "address", l->address);
	for (uint32_t k = 0; k < l->nr_lines; k++) {
		const struct profile_line *line = &p->lines[l->first_line + k];

		fprintf(f, "  line {\n    function_id: %u\n", line->function + 1);
		print_u64(f, "    ", "line", line->line);
		fprintf(f, "  }\n");
	}
	fprintf(f, "}\n");
}

static void print_function(FILE *f, const struct profile_function *fn, uint32_t id)
{
	fprintf(f, "function {\n  id: %u\n", id);
	print_u64(f, "  ", "name", fn->name);
	print_u64(f, "  ", "system_name", fn->system_name);
	print_u64(f, "  ", "filename", fn->filename);
	print_u64(f, "  ", "start_line", fn->start_line);
	fprintf(f, "}\n");
}

static void print_tables(FILE *f, const struct profile *p)
{
	for (uint32_t i = 0; i < p->nr_types; i++)
		print_type(f, "sample_type", &p->types[i]);
	for (uint32_t i = 0; i < p->nr_samples; i++)
		print_sample(f, p, &p->samples[i]);
	for (uint32_t i = 0; i < p->nr_mappings; i++)
		print_mapping(f, &p->mappings[i], i + 1);
	for (uint32_t i = 0; i < p->nr_locations; i++)
		print_location(f, p, i);
	for (uint32_t i = 0; i < p->nr_functions; i++)
		print_function(f, &p->functions[i], i + 1);
	for (uint32_t i = 0; i < p->strings.nr_strings; i++)
		fprintf(f, "string_table: \"%s\"\n", profile_str(p, i));
}

static void print_model(FILE *f, const struct profile *p)
{
	print_tables(f, p);
	print_s64(f, "", "time_nanos", p->time_ns);
	print_s64(f, "", "duration_nanos", p->duration_ns);
	if (p->period_type.type)
		print_type(f, "period_type", &p->period_type);
	print_s64(f, "", "period", p->period);
	for (uint32_t i = 0; i < p->nr_comments; i++)
		fprintf(f, "comment: %u\n", p->comments[i]);
	if (p->nr_types)
		print_u64(f, "", "default_sample_type", p->types[p->default_type].type);
}

static void print_processes(FILE *f, const struct profile *p)
{
	struct process_share *processes;
	struct command_share *commands;
	uint32_t nr_processes, nr;

	must(digest_processes(p, &processes, &nr_processes) == 0 &&
	     digest_commands(p, processes, nr_processes, &commands, &nr) == 0);
	for (uint32_t i = 0; i < nr_processes; i++)
		fprintf(f, "process %" PRId64 " %" PRId64 " %s\n", processes[i].count,
			processes[i].pid, profile_str(p, processes[i].comm));
	for (uint32_t i = 0; i < nr; i++)
		fprintf(f, "command %" PRId64 " %u %s\n", commands[i].count,
			commands[i].nr_processes, profile_str(p, commands[i].comm));
	free(processes);
	free(commands);
}

static void print_digest(FILE *f, const struct profile *p)
{
	struct functions functions;
	struct top_function *top;
	struct hot_path *paths;
	uint32_t nr;

	must(functions_init(&functions, p, p->count_type) == 0);
	must(digest_top(&functions, &top, &nr) == 0);
	for (uint32_t i = 0; i < nr; i++)
		fprintf(f, "function %" PRId64 " %" PRId64 " %s\n", top[i].self, top[i].total,
			functions_name(&functions, top[i].function));
	must(digest_hot_paths(&functions, &paths, &nr) == 0);
	for (uint32_t i = 0; i < nr; i++)
		fprintf(f, "path %u %d %" PRId64 " %" PRId64 " %" PRId64 " %u %s\n", paths[i].depth,
			paths[i].continues, paths[i].value, paths[i].self, paths[i].rest,
			paths[i].nr_skipped, functions_name(&functions, paths[i].function));
	free(top);
	free(paths);
	functions_done(&functions);
	print_processes(f, p);
}

#define NR_CALLED 24

/* A location in function i, each second of which has function i + 1 inlined. */
static uint32_t called(struct profile *p, uint32_t mapping, uint32_t i, uint64_t address)
{
	uint32_t l = model_bare_location(p, mapping, address);
	struct profile_line lines[2] = { { 0 } };
	char name[32], inlined[32];

	snprintf(name, sizeof(name), "f%02u", i);
	snprintf(inlined, sizeof(inlined), "f%02u", i + 1);
	lines[i % 2].function = model_function(p, name, "calls.c", mapping);
	if (i % 2)
		lines[0].function = model_function(p, inlined, "calls.c", mapping);
	if (!p->locations[l].nr_lines)
		must(profile_set_lines(p, l, lines, 1 + i % 2, true) == 0);
	return l;
}

/* Stacks of programs that call, also themselves, in 60 processes of three names. */
static struct profile *model_calls(void)
{
	static const char *const comms[] = { "make", "cc1", "as" };
	struct profile *p = model_empty();
	uint32_t m = model_mapping(p, "/usr/bin/calls", 1, 0x400000, 0x10000);
	uint64_t state = 7;

	for (uint32_t i = 0; i < 2000; i++) {
		uint32_t frames[40], nr = 1 + model_random(&state) % 39, f = 0;

		for (uint32_t k = nr; k-- > 0;) {
			uint32_t random = model_random(&state);

			frames[k] = called(p, m, f, 0x400000 + 64 * f + random % 4);
			/* mostly the next function, at times itself or another */
			f = random % 16 == 0 ? f : random % 16 == 1 ? random / 16 : f + 1;
			f %= NR_CALLED;
		}
		model_add(p, frames, nr, model_labels(p, comms[i % 3], 100 + i % 60),
			  1 + model_random(&state) % 9);
	}
	return p;
}

static void write_with(const struct writer *writer, const struct profile *p, const char *dir,
		       const char *name)
{
	char path[4096];
	struct outfile *out;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	must(outfile_open(path, NULL, &out, NULL) == 0);
	must(writer->write(p, out, NULL, NULL) == 0 && outfile_commit(out, NULL) == 0);
	outfile_free(out);
}

static struct profile *model_named(const char *what)
{
	struct profile *p;

	if (strcmp(what, "example") == 0)
		return model_example();
	if (strcmp(what, "calls") == 0)
		return model_calls();
	if (strcmp(what, "empty") != 0)
		return model_large(strtoull(what, NULL, 10));
	must(profile_new(&p) == 0);
	return p;
}

int main(int argc, char **argv)
{
	struct profile *p;
	char path[4096];
	FILE *f;

	must(argc == 3);
	p = model_named(argv[1]);
	write_with(&writer_pprof, p, argv[2], "model.pb.gz");
	write_with(&writer_folded, p, argv[2], "model.folded");
	snprintf(path, sizeof(path), "%s/model.txt", argv[2]);
	f = fopen(path, "w");
	must(f);
	print_model(f, p);
	must(fclose(f) == 0);
	snprintf(path, sizeof(path), "%s/model.digest", argv[2]);
	f = fopen(path, "w");
	must(f);
	print_digest(f, p);
	must(fclose(f) == 0);
	profile_free(p);
	return 0;
}
