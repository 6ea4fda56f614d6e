/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <perfagent/perfagent.h>
#include <string.h>

#include "base/outfile.h"

struct pa_file {
	struct outfile *out; /* owned */
};

/* As much of the caller's options as we know; of the rest nothing may be asked for. */
static int take_options(const struct pa_file_options *from, struct pa_file_options *to)
{
	*to = (struct pa_file_options){ .sz = sizeof(*to) };
	if (!from)
		return 0;
	if (from->sz < sizeof(from->sz))
		return -EINVAL;
	for (size_t i = sizeof(*to); i < from->sz; i++)
		if (((const char *)from)[i])
			return -EINVAL;
	memcpy(to, from, from->sz < sizeof(*to) ? from->sz : sizeof(*to));
	return 0;
}

int pa_file_open(const char *path, const struct pa_file_options *opts, struct pa_file **ret_file,
		 struct pa_error *err)
{
	_cleanup_(freep) struct pa_file *f = calloc(1, sizeof(*f));
	struct outfile_options oo = { 0 };
	struct pa_file_options o;
	int r;

	if (!f)
		return error_set(err, ENOMEM, "cannot write a file: out of memory");
	r = take_options(opts, &o);
	if (r < 0)
		return error_set(err, -r, "cannot write '%s': unknown options", path);
	oo.set_owner = o.set_owner;
	oo.uid = o.owner_uid;
	oo.gid = o.owner_gid;
	oo.is_cancelled = o.is_cancelled;
	oo.cancel_ctx = o.cancel_ctx;
	r = outfile_open(path, &oo, &f->out, err);
	if (r < 0)
		return r;
	*ret_file = TAKE(f);
	return 0;
}

int pa_file_save(struct pa_file *f, const void *bytes, size_t n, struct pa_error *err)
{
	int r = outfile_write(f->out, bytes, n, err);

	return r < 0 ? r : outfile_commit(f->out, err);
}

void pa_file_free(struct pa_file *f)
{
	if (!f)
		return;
	outfile_free(f->out);
	free(f);
}
