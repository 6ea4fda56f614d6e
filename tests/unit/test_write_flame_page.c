/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <jansson.h>
#include <unistd.h>

#include "model.h"
#include "write/flame_page.h"
#include "write/flame_profile.h"
#include "write/writer.h"

#define DATA_BEGIN "<script type=\"application/json\" id=\"data\">\n"
#define LONG_NAME 65536

static char path[] = "/tmp/flame_page.XXXXXX";

/* The whole page; the caller frees it. */
static char *page_text(const struct flame_view *views, size_t nr, const char *title)
{
	struct outfile *out;
	char *text;
	FILE *f;
	size_t n;

	must(outfile_open(path, NULL, &out, NULL) == 0);
	must(flame_page_write(views, nr, title, out, NULL, NULL) == 0);
	must(outfile_commit(out, NULL) == 0);
	n = outfile_size(out);
	outfile_free(out);
	text = calloc(1, n + 1);
	f = fopen(path, "r");
	must(text && f && fread(text, 1, n, f) == n && fgetc(f) == EOF);
	fclose(f);
	return text;
}

/* The data of a page, as a browser finds it: up to the first end of a script. */
static json_t *page_data(const char *text)
{
	const char *begin = strstr(text, DATA_BEGIN), *end;

	must(begin);
	begin += strlen(DATA_BEGIN);
	end = strstr(begin, "</script");
	must(end);
	return json_loadb(begin, (size_t)(end - begin), 0, NULL);
}

static json_t *data_of(const struct flame_view *views, size_t nr, const char *title)
{
	char *text = page_text(views, nr, title);
	json_t *data = page_data(text);

	free(text);
	must(data);
	return data;
}

static json_t *data_of_profile(const struct profile *p)
{
	const struct flame_view view = { .name = "on-cpu", .profile = p };

	return data_of(&view, 1, "title");
}

static long number_at(const json_t *list, size_t i)
{
	return (long)json_integer_value(json_array_get(list, i));
}

static const char *string_of(const json_t *data, long id)
{
	return json_string_value(json_array_get(json_object_get(data, "strings"), (size_t)id));
}

/* Writes the stack of a node as root;…;leaf: inlined frames in parentheses, with lines. */
static void put_stack(const json_t *data, const json_t *tree, long node, char *to, size_t size)
{
	long stack[64], depth = 0, nr = 0;
	size_t used = 0;

	for (size_t i = 0; nr < node; i++) {
		long step = number_at(tree, i);

		depth += step < 0 ? step : 1;
		must(depth >= (step < 0 ? 0 : 1) && depth < 64);
		if (step >= 0) {
			stack[depth - 1] = step;
			nr++;
		}
	}
	to[0] = '\0';
	for (long i = 0; i < depth; i++) {
		const json_t *frames = json_object_get(data, "frames");
		long function = number_at(frames, 3 * (size_t)stack[i]);
		long line = number_at(frames, 3 * (size_t)stack[i] + 1);
		bool is_inlined = number_at(frames, 3 * (size_t)stack[i] + 2);
		const json_t *functions = json_object_get(data, "functions");

		used += (size_t)snprintf(
			to + used, size - used, is_inlined ? "%s(%s:%ld)" : "%s%s:%ld",
			i ? ";" : "", string_of(data, number_at(functions, 5 * (size_t)function)),
			line);
		must(used < size);
	}
}

/* The value of a stack, of one type, summed over samples; -1: no sample has it. */
static long value_of(const json_t *data, const json_t *profile, const char *stack, size_t type)
{
	const json_t *nodes = json_object_get(profile, "nodes");
	const json_t *values = json_array_get(json_object_get(profile, "values"), type);
	const json_t *first = json_array_get(json_object_get(profile, "values"), 0);
	long sum = -1, node = 0;
	char text[1024];

	for (size_t i = 0; i < json_array_size(nodes); i++) {
		long value = json_is_array(values)
				     ? number_at(values, i)
				     : number_at(first, i) * (long)json_integer_value(values);

		node += number_at(nodes, i);
		put_stack(data, json_object_get(profile, "tree"), node, text, sizeof(text));
		if (strcmp(text, stack) == 0)
			sum = (sum < 0 ? 0 : sum) + value;
	}
	return sum;
}

static const json_t *profile_at(const json_t *data, size_t view, const char *member)
{
	return json_object_get(json_array_get(json_object_get(data, "views"), view), member);
}

static void test_example(void)
{
	struct profile *p = model_example();
	json_t *data = data_of_profile(p);
	const json_t *profile = profile_at(data, 0, "profile");

	ok(value_of(data, profile, "main:0;work:40;(inner:12);spin:0", 0) == 70,
	   "flame page: a stack has its frames from the root on, with lines and inlined calls");
	ok(value_of(data, profile, "main:0;idle:0", 0) == 20 &&
		   value_of(data, profile, "main:0;0x403004:0", 0) == 10 &&
		   value_of(data, profile, "0xdead:0", 0) == 5,
	   "flame page: each stack has its value, and a location without a name its address");
	ok(value_of(data, profile, "main:0;idle:0", 1) == 200000000,
	   "flame page: every type of value is there");
	ok(json_array_size(json_object_get(profile, "tree")) == 10,
	   "flame page: frames that stacks share from the root on are written once");
	ok(strcmp(string_of(data, (long)json_integer_value(json_object_get(data, "title"))),
		  "title") == 0,
	   "flame page: the title is the one given");
	json_decref(data);
	profile_free(p);
}

static void test_equal_lines_are_one_node(void)
{
	struct profile *p = model_empty();
	uint32_t a = model_mapping(p, "/bin/a", 1, 0x1000, 0x1000);
	uint32_t f = model_location(p, a, 0x1001, "f"), g = model_location(p, a, 0x1002, "f");
	json_t *data;

	model_add(p, &f, 1, model_labels(p, "a", 1), 1);
	model_add(p, &g, 1, model_labels(p, "a", 1), 2);
	model_add(p, (uint32_t[]){ g, f }, 2, model_labels(p, "a", 1), 4);
	model_add(p, NULL, 0, model_labels(p, "a", 1), 8);
	data = data_of_profile(p);
	ok(json_array_size(json_object_get(profile_at(data, 0, "profile"), "tree")) == 2,
	   "flame page: addresses of one source line are one node");
	ok(value_of(data, profile_at(data, 0, "profile"), "f:0", 0) == 3 &&
		   value_of(data, profile_at(data, 0, "profile"), "f:0;f:0", 0) == 4 &&
		   value_of(data, profile_at(data, 0, "profile"), "", 0) == 8,
	   "flame page: a stack, its beginning and an empty stack have values of their own");
	json_decref(data);
	profile_free(p);
}

static long kind_of_function(const json_t *data, const char *name)
{
	const json_t *functions = json_object_get(data, "functions");

	for (size_t i = 0; i < json_array_size(functions); i += 5)
		if (strcmp(string_of(data, number_at(functions, i)), name) == 0)
			return number_at(functions, i + 4);
	return -1;
}

static uint32_t mapping_of_kind(struct profile *p, uint8_t kind, uint64_t start)
{
	struct profile_mapping m = { .kind = kind,
				     .owner = 7,
				     .start = start,
				     .limit = start + 0x1000,
				     .path = model_string(p, "[code]") };
	uint32_t id;

	must(profile_mapping(p, &m, &id) == 0);
	return id;
}

static void test_kinds(void)
{
	struct profile *p = model_empty();
	uint32_t kernel = mapping_of_kind(p, PROFILE_MAPPING_KERNEL, 0x10000);
	uint32_t jit = mapping_of_kind(p, PROFILE_MAPPING_JIT, 0x20000);
	json_t *data;

	(void)model_location(p, model_mapping(p, "/bin/a", 1, 0x1000, 0x1000), 0x1001, "main");
	(void)model_location(p, kernel, 0x10001, "ksys_read");
	(void)model_location(p, jit, 0x20001, "hot");
	(void)model_location(p, jit, 0x20002, "py::run:/app.py");
	data = data_of_profile(p);
	ok(kind_of_function(data, "main") == FLAME_USER &&
		   kind_of_function(data, "ksys_read") == FLAME_KERNEL &&
		   kind_of_function(data, "hot") == FLAME_JIT &&
		   kind_of_function(data, "py::run:/app.py") == FLAME_PYTHON,
	   "flame page: a function is of the program, the kernel, a JIT compiler or Python");
	json_decref(data);
	profile_free(p);
}

/* A page with one function of that name; whether it is intact but for what all outputs replace. */
static bool keeps_name(const char *name, const char *expected)
{
	struct profile *p = model_empty();
	uint32_t a = model_mapping(p, name, 1, 0x1000, 0x1000);
	uint32_t f = model_location(p, a, 0x1001, name);
	const struct flame_view view = { .name = name, .profile = p };
	char *text;
	json_t *data;
	bool kept;

	model_add(p, &f, 1, model_labels(p, name, 1), 1);
	text = page_text(&view, 1, name);
	data = page_data(text);
	kept = data && kind_of_function(data, expected) >= 0 &&
	       strcmp(string_of(data, number_at(json_object_get(data, "functions"), 2)),
		      expected) == 0;
	json_decref(data);
	free(text);
	profile_free(p);
	return kept;
}

/* Whether a character that could begin markup, or end the data, stands in the data. */
static bool has_markup(const char *name)
{
	struct profile *p = model_empty();
	uint32_t f = model_location(p, model_mapping(p, name, 1, 0x1000, 0x1000), 0x1001, name);
	const struct flame_view view = { .name = name, .profile = p };
	char *text, *begin;
	bool has;

	model_add(p, &f, 1, model_labels(p, name, 1), 1);
	text = page_text(&view, 1, name);
	begin = strstr(text, DATA_BEGIN) + strlen(DATA_BEGIN);
	begin[strcspn(begin, "<>&")] = '\0';
	has = !*begin || begin[strlen(begin) - 1] != '}';
	free(text);
	profile_free(p);
	return has;
}

static void test_hostile_names(void)
{
	static char long_name[LONG_NAME + 1], longest[LONG_NAME + 1];

	memset(long_name, 'x', LONG_NAME);
	memset(longest, '<', LONG_NAME);
	ok(keeps_name("</script><script>alert(1)</script>", "</script><script>alert(1)</script>") &&
		   keeps_name("<!--", "<!--") && keeps_name("a\"b\\c&amp;", "a\"b\\c&amp;"),
	   "flame page: names that look like markup are intact");
	ok(!has_markup("</script><script>alert(1)</script>") && !has_markup("<!--<script>") &&
		   !has_markup("&lt;]]>"),
	   "flame page: no name puts a character into the page that could begin markup");
	ok(keeps_name("two\nlines\r\x1b[2J", "two?lines??[2J"),
	   "flame page: control characters are replaced as in every output");
	ok(keeps_name("bad \xff\xc0\xaf utf-8 \xed\xa0\x80",
		      "bad \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd utf-8 "
		      "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"),
	   "flame page: bytes that are not UTF-8 become U+FFFD");
	ok(keeps_name(long_name, long_name) && keeps_name(longest, longest),
	   "flame page: names of 64 KB are intact");
}

static void test_large(void)
{
	struct profile *p = model_large(3);
	json_t *data = data_of_profile(p);
	const json_t *profile = profile_at(data, 0, "profile");
	const json_t *tree = json_object_get(profile, "tree");
	long long sum = 0, expected = 0, node = 0, nr_nodes = 0;

	for (size_t i = 0; i < json_array_size(tree); i++)
		nr_nodes += number_at(tree, i) >= 0;
	for (size_t i = 0; i < json_array_size(json_object_get(profile, "nodes")); i++) {
		node += number_at(json_object_get(profile, "nodes"), i);
		sum += number_at(json_array_get(json_object_get(profile, "values"), 0), i);
	}
	for (uint32_t i = 0; i < p->nr_samples; i++)
		expected += profile_value(p, i, 0);
	ok(sum == expected && node == nr_nodes,
	   "flame page: the values of a large profile add up to its last node");
	json_decref(data);
	profile_free(p);
}

static void test_views(void)
{
	struct profile *p = model_example(), *base = model_example();
	const struct flame_view views[] = { { "on-cpu", p, base }, { "off-cpu", p, NULL } };
	json_t *data = data_of(views, 2, NULL);

	ok(value_of(data, profile_at(data, 0, "base"), "main:0;idle:0", 0) == 20 &&
		   value_of(data, profile_at(data, 1, "profile"), "main:0;idle:0", 0) == 20,
	   "flame page: several profiles, and what one is compared with, share a page");
	ok(!profile_at(data, 1, "base"), "flame page: a view without a base has none");
	json_decref(data);
	profile_free(base);
	profile_free(p);
}

static int count_left_out(struct profile *p, uint32_t max_frames, uint32_t *ret_written)
{
	struct flame_tables t;
	struct flame_profile f;
	int nr;

	must(flame_tables_init(&t) == 0);
	must(flame_profile_init(&f, p, &t, max_frames) == 0);
	nr = (int)f.nr_left_out;
	*ret_written = f.nr_order;
	flame_profile_done(&f);
	flame_tables_done(&t);
	return nr;
}

static void test_limit(void)
{
	struct profile *p = model_example();
	uint32_t nr;

	ok(count_left_out(p, 9, &nr) == 0 && nr == 4,
	   "flame page: stacks that fit the limit are all written");
	ok(count_left_out(p, 7, &nr) == 2 && nr == 2,
	   "flame page: beyond the limit the stacks with the smallest values are left out");
	profile_free(p);
}

static void test_refusals(void)
{
	struct profile *p = model_example();
	const struct flame_view view = { .name = "a", .profile = p };
	struct pa_error err = { 0 };
	atomic_bool cancel = true;
	struct outfile *out;

	must(outfile_open("/dev/null", NULL, &out, NULL) == 0);
	ok(flame_page_write(&view, 0, NULL, out, NULL, &err) == -EINVAL && err.code,
	   "flame page: a page without a profile is refused");
	ok(writer_flame_page.write(p, out, &cancel, &err) == -ECANCELED,
	   "flame page: writing can be cancelled");
	outfile_free(out);
	profile_free(p);
}

/* Millions of labels: what comes after the cancellation is neither collected nor formatted. */
static void test_cancel(void)
{
	atomic_bool cancel = false;
	struct text_out *out = calloc(1, sizeof(*out));
	struct flame_tables t;
	struct pa_error err = { 0 };
	struct outfile *file;
	uint32_t id;

	must(out && outfile_open("/dev/null", NULL, &file, NULL) == 0);
	must(flame_tables_init(&t) == 0);
	text_out_init(out, file, &cancel, &err);
	t.cancel = &cancel;
	ok(flame_tables_string(&t, "a", &id) == 0, "flame page: a name is collected");
	text_out_json(out, "<a>");
	text_out_number(out, INT64_MIN);
	text_out_number(out, 0);
	text_out_number(out, 1230);
	ok(out->nr == 40 && !memcmp(out->bytes, "\"\\u003ca\\u003e\"-922337203685477580801230", 40),
	   "flame page: text and numbers are formatted: %.*s", (int)out->nr, out->bytes);
	cancel = true;
	ok(flame_tables_string(&t, "b", &id) == -ECANCELED,
	   "flame page: after a cancellation no name is collected");
	ok(text_out_flush(out) == -ECANCELED && err.code, "flame page: nothing is written");
	text_out_json(out, "more");
	text_out_number(out, 7);
	ok(out->nr == 0, "flame page: nor is anything formatted: %zu bytes", out->nr);
	flame_tables_done(&t);
	outfile_free(file);
	free(out);
}

int main(void)
{
	int fd = mkstemp(path);

	must(fd >= 0 && close(fd) == 0);
	test_example();
	test_equal_lines_are_one_node();
	test_kinds();
	test_hostile_names();
	test_large();
	test_views();
	test_limit();
	test_refusals();
	test_cancel();
	unlink(path);
	return tap_done();
}
