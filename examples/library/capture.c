/* SPDX-License-Identifier: Apache-2.0 */
/* capture PID [SECONDS]: the functions that a process spends its CPU time in.
 * cc capture.c $(pkg-config --cflags --libs perfagent) -o capture */
#include <perfagent/perfagent.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char *argv[])
{
	pid_t pid = argc > 1 ? atoi(argv[1]) : 0;
	struct pa_options options = {
		.sz = sizeof(options),
		.pids = &pid,
		.nr_pids = 1,
		.duration_ns = (argc > 2 ? strtoull(argv[2], NULL, 10) : 10) * 1000000000,
	};
	struct pa_session *session = NULL;
	struct pa_error err;
	int status = EXIT_FAILURE;

	if (pa_session_new(&options, &session, &err) == 0 && pa_session_start(session, &err) == 0 &&
	    pa_session_wait(session, -1, &err) == 0) {
		const struct pa_summary *s = pa_session_summary(session);

		printf("%llu samples\n", (unsigned long long)s->samples);
		for (size_t i = 0; i < s->nr_functions && i < 10; i++) {
			const struct pa_function_stat *f =
				PA_ITEM(s, pa_function_stat, s->functions, i);

			printf("%6llu %s [%s]\n", (unsigned long long)f->nr_self, f->name, f->file);
		}
		status = EXIT_SUCCESS;
	} else {
		fprintf(stderr, "capture: %s\n", err.text);
	}
	pa_session_free(session);
	return status;
}
