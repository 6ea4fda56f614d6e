/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pa_file.h"

#include <errno.h>
#include <perfagent/perfagent.h>

#include "base/sized.h"

struct pa_file {
	struct outfile *out; /* owned */
};

int pa_file_take_options(const struct pa_file_options *opts, struct outfile_options *ret_options)
{
	struct pa_file_options o = { .sz = sizeof(o) };

	if (sized_copy(&o, opts, sizeof(o)) < 0)
		return -EINVAL;
	*ret_options = (struct outfile_options){
		.set_owner = o.set_owner,
		.uid = o.owner_uid,
		.gid = o.owner_gid,
		.is_cancelled = o.is_cancelled,
		.cancel_ctx = o.cancel_ctx,
	};
	return 0;
}

int pa_file_open(const char *path, const struct pa_file_options *opts, struct pa_file **ret_file,
		 struct pa_error *err)
{
	_cleanup_(freep) struct pa_file *f = calloc(1, sizeof(*f));
	struct outfile_options oo;
	int r;

	if (!f)
		return error_set(err, ENOMEM, "cannot write a file: out of memory");
	r = pa_file_take_options(opts, &oo);
	if (r < 0)
		return error_set(err, -r, "cannot write '%s': unknown options", path);
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
