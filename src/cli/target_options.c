/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/target_options.h"

#include <pwd.h>
#include <stdio.h>

#include "cli/digits.h"
#include "cli/options.h"

#define PASSWD_LINE_MAX 4096

struct id_list {
	pid_t *ids; /* room for OPTIONS_MAX_PIDS */
	size_t *nr;
	const char *what, *plural; /* for messages: singular and plural */
};

static int add_id(const struct id_list *list, const struct option_def *def, const char *text,
		  size_t len)
{
	uint64_t id;

	if (parse_digits(text, len, INT32_MAX, &id) < 0 || id == 0)
		return option_error(def, "'%.*s' is not a %s ID; give positive numbers, as in %s",
				    (int)len, text, list->what, "123,456");
	for (size_t i = 0; i < *list->nr; i++)
		if (list->ids[i] == (pid_t)id)
			return OPTPARSE_CONTINUE;
	if (*list->nr == OPTIONS_MAX_PIDS)
		return option_error(def, "more than %d %s; use --all instead", OPTIONS_MAX_PIDS,
				    list->plural);
	list->ids[(*list->nr)++] = (pid_t)id;
	return OPTPARSE_CONTINUE;
}

static int add_name(struct options *o, const struct option_def *def, const char *text, size_t len)
{
	size_t used = o->nr_names ? (size_t)(o->names[o->nr_names - 1] - o->names_text) +
					    strlen(o->names[o->nr_names - 1]) + 1
				  : 0;
	char *to = o->names_text + used;

	for (size_t i = 0; i < o->nr_names; i++)
		if (strlen(o->names[i]) == len && !memcmp(o->names[i], text, len))
			return OPTPARSE_CONTINUE;
	if (!strncmp(text, "--", 2))
		return option_error(def, "'%.*s' looks like an option; give a PID or %s", (int)len,
				    text, "the name of a process");
	if (o->nr_names == OPTIONS_MAX_NAMES || len >= OPTIONS_NAMES_SIZE - used)
		return option_error(def, "too many names; use --user, --cgroup or --all instead");
	memcpy(to, text, len);
	to[len] = '\0';
	o->names[o->nr_names++] = to;
	return OPTPARSE_CONTINUE;
}

static int add_process(struct options *o, const struct option_def *def, const char *text,
		       size_t len)
{
	const struct id_list list = { o->pids, &o->nr_pids, "process", "processes" };

	return strspn(text, "0123456789") >= len ? add_id(&list, def, text, len)
						 : add_name(o, def, text, len);
}

static int add_thread(struct options *o, const struct option_def *def, const char *text, size_t len)
{
	const struct id_list list = { o->tids, &o->nr_tids, "thread", "threads" };

	return add_id(&list, def, text, len);
}

/* Scripts that join lists leave extra commas: empty words are ignored. */
static int each_word(struct options *o, const struct option_def *def, const char *value,
		     int (*add)(struct options *o, const struct option_def *def, const char *text,
				size_t len))
{
	const char *at = value + strspn(value, ",");

	if (!*at)
		return option_error(def, "'%s' has nothing between its commas; write --%s %s",
				    value, def->name, def->arg);
	while (*at) {
		size_t len = strcspn(at, ",");
		int r = add(o, def, at, len);

		if (r != OPTPARSE_CONTINUE)
			return r;
		at += len;
		at += strspn(at, ",");
	}
	return OPTPARSE_CONTINUE;
}

int target_options_pid(void *ctx, const struct option_def *def, const char *value)
{
	struct options *o = ctx;

	o->nr_pids = o->nr_names = 0;
	return each_word(o, def, value, add_process);
}

int target_options_tid(void *ctx, const struct option_def *def, const char *value)
{
	struct options *o = ctx;

	o->nr_tids = 0;
	return each_word(o, def, value, add_thread);
}

/* Reads the file itself, because a static program cannot use NSS. */
static bool find_user(const char *name, uid_t *ret_uid)
{
	FILE *f = fopen("/etc/passwd", "re");
	char line[PASSWD_LINE_MAX];
	struct passwd pw, *found = NULL;
	bool is_found = false;

	while (f && !is_found && fgetpwent_r(f, &pw, line, sizeof(line), &found) == 0)
		is_found = !strcmp(found->pw_name, name);
	if (f)
		(void)fclose(f);
	if (is_found)
		*ret_uid = found->pw_uid;
	return is_found;
}

int target_options_user(void *ctx, const struct option_def *def, const char *value)
{
	struct options *o = ctx;
	uint64_t uid = 0;
	int r = parse_digits(value, strlen(value), UINT32_MAX - 1, &uid); /* -1 is not a user */

	o->user = (uid_t)uid;
	o->user_text = value;
	if (r == 0 || (r == -EINVAL && find_user(value, &o->user)))
		return OPTPARSE_CONTINUE;
	if (r == -ERANGE)
		return option_error(def, "'%s' is not a user ID; give less than %u", value,
				    UINT32_MAX);
	return option_error(def, "no user '%s' in /etc/passwd; give a user ID, as 'id -u %s' %s",
			    value, value, "prints it");
}
