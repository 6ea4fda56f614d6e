/* SPDX-License-Identifier: Apache-2.0 */
/* What the format is made of is asked of other programs, in tests/oracle; here is the rest. */
#include <errno.h>
#include <sys/stat.h>
#include <zlib.h>

#include "model.h"
#include "proto/profile.pb-c.h"
#include "write/writer.h"

static char path[] = "/tmp/pprof.XXXXXX";

static size_t written(const struct profile *p, uint8_t **ret_bytes)
{
	struct outfile *out;
	uint8_t *bytes;
	FILE *f;
	size_t n;

	must(outfile_open(path, NULL, &out, NULL) == 0);
	must(writer_pprof.write(p, out, NULL, NULL) == 0 && outfile_commit(out, NULL) == 0);
	n = outfile_size(out);
	outfile_free(out);
	bytes = malloc(n);
	f = fopen(path, "rb");
	must(bytes && f && fread(bytes, 1, n, f) == n && fgetc(f) == EOF);
	fclose(f);
	*ret_bytes = bytes;
	return n;
}

static Pprof__Profile *read_back(void)
{
	size_t max = 64u << 20;
	uint8_t *bytes = malloc(max);
	gzFile gz = gzopen(path, "rb");
	Pprof__Profile *p;
	int n;

	must(bytes && gz);
	n = gzread(gz, bytes, (unsigned int)max);
	must(n >= 0 && gzclose(gz) == Z_OK);
	p = pprof__profile__unpack(NULL, (size_t)n, bytes);
	free(bytes);
	return p;
}

static void test_equal_models_give_equal_bytes(void)
{
	struct profile *p = model_large(1), *q = model_large(1);
	uint8_t *a, *b;
	size_t na = written(p, &a), nb = written(q, &b);

	ok(na == nb && memcmp(a, b, na) == 0, "the same model gives the same file");
	ok(memcmp(a, "\x1f\x8b\x08\x00\x00\x00\x00\x00", 8) == 0,
	   "the gzip header has no name and no time");
	free(a);
	free(b);
	profile_free(p);
	profile_free(q);
}

static void test_reads_back(void)
{
	struct profile *p = model_example();
	Pprof__Profile *m;
	uint8_t *bytes;

	written(p, &bytes);
	m = read_back();
	if (!ok(m != NULL, "protobuf-c reads what was streamed"))
		exit(1);
	ok(m->n_sample == p->nr_samples && m->n_location == p->nr_locations,
	   "all items are present");
	ok(strcmp(m->string_table[0], "") == 0, "string 0 is empty");
	ok(strcmp(m->string_table[m->default_sample_type], "cpu") == 0, "the default type is cpu");
	ok(m->location[4]->mapping_id == 0 && m->location[4]->n_line == 0,
	   "a location without a mapping and a name has none");
	pprof__profile__free_unpacked(m, NULL);
	free(bytes);
	profile_free(p);
}

static void test_many_types(void)
{
	struct profile *p;
	Pprof__Profile *m;
	int64_t values[5] = { 1, 20, 300, 4000, 50000 };
	uint32_t stack, set;
	uint8_t *bytes;

	must(profile_new(&p) == 0);
	for (int i = 0; i < 5; i++)
		must(profile_add_type(p, "things", i == 4 ? "last" : "count") == 0);
	must(profile_stack(p, NULL, 0, &stack) == 0 && profile_label_set(p, NULL, 0, &set) == 0);
	must(profile_add(p, stack, set, values) == 0 && profile_add(p, stack, set, values) == 0);
	written(p, &bytes);
	m = read_back();
	must(m && m->n_sample == 1);
	ok(m->n_sample_type == 5 && strcmp(m->string_table[m->sample_type[4]->unit], "last") == 0,
	   "all five types are written, in their order");
	ok(m->sample[0]->n_value == 5 && m->sample[0]->value[0] == 2 &&
		   m->sample[0]->value[2] == 600 && m->sample[0]->value[4] == 100000,
	   "each sample has a value of each type");
	pprof__profile__free_unpacked(m, NULL);
	free(bytes);
	profile_free(p);
}

static void test_empty(void)
{
	struct profile *p;
	Pprof__Profile *m;
	uint8_t *bytes;

	must(profile_new(&p) == 0);
	written(p, &bytes);
	m = read_back();
	ok(m && m->n_sample == 0 && m->n_string_table == 1, "an empty model is a valid profile");
	pprof__profile__free_unpacked(m, NULL);
	free(bytes);
	profile_free(p);
}

static void test_the_largest_of_everything(void)
{
	struct profile *p = model_empty();
	uint32_t l = model_bare_location(p, PROFILE_NONE, UINT64_MAX), labels, frames[4096];
	struct profile_label many[PROFILE_MAX_LABELS] = { { 0 } };
	struct profile_line lines[PROFILE_MAX_LINES] = { { 0 } };
	Pprof__Profile *m;
	uint8_t *bytes;

	(void)model_function(p, "f", "f.c", PROFILE_NONE);
	for (uint32_t i = 0; i < PROFILE_MAX_FRAMES; i++)
		frames[i] = l;
	for (uint32_t i = 0; i < PROFILE_MAX_LABELS; i++)
		many[i] = (struct profile_label){ .key = 1, .num = INT64_MIN + i, .unit = 2 };
	for (uint32_t i = 0; i < PROFILE_MAX_LINES; i++)
		lines[i].line = UINT32_MAX;
	must(profile_set_lines(p, l, lines, PROFILE_MAX_LINES, true) == 0);
	must(profile_label_set(p, many, PROFILE_MAX_LABELS, &labels) == 0);
	model_add(p, frames, PROFILE_MAX_FRAMES, labels, 1);
	while (profile_add_comment(p, "c") == 0)
		;
	written(p, &bytes);
	m = read_back();
	ok(m && m->sample[0]->n_location_id == PROFILE_MAX_FRAMES, "the deepest stack is written");
	ok(m && m->sample[0]->n_label == PROFILE_MAX_LABELS, "the most labels are written");
	ok(m && m->location[0]->n_line == PROFILE_MAX_LINES, "the deepest inlining is written");
	ok(m && m->n_comment == PROFILE_MAX_COMMENTS, "the most comments are written");
	pprof__profile__free_unpacked(m, NULL);
	free(bytes);
	profile_free(p);
}

static void test_program_comes_first(void)
{
	struct profile *p = model_empty();
	uint32_t loader = model_mapping(p, "/lib/ld.so", 1, 0x7f0000000000, 0x1000);
	uint32_t app = model_mapping(p, "/bin/app", 2, 0x550000000000, 0x1000);
	uint32_t lib = model_mapping(p, "/lib/libc.so", 3, 0x7f0000100000, 0x1000);
	Pprof__Profile *m;
	uint8_t *bytes;

	(void)model_bare_location(p, app, 0x550000000001);
	written(p, &bytes);
	m = read_back();
	ok(m && m->n_mapping == 3 && m->mapping[0]->id == app + 1,
	   "the program's mapping comes first");
	ok(m && m->mapping[1]->id == loader + 1 && m->mapping[2]->id == lib + 1,
	   "the other mappings follow, each once");
	ok(m && m->location[0]->mapping_id == app + 1, "locations have their mappings");
	pprof__profile__free_unpacked(m, NULL);
	free(bytes);
	profile_free(p);
}

/* As one that is run by its loader, and one that has no samples. */
static void test_known_program_comes_first(void)
{
	struct profile *p = model_empty();
	uint32_t low = model_mapping(p, "/lib/low.so", 1, 0x10000, 0x1000);
	uint32_t app = model_mapping(p, "/bin/app", 2, 0x550000000000, 0x1000);
	Pprof__Profile *m;
	uint8_t *bytes;

	p->program = model_string(p, "/bin/app");
	written(p, &bytes);
	m = read_back();
	ok(m && m->n_mapping == 2 && m->mapping[0]->id == app + 1 && m->mapping[1]->id == low + 1,
	   "pprof: the mapping of the program that was profiled comes first");
	pprof__profile__free_unpacked(m, NULL);
	free(bytes);
	p->program = model_string(p, "/bin/other");
	written(p, &bytes);
	m = read_back();
	ok(m && m->n_mapping == 3 && m->mapping[0]->id == 3 &&
		   strcmp(m->string_table[m->mapping[0]->filename], "/bin/other") == 0 &&
		   m->mapping[1]->id == low + 1 && m->mapping[2]->id == app + 1,
	   "pprof: a program without samples has a mapping too, the first");
	pprof__profile__free_unpacked(m, NULL);
	free(bytes);
	profile_free(p);
}

static void test_strings_are_utf8(void)
{
	struct profile *p = model_empty();
	uint32_t id = model_string(p, "bad\xff");
	Pprof__Profile *m;
	uint8_t *bytes;

	written(p, &bytes);
	m = read_back();
	ok(m && strcmp(m->string_table[id], "bad\xef\xbf\xbd") == 0,
	   "an invalid byte becomes U+FFFD");
	pprof__profile__free_unpacked(m, NULL);
	free(bytes);
	profile_free(p);
}

static void test_failures_are_reported(void)
{
	struct profile *p = model_large(1);
	atomic_bool cancel = true;
	struct pa_error err = { 0 };
	struct outfile *out;

	must(outfile_open(path, NULL, &out, NULL) == 0);
	ok(writer_pprof.write(p, out, &cancel, &err) == -ECANCELED, "'%s'", err.text);
	outfile_free(out);
	err = (struct pa_error){ 0 };
	if (access("/dev/full", W_OK) == 0) {
		must(outfile_open("/dev/full", NULL, &out, NULL) == 0);
		ok(writer_pprof.write(p, out, NULL, &err) == -ENOSPC, "'%s'", err.text);
		outfile_free(out);
	} else {
		tap_skip("needs /dev/full");
	}
	profile_free(p);
}

int main(void)
{
	must(mkstemp(path) >= 0);
	test_equal_models_give_equal_bytes();
	test_reads_back();
	test_many_types();
	test_empty();
	test_the_largest_of_everything();
	test_program_comes_first();
	test_known_program_comes_first();
	test_strings_are_utf8();
	test_failures_are_reported();
	unlink(path);
	return tap_done();
}
