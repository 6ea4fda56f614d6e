/* SPDX-License-Identifier: Apache-2.0 */
#include "digest/functions.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/idtable.h"

#define FROZEN "<frozen " /* beginning of the source of a module that is part of CPython */

/*
 * Generated code is distinguished by where its source begins: names say little ("(anonymous)"), and
 * system names contain the compiler tier ("JS:*f", "JS:^f").
 */
struct identity {
	uint32_t name, path;
	uint32_t system_name;        /* of files */
	uint32_t source, start_line; /* for generated code */
};

static struct identity function_identity(const struct profile *p, uint32_t function)
{
	const struct profile_function *f = &p->functions[function];
	const struct profile_mapping *m = f->mapping < p->nr_mappings ? &p->mappings[f->mapping]
								      : NULL;
	bool is_generated = m && m->kind == PROFILE_MAPPING_JIT;

	return (struct identity){
		.name = f->name,
		.path = m ? m->path : 0,
		.system_name = is_generated ? 0 : f->system_name,
		.source = is_generated ? f->filename : 0,
		.start_line = is_generated ? f->start_line : 0,
	};
}

static struct identity mapping_identity(const struct profile *p, uint32_t mapping)
{
	return (struct identity){ .name = p->mappings[mapping].kind,
				  .path = p->mappings[mapping].path };
}

/* Things of the profile that have an identity, by their number. */
struct identities {
	const struct profile *p;
	struct identity (*of)(const struct profile *p, uint32_t number);
};

static bool identity_eq(const void *owner, uint32_t id, const void *key)
{
	const struct identities *all = owner;
	struct identity a = all->of(all->p, id);

	return memcmp(&a, key, sizeof(a)) == 0;
}

/* For each of nr things, the first that has the same identity. */
static int find_firsts(const struct identities *all, uint32_t nr, uint32_t *firsts)
{
	_cleanup_(idtable_done) struct idtable index = { 0 };

	for (uint32_t i = 0; i < nr; i++) {
		struct identity id = all->of(all->p, i);
		uint64_t h = hash_bytes_seeded(all->p->hash_seed, &id, sizeof(id));
		int r;

		firsts[i] = i;
		if (idtable_find(&index, h, identity_eq, all, &id, &firsts[i]))
			continue;
		r = idtable_reserve(&index);
		if (r < 0)
			return r;
		idtable_insert(&index, h, i);
	}
	return 0;
}

int functions_init(struct functions *f, const struct profile *p, uint32_t type)
{
	const struct identities functions = { p, function_identity };
	const struct identities mappings = { p, mapping_identity };
	int r;

	*f = (struct functions){
		.p = p,
		.type = type,
		.nr = p->nr_functions + p->nr_mappings + 1,
		.same_as = calloc((size_t)p->nr_functions + 1, sizeof(*f->same_as)),
		.unnamed_in = calloc((size_t)p->nr_mappings + 1, sizeof(*f->unnamed_in)),
	};
	r = f->same_as && f->unnamed_in ? 0 : -ENOMEM;
	if (r == 0)
		r = find_firsts(&functions, p->nr_functions, f->same_as);
	if (r == 0)
		r = find_firsts(&mappings, p->nr_mappings, f->unnamed_in);
	if (r < 0) {
		functions_done(f);
		return r;
	}
	f->unnamed_in[p->nr_mappings] = p->nr_mappings;
	return 0;
}

void functions_done(struct functions *f)
{
	free(f->same_as);
	free(f->unnamed_in);
	f->same_as = f->unnamed_in = NULL;
}

/* True if the location has no symbol and only its address is shown. A function that is known from unwind
 * information alone has a name of its own ("libz+0xaa60"). */
static bool is_address(const struct profile *p, const struct profile_location *l)
{
	uint32_t function = l->nr_lines ? p->lines[l->first_line].function : 0;

	return !l->nr_lines ||
	       (!l->is_named && strncmp(profile_str(p, p->functions[function].name), "0x", 2) == 0);
}

uint32_t functions_at(const struct functions *f, uint32_t location, uint32_t line)
{
	const struct profile_location *l = &f->p->locations[location];

	if (!l->is_named && is_address(f->p, l))
		return f->p->nr_functions +
		       f->unnamed_in[l->mapping == PROFILE_NONE ? f->p->nr_mappings : l->mapping];
	return f->same_as[f->p->lines[l->first_line + line].function];
}

bool functions_is_unnamed(const struct functions *f, uint32_t number)
{
	return number >= f->p->nr_functions;
}

static const struct profile_mapping *mapping_of(const struct functions *f, uint32_t number)
{
	uint32_t m = functions_is_unnamed(f, number) ? number - f->p->nr_functions
						     : f->p->functions[number].mapping;

	return m < f->p->nr_mappings ? &f->p->mappings[m] : NULL;
}

const char *functions_name(const struct functions *f, uint32_t number)
{
	const struct profile_mapping *m = mapping_of(f, number);

	if (!functions_is_unnamed(f, number))
		return profile_str(f->p, f->p->functions[number].name);
	return m && m->kind == PROFILE_MAPPING_FILE ? "[no symbol]" : functions_file(f, number);
}

const char *functions_file(const struct functions *f, uint32_t number)
{
	const struct profile_mapping *m = mapping_of(f, number);

	return m ? profile_str(f->p, m->path) : "[unknown]";
}

const char *functions_source(const struct functions *f, uint32_t number)
{
	const struct profile_mapping *m = mapping_of(f, number);

	if (functions_is_unnamed(f, number) || !m || m->kind != PROFILE_MAPPING_JIT ||
	    !*profile_str(f->p, f->p->functions[number].filename))
		return NULL;
	return profile_str(f->p, f->p->functions[number].filename);
}

bool functions_is_python(const struct functions *f, uint32_t number)
{
	const char *source = functions_source(f, number);

	return source && strncmp(source, FROZEN, strlen(FROZEN)) != 0 &&
	       strncmp(profile_str(f->p, f->p->functions[number].system_name),
		       FUNCTIONS_PYTHON_PREFIX, strlen(FUNCTIONS_PYTHON_PREFIX)) == 0;
}

static const char *source_or_empty(const struct functions *f, uint32_t number)
{
	const char *source = functions_source(f, number);

	return source ? source : "";
}

int functions_compare(const struct functions *f, uint32_t a, uint32_t b)
{
	int c = strcmp(functions_name(f, a), functions_name(f, b));

	if (c == 0)
		c = strcmp(functions_file(f, a), functions_file(f, b));
	if (c == 0)
		c = strcmp(source_or_empty(f, a), source_or_empty(f, b));
	return c ? c : a < b ? -1 : a > b;
}
