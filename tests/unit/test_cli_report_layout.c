/* SPDX-License-Identifier: Apache-2.0 */
/* The report fits its terminal, is complete, and has no control characters. */
#include "report_sample.h"

static void test_hostile_names(void)
{
	struct pa_summary s = sample();
	bool is_clean = true;
	char *text;

	s.nr_processes = 3;
	s.nr_commands = s.commands_seen = 3;
	text = print(&s, &wide);
	for (const char *p = text; *p; p++)
		is_clean = is_clean && (*p == '\n' || (*p >= ' ' && *p <= '~'));
	ok(is_clean, "names with escape sequences and newlines: no control character is printed");
	ok(strstr(text, "?[2Jevil? [/tmp/?]0;evil?]") != NULL,
	   "names with escape sequences and newlines: one line each");
	free(text);
}

/* The longest line that has more than one word; a single long word (a path) is never split. */
static size_t longest_line(char *text)
{
	size_t longest = 0;
	char *save, *line;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *first = line + strspn(line, " ");

		if (strncmp(line, "wrote", 5) && strchr(first, ' ') && strlen(line) > longest)
			longest = strlen(line);
	}
	return longest;
}

static void test_width(uint32_t cols)
{
	struct pa_summary s = sample();
	struct report_options opts = { .max_cols = cols };
	size_t longest;
	char *text;

	s.functions_seen = 1000000;
	s.functions_self = s.samples;
	s.nr_processes = 3;
	s.nr_commands = s.commands_seen = 3;
	s.samples_in_kernel = 60;
	text = print(&s, &opts);
	longest = longest_line(text);
	if (!ok(longest <= cols, "%u columns: lines fit (%zu)", cols, longest))
		printf("# %s\n", text);
	free(text);
}

/* Code without symbols is shown by its file, in brackets. */
static void test_width_of_file_names(uint32_t cols)
{
	static const struct pa_path_stat path = {
		.file = "/opt/"
			"a_library_with_a_very_long_name_of_its_own_that_takes_more_than_a_line_of_"
			"the_terminal.so",
		.is_unnamed = true,
		.name = "",
		.nr_samples = 90,
	};
	struct pa_summary s = sample();
	size_t longest;
	char *text;

	s.paths = &path;
	s.nr_paths = 1;
	text = print(&s, &(struct report_options){ .max_cols = cols });
	longest = longest_line(text);
	ok(longest <= cols, "%u columns: a path of code without symbols fits (%zu)", cols, longest);
	free(text);
}

static void test_width_of_waits(uint32_t cols)
{
	static const struct pa_wait_stat wait = {
		.functions = "read_a_whole_line_of_text < load_the_configuration < main",
		.state = "preempted",
		.syscall = "restart_syscall",
		.nr_intervals = 12345678,
		.total_ns = 9000000000,
		.longest_ns = 8000000000,
	};
	struct pa_summary s = sample();
	size_t longest;
	char *text;

	s.waits = &wait;
	s.nr_waits = 1;
	s.waits_seen = 40;
	s.off_cpu_ns = wait.total_ns;
	s.off_cpu_intervals = 40;
	text = print(&s, &(struct report_options){ .max_cols = cols });
	longest = longest_line(text);
	if (!ok(longest <= cols, "%u columns: the table of waits fits (%zu)", cols, longest))
		printf("# %s\n", text);
	free(text);
}

#define LONG_WHY                                                                                   \
	"it is stripped, and the server that was asked for its debug information did not answer "  \
	"before the time was over, which was thirty seconds"

/* The text with every run of blanks and line ends as one space. The caller frees it. */
static char *unwrapped(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++)
		if ((*p != ' ' && *p != '\n') || (to > text && to[-1] != ' '))
			*to++ = *p == '\n' ? ' ' : *p;
	*to = '\0';
	return text;
}

/* Reasons and fixes are wrapped, never shortened. */
static void test_reasons_are_whole(uint32_t cols)
{
	static const struct pa_unnamed_stat why[] = { { "/opt/lib/libstripped.so.1", 5, LONG_WHY,
							LONG_WHY } };
	static const struct pa_truncation_stat truncation[] = { { "b", LONG_WHY, "/opt/lib/b.so", 4,
								  NULL } };
	static const struct pa_count fetches[] = { { "timeout", LONG_WHY, 1 } };
	struct pa_summary s = sample();
	char *text;

	s.unnamed = why;
	s.nr_unnamed = s.unnamed_seen = 1;
	s.truncations = truncation;
	s.nr_truncations = s.truncations_seen = 1;
	s.fetches = fetches;
	s.nr_fetches = 1;
	text = unwrapped(print(&s, &(struct report_options){ .max_cols = cols }));
	ok(strstr(text, "5.0% of samples without symbols in /opt/lib/libstripped.so.1 " LONG_WHY
			" fix: " LONG_WHY),
	   "%u columns: why symbols are missing, and the fix, are whole", cols);
	ok(strstr(text, "4.0% truncated in /opt/lib/b.so " LONG_WHY " "),
	   "%u columns: why stacks are truncated is whole", cols);
	ok(strstr(text, "1 debug file " LONG_WHY " "),
	   "%u columns: why nothing was fetched is whole", cols);
	free(text);
}

int main(void)
{
	test_hostile_names();
	test_reasons_are_whole(160);
	test_reasons_are_whole(80);
	test_reasons_are_whole(20);
	test_width(400);
	test_width(200);
	test_width(80);
	test_width(50);
	test_width(40);
	test_width(20);
	test_width_of_waits(80);
	test_width_of_waits(60);
	test_width_of_waits(50);
	test_width_of_waits(20);
	test_width_of_file_names(80);
	test_width_of_file_names(20);
	return tap_done();
}
