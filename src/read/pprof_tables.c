/* SPDX-License-Identifier: Apache-2.0 */
/* Strings, mappings and functions: what others refer to by number. */
#include <string.h>

#include "base/array.h"
#include "read/pprof_decode_internal.h"

#define STRING_BYTES (2 * sizeof(struct idtable_slot) + sizeof(char *) + sizeof(uint32_t) + 1)

/* Strings of the model end at the first NUL, those of a file need not: it is replaced, as control characters
 * are where names are shown. */
static const char *without_nul(struct pprof_decoder *d, const char *s, size_t n)
{
	if (!memchr(s, '\0', n))
		return s;
	for (size_t i = 0; i < n; i++)
		d->text[i] = s[i] ? s[i] : '?';
	return d->text;
}

int pprof_read_string(struct pprof_decoder *d, struct proto_field *f)
{
	size_t n = cursor_left(&f->bytes);
	int r;

	if (f->type != PROTO_BYTES)
		return pprof_invalid(d, "string %u is not text", d->nr_strings);
	if (n > PPROF_MAX_STRING_BYTES)
		return pprof_invalid(d, "string %u has more than %u KiB", d->nr_strings,
				     PPROF_MAX_STRING_BYTES >> 10);
	r = pprof_charge(d, STRING_BYTES + n);
	if (r < 0)
		return r;
	r = ARRAY_RESERVE(d->strings, d->cap_strings, d->nr_strings + 1, PROFILE_MAX_THINGS);
	if (r == 0)
		r = strtab_intern_n(&d->p->strings,
				    n ? without_nul(d, (const char *)f->bytes.at, n) : "", n,
				    &d->strings[d->nr_strings]);
	if (r < 0)
		return pprof_checked(d, r);
	d->nr_strings++;
	return 0;
}

static bool begins_with(const char *s, const char *start)
{
	return strncmp(s, start, strlen(start)) == 0;
}

/* By the names that profilers give to code without a file. */
static enum profile_mapping_kind kind_of(const char *path)
{
	if (begins_with(path, "[kernel") || begins_with(path, "[guest.kernel") ||
	    strcmp(path, "[vmlinux]") == 0)
		return PROFILE_MAPPING_KERNEL;
	if (strcmp(path, "[vdso]") == 0 || begins_with(path, "linux-vdso"))
		return PROFILE_MAPPING_VDSO;
	if (strcmp(path, "[jit]") == 0 || strcmp(path, "//anon") == 0 || begins_with(path, "[anon"))
		return PROFILE_MAPPING_JIT;
	return PROFILE_MAPPING_FILE;
}

static int set_mapping_field(struct pprof_decoder *d, const struct proto_field *f,
			     struct profile_mapping *m, uint64_t *id)
{
	switch (f->number) {
	case 1:
		*id = f->value;
		return 0;
	case 2:
		m->start = f->value;
		return 0;
	case 3:
		m->limit = f->value;
		return 0;
	case 4:
		m->file_offset = f->value;
		return 0;
	case 5:
		return pprof_string(d, f->value, &m->path);
	case 6:
		return pprof_string(d, f->value, &m->build_id);
	}
	return 0; /* has_functions and others follow from the locations */
}

int pprof_read_mapping(struct pprof_decoder *d, struct proto_field *f)
{
	uint32_t number = d->mapping_ids.nr;
	struct profile_mapping m = { .owner = number + 1 };
	struct proto_field part;
	uint64_t id = 0;
	int r = pprof_charge(d, 2 * sizeof(m));

	while (r == 0 && proto_next(&f->bytes, &part))
		r = set_mapping_field(d, &part, &m, &id);
	if (r == 0 && f->bytes.bad)
		return pprof_invalid(d, "mapping %u is incomplete", number);
	if (r == 0)
		r = pprof_checked(d, ARRAY_RESERVE(d->mappings, d->cap_mappings, number + 1,
						   PROFILE_MAX_THINGS));
	if (r == 0)
		r = pprof_add_id(d, &d->mapping_ids, id);
	if (r < 0)
		return r;
	m.kind = kind_of(profile_str(d->p, m.path));
	d->mappings[number] = m;
	return 0;
}

static int set_function_field(struct pprof_decoder *d, const struct proto_field *f,
			      struct pprof_function *to, uint64_t *id)
{
	switch (f->number) {
	case 1:
		*id = f->value;
		return 0;
	case 2:
		return pprof_string(d, f->value, &to->name);
	case 3:
		return pprof_string(d, f->value, &to->system_name);
	case 4:
		return pprof_string(d, f->value, &to->filename);
	case 5:
		to->start_line = f->value < UINT32_MAX ? (uint32_t)f->value : 0;
		return 0;
	}
	return 0;
}

int pprof_read_function(struct pprof_decoder *d, struct proto_field *f)
{
	uint32_t number = d->function_ids.nr;
	struct pprof_function to = { 0 };
	struct proto_field part;
	uint64_t id = 0;
	int r = pprof_charge(d, sizeof(to) + sizeof(struct profile_function));

	while (r == 0 && proto_next(&f->bytes, &part))
		r = set_function_field(d, &part, &to, &id);
	if (r == 0 && f->bytes.bad)
		return pprof_invalid(d, "function %u is incomplete", number);
	if (r == 0)
		r = pprof_checked(d, ARRAY_RESERVE(d->functions, d->cap_functions, number + 1,
						   PROFILE_MAX_THINGS));
	if (r == 0)
		r = pprof_add_id(d, &d->function_ids, id);
	if (r < 0)
		return r;
	if (!to.name) /* some writers give only one of the two */
		to.name = to.system_name;
	d->functions[number] = to;
	return 0;
}
