/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding of profiles that this program wrote, that others wrote, and that are hostile. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "model.h"
#include "pprof_maker.h"
#include "read/pprof_decode.h"
#include "read/pprof_input.h"
#include "write/writer.h"

#define FAR_LOCATION (1ull << 40)

static struct pa_error last_error;

static struct profile *decoded_within(const struct maker *m, size_t max_bytes)
{
	struct profile *p = NULL;

	last_error = (struct pa_error){ 0 };
	if (pprof_decode(m->bytes, m->n, max_bytes, "made", &p, &last_error) < 0)
		return NULL;
	return p;
}

static struct profile *decoded(const struct maker *m)
{
	return decoded_within(m, PPROF_MAX_MODEL_BYTES);
}

/* Whether the made profile is refused with this code and these words. */
static void refuses_as(const struct maker *m, int code, const char *words)
{
	struct profile *p = decoded(m);

	ok(!p && last_error.code == code && strstr(last_error.text, words) &&
		   strstr(last_error.text, "'made'"),
	   "the file is refused: %s", words);
	if (p || !strstr(last_error.text, words))
		printf("# %s\n", last_error.text);
	profile_free(p);
}

static void refuses(const struct maker *m, const char *words)
{
	refuses_as(m, EBADMSG, words);
}

static struct maker *maker_new(void)
{
	struct maker *m = calloc(1, sizeof(*m));

	must(m);
	return m;
}

static bool is_same_string(const struct profile *a, uint32_t i, const struct profile *b, uint32_t j)
{
	return strcmp(profile_str(a, i), profile_str(b, j)) == 0;
}

static bool have_same_functions(const struct profile *a, const struct profile *b, uint32_t location)
{
	const struct profile_location *l = &a->locations[location], *k = &b->locations[location];

	if (l->nr_lines != k->nr_lines || l->mapping != k->mapping || l->address != k->address)
		return false;
	for (uint32_t i = 0; i < l->nr_lines; i++) {
		const struct profile_line *x = &a->lines[l->first_line + i];
		const struct profile_line *y = &b->lines[k->first_line + i];

		if (x->line != y->line ||
		    !is_same_string(a, a->functions[x->function].name, b,
				    b->functions[y->function].name) ||
		    !is_same_string(a, a->functions[x->function].filename, b,
				    b->functions[y->function].filename))
			return false;
	}
	return true;
}

static bool are_same_samples(const struct profile *a, const struct profile *b, uint32_t i)
{
	const struct profile_span *s = &a->stacks[a->samples[i].stack];
	const struct profile_span *t = &b->stacks[b->samples[i].stack];
	const struct profile_span *l = &a->label_sets[a->samples[i].labels];
	const struct profile_span *k = &b->label_sets[b->samples[i].labels];
	bool same = s->nr == t->nr && l->nr == k->nr;

	for (uint32_t j = 0; same && j < s->nr; j++)
		same = have_same_functions(a, b, a->frames[s->first + j]) &&
		       a->frames[s->first + j] == b->frames[t->first + j];
	for (uint32_t j = 0; same && j < l->nr; j++)
		same = is_same_string(a, a->labels[l->first + j].key, b,
				      b->labels[k->first + j].key) &&
		       is_same_string(a, a->labels[l->first + j].str, b,
				      b->labels[k->first + j].str) &&
		       a->labels[l->first + j].num == b->labels[k->first + j].num;
	for (uint32_t j = 0; same && j < a->nr_types; j++)
		same = profile_value(a, i, j) == profile_value(b, i, j);
	return same;
}

static struct profile *written_and_read(const struct profile *p)
{
	char path[] = "/tmp/read_pprof.XXXXXX";
	struct buf bytes = BUF_INIT(PPROF_INPUT_MAX_BYTES);
	struct profile *read = NULL;
	struct outfile *out;
	int fd = mkstemp(path);

	must(fd >= 0 && outfile_open(path, NULL, &out, NULL) == 0);
	must(writer_pprof.write(p, out, NULL, NULL) == 0 && outfile_commit(out, NULL) == 0);
	outfile_free(out);
	close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && pprof_input_read(fd, path, &bytes, &last_error) == 0);
	must(pprof_decode(bytes.data, bytes.len, PPROF_MAX_MODEL_BYTES, path, &read, &last_error) ==
	     0);
	close(fd);
	unlink(path);
	buf_done(&bytes);
	return read;
}

static void test_round_trip(struct profile *p, const char *name)
{
	struct profile *q;
	bool same;

	for (uint32_t i = 0; i < p->nr_samples * p->nr_types; i++)
		if (p->values[i] < 0) /* would be refused */
			p->values[i] = 0;
	q = written_and_read(p);
	same = p->nr_samples == q->nr_samples && p->nr_types == q->nr_types &&
	       p->nr_locations == q->nr_locations;

	for (uint32_t i = 0; same && i < p->nr_samples; i++)
		same = are_same_samples(p, q, i);
	ok(same && p->nr_samples, "%s: all %u samples are read as they were written", name,
	   p->nr_samples);
	ok(p->period == q->period && p->time_ns == q->time_ns && p->duration_ns == q->duration_ns &&
		   p->default_type == q->default_type && p->nr_comments == q->nr_comments,
	   "%s: times, types and comments are read as they were written", name);
	profile_free(p);
	profile_free(q);
}

static void test_of_a_stranger(void)
{
	struct maker *m = maker_new();
	struct profile *p;

	/* unpacked, then packed, as old and new protobuf libraries write repeated numbers */
	make_message(m, 2, PAIRS({ 1, FAR_LOCATION }, { 1, 7 }, { 2, 3 }, { 2, 30 }));
	make_bytes(m, 2, "\x0a\x01\x07\x12\x02\x04\x28", 7);
	make_tables(m);
	make_number(m, 12, 10);
	make_number(m, 99, 1); /* of a later version of the format */
	p = decoded(m);
	if (!ok(p != NULL, "a file without mappings, labels and gzip is read"))
		exit(1);
	ok(p->nr_samples == 2 && profile_value(p, 0, 1) == 30 && profile_value(p, 1, 0) == 4,
	   "numbers are read packed and one by one");
	ok(p->stacks[0].nr == 2 && p->frames[0] == 1 && p->frames[1] == 0,
	   "frames are found by their IDs, which may be any numbers");
	ok(p->nr_locations == 2 && p->locations[0].address == p->locations[1].address,
	   "locations without addresses remain separate");
	ok(p->locations[0].is_named && p->locations[0].mapping == PROFILE_NONE,
	   "a location needs no mapping to have a function");
	ok(p->default_type == 1 && p->period == 10, "without a default, the last type is it");
	profile_free(p);
	free(m);
}

static void test_mappings(void)
{
	struct maker *m = maker_new();
	struct profile *p;

	make_message(m, 3, PAIRS({ 1, 4 }, { 5, S_PATH }));
	make_message(m, 3, PAIRS({ 1, 5 }, { 2, 0x1000 }, { 3, 0x2000 }, { 5, S_PATH }));
	make_message(m, 4, PAIRS({ 1, 20 }, { 2, 4 }, { 3, 0x900 }));
	make_message(m, 4, PAIRS({ 1, 21 }, { 2, 4 }, { 3, 0x700 }));
	make_message(m, 4, PAIRS({ 1, 22 }, { 2, 5 }, { 3, UINT64_MAX }));
	make_tables(m);
	p = decoded(m);
	if (!ok(p != NULL,
		"mappings without a range, and locations outside of theirs, are accepted"))
		exit(1);
	ok(p->mappings[0].start == 0x700 && p->mappings[0].limit == 0x901,
	   "a mapping without a range has that of its locations");
	ok(p->mappings[1].start == 0x1000 && p->mappings[1].limit == UINT64_MAX,
	   "a mapping grows to contain its locations");
	ok(p->nr_locations == 5 && p->locations[0].nr_lines == 0 && !p->locations[0].is_named,
	   "a location without a function has no symbol");
	profile_free(p);
	free(m);
}

static bool is_called(const struct profile *p, uint32_t location, const char *name)
{
	const struct profile_line *line = &p->lines[p->locations[location].first_line];

	return strcmp(profile_str(p, p->functions[line->function].name), name) == 0;
}

static void test_address_names(void)
{
	struct profile *p = model_empty(), *q;
	uint32_t a = model_mapping(p, "/lib/libz.so.1", 1, 0x1000, 0x1000);
	uint32_t l[] = { model_location(p, a, 0x1010, "0x1010"),
			 model_location(p, a, 0x1020, "libz.so.1+0x20"),
			 model_location(p, a, 0x1030, "operator+0x"),
			 model_location(p, a, 0x1040, "other.so+0x40"),
			 model_location(p, a, 0x1050, "deflate"),
			 model_location(p, a, 0x1060, "libz+0x1060"),
			 model_location(p, a, 0x1070, "") };

	model_add(p, l, 7, model_labels(p, "a", 1), 1);
	q = written_and_read(p);
	ok(!q->locations[0].is_named && !q->locations[1].is_named && !q->locations[5].is_named,
	   "an address, and an address after a file's whole or short name, are not symbols");
	ok(!q->locations[6].is_named && is_called(q, 6, "[unknown]"),
	   "an empty name is [unknown], and no symbol");
	ok(q->locations[2].is_named && q->locations[3].is_named && q->locations[4].is_named,
	   "names that only look alike are symbols");
	profile_free(p);
	profile_free(q);
}

/* What each hostile file adds to a valid one, and what is said about it. */
static void test_bad_references(void)
{
	static const struct {
		uint32_t field;
		uint64_t pairs[4][2];
		const char *words;
	} cases[] = {
		{ 2, { { 1, 9 }, { 2, 1 }, { 2, 1 } }, "sample 0 refers to location 9" },
		{ 2, { { 1, 0 }, { 2, 1 }, { 2, 1 } }, "sample 0 refers to location 0" },
		{ 2, { { 1, 7 }, { 2, 1 } }, "does not have one value for each of the 2 types" },
		{ 4, { { 1, 7 } }, "two of location 7" },
		{ 4, { { 3, 16 } }, "location 2 has no ID" },
		{ 4, { { 1, 8 }, { 2, 3 } }, "refers to mapping 3" },
		{ 5, { { 1, 1 }, { 2, 11 } }, "string 11, and has 11" },
		{ 5, { { 1, 700 } }, "two of function 700" },
		{ 3, { { 1, 1 }, { 5, UINT64_MAX } }, "string 18446744073709551615" },
		{ 1, { { 1, 50 } }, "string 50" },
		{ 2, { { 2, 1 }, { 2, 2 }, { 2, 3 } }, "does not have one value for each" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct maker *m = maker_new();

		make_tables(m);
		make_message(m, cases[i].field, cases[i].pairs);
		refuses(m, cases[i].words);
		free(m);
	}
}

static void test_bad_shapes(void)
{
	struct maker *m = maker_new();

	refuses(m, "first string is not empty");
	make_strings(m);
	refuses(m, "no type of values");
	m->n = 0;
	make_tables(m);
	m->n--;
	refuses(m, "last field is incomplete");
	m->n = 0;
	make_tables(m);
	make_bytes(m, 2, "\x0a\x05\x07", 3); /* five bytes of locations, of which there is one */
	refuses(m, "sample 0 is incomplete");
	m->n = 0;
	make_bytes(m, 6, "x", 1);
	make_tables(m);
	refuses(m, "first string is not empty");
	m->n = 0;
	make_tables(m);
	make_bytes(m, 2, "\x12\x0b\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13);
	refuses(m, "sample 0 is incomplete"); /* a number of more than 64 bits */
	free(m);
}

static void test_limits(void)
{
	struct maker *m = maker_new();
	static uint8_t deep[2 + 3 + PROFILE_MAX_FRAMES + 1];

	deep[0] = 0x0a;
	deep[1] = 0x80 | ((PROFILE_MAX_FRAMES + 1) & 0x7f);
	deep[2] = (PROFILE_MAX_FRAMES + 1) >> 7;
	memset(deep + 3, 7, PROFILE_MAX_FRAMES + 1);
	make_tables(m);
	make_bytes(m, 2, deep, 3 + PROFILE_MAX_FRAMES + 1);
	refuses(m, "more than 4096 frames");
	m->n = 0;
	make_tables(m);
	for (int i = 0; i < PPROF_MAX_TYPES; i++)
		make_message(m, 1, PAIRS({ 1, 1 }));
	refuses(m, "more than 64 types");
	m->n = 0;
	make_tables(m);
	make_message(m, 2, PAIRS({ 1, 7 }, { 2, INT64_MAX }, { 2, 1 }));
	make_message(m, 2, PAIRS({ 1, 7 }, { 2, 1 }, { 2, 1 }));
	refuses(m, "more than 64 bits");
	m->n = 0;
	make_tables(m); /* of two stacks */
	make_message(m, 2, PAIRS({ 1, 7 }, { 2, 1 }, { 2, INT64_MAX }));
	make_message(m, 2, PAIRS({ 1, FAR_LOCATION }, { 2, 1 }, { 2, 1 }));
	refuses(m, "more than 64 bits");
	free(m);
}

static void test_long_string(void)
{
	static char text[PPROF_MAX_STRING_BYTES + 1];
	struct maker *m = maker_new();
	struct profile *p;

	memset(text, 'x', sizeof(text));
	make_tables(m);
	make_bytes(m, 6, text, PPROF_MAX_STRING_BYTES);
	p = decoded(m);
	ok(p != NULL, "a string of the largest size is read");
	profile_free(p);
	make_bytes(m, 6, text, sizeof(text));
	refuses(m, "string 12 has more than 128 KiB");
	free(m);
}

static void test_nul(void)
{
	struct maker *m = maker_new();
	struct profile *p;

	make_tables(m);
	make_bytes(m, 6, "a\0x", 3);
	make_bytes(m, 6, "a\0y", 3);
	make_bytes(m, 4, "\x08\x09\x22\x03\x08\xe7\x07", 7); /* location 9: function 999 */
	make_bytes(m, 4, "\x08\x0a\x22\x03\x08\xe6\x07", 7);
	make_message(m, 5, PAIRS({ 1, 999 }, { 2, 11 }));
	make_message(m, 5, PAIRS({ 1, 998 }, { 2, 12 }));
	p = decoded(m);
	must(p && p->nr_functions == 4);
	ok(!strcmp(profile_str(p, p->functions[2].name), "a?x") &&
		   !strcmp(profile_str(p, p->functions[3].name), "a?y"),
	   "names that differ after a NUL are two, and the NUL is replaced");
	profile_free(p);
	m->n = 0;
	make_bytes(m, 6, "\0", 1);
	make_tables(m);
	refuses(m, "first string is not empty");
	free(m);
}

/* What the samples of a model and their parts need, with indexes that are half full. */
static size_t bytes_of_samples(const struct profile *p)
{
	size_t nr_indexed = (size_t)p->nr_samples + p->nr_stacks + p->nr_label_sets;

	return p->nr_samples * (sizeof(*p->samples) + p->nr_types * sizeof(*p->values)) +
	       p->nr_stacks * (sizeof(*p->stacks) + sizeof(*p->stack_users)) +
	       p->nr_frames * sizeof(*p->frames) + p->nr_labels * sizeof(*p->labels) +
	       p->nr_label_sets * (sizeof(*p->label_sets) + sizeof(*p->in_kernel)) +
	       nr_indexed * 2 * sizeof(struct idtable_slot);
}

/* Each with a stack and a label of its own. */
static void test_memory_of_samples(void)
{
	struct maker *m = maker_new();
	struct profile *p, *q;

	make_tables(m);
	for (uint8_t i = 0; i < 64; i++)
		make_message(m, 4, PAIRS({ 1, 10 + i }));
	for (uint8_t i = 0; i < 64; i++)
		for (uint8_t k = 0; k < 64; k++) {
			const uint8_t bytes[] = { 0x0a, 2, 10 + i, 10 + k, /* locations */
						  0x12, 2, 1,      1,      /* values */
						  0x1a, 4, 8,      S_KEY,  0x18, i,
						  0x1a, 4, 8,      S_KEY,  0x18, k };

			make_bytes(m, 2, bytes, sizeof(bytes));
		}
	p = decoded(m);
	must(p && p->nr_stacks == 64 * 64 && p->nr_label_sets == 64 * 64);
	q = decoded_within(m, bytes_of_samples(p));
	ok(!q && last_error.code == E2BIG,
	   "the memory of all samples, stacks and labels is charged");
	profile_free(p);
	profile_free(q);
	free(m);
}

/* Location 9: PROFILE_MAX_LINES lines, each of function 900, which has this name. */
static void make_inlined(struct maker *m, uint32_t name)
{
	static uint8_t bytes[2 + 5 * PROFILE_MAX_LINES] = { 0x08, 9 };

	for (uint32_t i = 0; i < PROFILE_MAX_LINES; i++)
		memcpy(bytes + 2 + 5 * i, "\x22\x03\x08\x84\x07", 5);
	make_message(m, 5, PAIRS({ 1, 900 }, { 2, name }));
	make_bytes(m, 4, bytes, sizeof(bytes));
}

/* A sample with nr frames, all of location 9. */
static void make_deep(struct maker *m, uint32_t nr)
{
	uint8_t bytes[3 + PROFILE_MAX_FRAMES + 4] = { 0x0a, 0x80 | (nr & 0x7f), nr >> 7 };

	memset(bytes + 3, 9, nr);
	memcpy(bytes + 3 + nr, "\x12\x02\x01\x01", 4);
	make_bytes(m, 2, bytes, nr + 7);
}

static void test_inlined_names(void)
{
	static char text[PPROF_MAX_STRING_BYTES];
	struct maker *m = maker_new();
	struct profile *p;

	memset(text, 'x', sizeof(text));
	make_tables(m);
	make_bytes(m, 6, text, sizeof(text)); /* string 11 */
	make_inlined(m, S_MAIN);
	make_deep(m, 1000);
	p = decoded(m);
	ok(p && p->nr_samples == 1, "a deep stack of short names is read");
	profile_free(p);
	m->n = 0;
	make_tables(m);
	make_bytes(m, 6, text, sizeof(text));
	make_inlined(m, 11); /* 128 MiB */
	make_deep(m, 128);
	refuses_as(m, E2BIG, "too large");
	m->n = 0;
	make_tables(m);
	make_inlined(m, S_MAIN); /* 20 KiB */
	for (int i = 0; i < 128; i++)
		make_deep(m, PROFILE_MAX_FRAMES);
	refuses_as(m, E2BIG, "too large");
	free(m);
}

static void test_negative_values(void)
{
	struct maker *m = maker_new();

	make_tables(m);
	make_message(m, 2, PAIRS({ 1, 7 }, { 2, UINT64_MAX }, { 2, 1 }));
	refuses_as(m, EINVAL, "negative values");
	m->n = 0;
	make_tables(m);
	make_message(m, 2, PAIRS({ 1, 7 }, { 2, 1 }, { 2, (uint64_t)INT64_MIN }));
	refuses_as(m, EINVAL, "negative values");
	free(m);
}

int main(void)
{
	test_round_trip(model_example(), "example");
	test_round_trip(model_large(1), "large");
	test_of_a_stranger();
	test_mappings();
	test_address_names();
	test_bad_references();
	test_bad_shapes();
	test_limits();
	test_long_string();
	test_nul();
	test_inlined_names();
	test_memory_of_samples();
	test_negative_values();
	return tap_done();
}
