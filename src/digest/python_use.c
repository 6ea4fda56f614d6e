/* SPDX-License-Identifier: Apache-2.0 */
#include "digest/python_use.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/idtable.h"
#include "base/path.h"
#include "digest/functions.h"
#include "digest/labels.h"
#include "profile/profile.h"

#define MAX_PROCESSES (1u << 22)
#define NOT_PYTHON UINT8_MAX
#define MAX_MINOR (NOT_PYTHON - 1)

/* A version may be followed by letters: "d" for a debug build. */
static const char *skip_letters(const char *s)
{
	while (*s >= 'a' && *s <= 'z')
		s++;
	return s;
}

bool python_is_interpreter(const char *path, unsigned int *ret_minor)
{
	const char *s = path_name(path);
	bool is_library = strncmp(s, "lib", 3) == 0;
	unsigned int minor = 0;

	s += is_library ? 3 : 0;
	if (strncmp(s, "python", 6) != 0)
		return false;
	s += 6;
	if (*s == '3' && s[1] == '.' && s[2] >= '0' && s[2] <= '9') {
		for (s += 2; *s >= '0' && *s <= '9' && minor < MAX_MINOR / 10; s++)
			minor = minor * 10 + (unsigned int)(*s - '0');
		s = skip_letters(s);
	} else if (*s == '3') {
		s++;
	}
	*ret_minor = minor;
	return is_library ? strncmp(s, ".so", 3) == 0 : *s == '\0';
}

struct look {
	const struct profile *p;
	uint8_t *minors; /* owned; by mapping: NOT_PYTHON, or its minor version */
	bool has_python; /* at least one of them is CPython */
	struct python_process *processes;
	uint32_t nr, cap;
	struct idtable index; /* of processes, by PID */
};

static int look_at_mappings(struct look *l)
{
	unsigned int minor;

	l->minors = malloc((size_t)l->p->nr_mappings + 1);
	if (!l->minors)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->p->nr_mappings; i++) {
		const struct profile_mapping *m = &l->p->mappings[i];

		l->minors[i] = NOT_PYTHON;
		if (m->kind != PROFILE_MAPPING_FILE ||
		    !python_is_interpreter(profile_str(l->p, m->path), &minor))
			continue;
		l->minors[i] = (uint8_t)minor;
		l->has_python = true;
	}
	return 0;
}

static bool is_script(const struct profile *p, const struct profile_location *l)
{
	const struct profile_function *f;

	if (!l->nr_lines)
		return false;
	f = &p->functions[p->lines[l->first_line].function];
	return strncmp(profile_str(p, f->system_name), FUNCTIONS_PYTHON_PREFIX,
		       strlen(FUNCTIONS_PYTHON_PREFIX)) == 0;
}

/* False if the interpreter is not on that stack. */
static bool look_at_stack(const struct look *l, uint32_t stack, struct python_process *to)
{
	const struct profile_span *s = &l->p->stacks[stack];
	bool is_python = false;

	for (uint32_t i = 0; i < s->nr; i++) {
		const struct profile_location *at = &l->p->locations[l->p->frames[s->first + i]];
		uint8_t minor = at->mapping < l->p->nr_mappings ? l->minors[at->mapping]
								: NOT_PYTHON;

		if (minor != NOT_PYTHON) {
			is_python = true;
			to->minor = minor;
		}
		to->shows_script |= is_script(l->p, at);
	}
	return is_python;
}

static bool has_pid(const void *owner, uint32_t id, const void *key)
{
	return ((const struct look *)owner)->processes[id].pid == *(const pid_t *)key;
}

static int find_process(struct look *l, pid_t pid, struct python_process **ret_process)
{
	uint64_t hash = hash_mix(0, (uint64_t)pid);
	uint32_t id;
	int r;

	if (!idtable_find(&l->index, hash, has_pid, l, &pid, &id)) {
		r = ARRAY_RESERVE(l->processes, l->cap, l->nr + 1, MAX_PROCESSES);
		if (r == 0)
			r = idtable_reserve(&l->index);
		if (r < 0)
			return r;
		id = l->nr++;
		l->processes[id] = (struct python_process){ .pid = pid };
		idtable_insert(&l->index, hash, id);
	}
	*ret_process = &l->processes[id];
	return 0;
}

static int look_at_samples(struct look *l)
{
	uint32_t pid_key = label_key(l->p, "pid");

	for (uint32_t i = 0; i < l->p->nr_samples; i++) {
		const struct profile_sample *s = &l->p->samples[i];
		const struct profile_label *pid = label_find(l->p, s->labels, pid_key);
		struct python_process seen = { 0 }, *to;
		int r;

		if (!look_at_stack(l, s->stack, &seen))
			continue;
		r = find_process(l, pid ? (pid_t)pid->num : 0, &to);
		if (r < 0)
			return r;
		to->minor = seen.minor ? seen.minor : to->minor;
		to->shows_script |= seen.shows_script;
		to->nr_samples += (uint64_t)profile_count(l->p, i);
	}
	return 0;
}

int python_processes(const struct profile *p, struct python_process **ret_processes,
		     uint32_t *ret_nr)
{
	struct look l = { .p = p };
	int r = look_at_mappings(&l);

	if (r == 0 && l.has_python)
		r = look_at_samples(&l);
	free(l.minors);
	idtable_done(&l.index);
	if (r < 0) {
		free(l.processes);
		return r;
	}
	*ret_processes = l.processes;
	*ret_nr = l.nr;
	return 0;
}
