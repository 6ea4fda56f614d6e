// SPDX-License-Identifier: Apache-2.0
/*
 * failing_trigger PID: a session whose second trigger cannot be attached, when tables have been published
 * already. It starts twice in vain and is freed; exits 0 if both failed for that reason. On-CPU as the
 * second is refused.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/session.h"

static int create(const struct trigger_setup *setup, struct value_types *ret_values,
		  void **ret_state, struct pa_error *err)
{
	static const struct value_type type = { "nothing", "count" };

	*ret_values = (struct value_types){ .types = &type, .nr_types = 1 };
	*ret_state = NULL;
	return 0;
}

static int attach(void *state, struct programs *p, const struct cpus *online, struct pa_error *err)
{
	return -EACCES;
}

static int account(void *state, struct trigger_account *ret_account)
{
	return 0;
}

static void nothing(void *state)
{
}

static const struct trigger failing = { .name = "failing",
					.unit = "event",
					.units = "events",
					.create = create,
					.attach = attach,
					.account = account,
					.detach = nothing,
					.free = nothing };

int main(int argc, char **argv)
{
	const struct trigger *const list[] = { &trigger_oncpu, &failing };
	const struct trigger *const other_way[] = { &failing, &trigger_oncpu };
	pid_t pid = argc > 1 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
	struct pa_options o = {
		.sz = sizeof(o), .pids = &pid, .nr_pids = 1, .unwind = PA_UNWIND_DWARF
	};
	struct pa_session *s = NULL;
	struct pa_error err;
	int first, second, refused;

	refused = session_new(&(struct session_config){ other_way, 2 }, &o, &s, &err);
	if (session_new(&(struct session_config){ list, 2 }, &o, &s, &err) < 0) {
		fprintf(stderr, "failing_trigger: %s\n", err.text);
		return 1;
	}
	first = pa_session_start(s, &err);
	second = pa_session_start(s, &err);
	pa_session_free(s);
	printf("%d %d %d\n", first, second, refused);
	return first == -EACCES && second == -EACCES && refused == -EINVAL ? 0 : 1;
}
