/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/pa_file.h"

#include <errno.h>
#include <perfagent/perfagent.h>

struct pa_file {
	struct outfile *out; /* owned */
	bool is_saved;
};

int pa_file_take_options(const struct pa_file_options *opts, struct outfile_options *ret_options,
			 struct pa_error *err)
{
	struct pa_file_options o = { .sz = sizeof(o) };
	int r = sized_copy(&o, opts, SIZED_UP_TO(struct pa_file_options, owner_gid), sizeof(o));

	if (r < 0)
		return sized_error(err, r, "opts", "pa_file_options", opts, sizeof(o));
	*ret_options = (struct outfile_options){
		.set_owner = o.set_owner,
		.uid = o.owner_uid,
		.gid = o.owner_gid,
		.is_cancelled = o.is_cancelled,
		.cancel_ctx = o.cancel_ctx,
	};
	return 0;
}

int pa_file_copy_output(const struct pa_output *from, struct pa_output *to, const char *what,
			struct pa_error *err)
{
	int r = sized_copy(to, from, PA_FILE_OUTPUT_MIN_BYTES, sizeof(*to));

	return r < 0 ? sized_error(err, r, what, "pa_output", from, sizeof(*to)) : 0;
}

int pa_file_check_output(const struct pa_output *output, const char *what, struct pa_error *err)
{
	if (!!output->path + !!output->write + output->use_fd > 1)
		return error_set(err, EINVAL, "%s: of path, write and use_fd only one can be given",
				 what);
	return 0;
}

int pa_file_open_output(const struct pa_output *output, const char *path,
			const struct outfile_options *opts, struct outfile **ret_file,
			struct pa_error *err)
{
	const struct outfile_target target = { .write = output->write,
					       .ctx = output->write_ctx,
					       .fd = output->fd };

	return pa_file_has_target(output) ? outfile_open_target(&target, opts, ret_file, err)
					  : outfile_open(path, opts, ret_file, err);
}

int pa_file_open(const char *path, const struct pa_file_options *opts, struct pa_file **ret_file,
		 struct pa_error *err)
{
	_cleanup_(freep) struct pa_file *f = calloc(1, sizeof(*f));
	struct outfile_options oo;
	int r;

	error_clear(err);
	if (!f)
		return error_set(err, ENOMEM, "cannot write a file: out of memory");
	if (!path || !ret_file)
		return error_set(err, EINVAL, "pa_file_open(): a path and ret_file are required");
	r = pa_file_take_options(opts, &oo, err);
	if (r == 0)
		r = outfile_open(path, &oo, &f->out, err);
	if (r < 0)
		return r;
	*ret_file = TAKE(f);
	return 0;
}

int pa_file_save(struct pa_file *f, const void *bytes, size_t n, struct pa_error *err)
{
	int r;

	error_clear(err);
	if (!f || (!bytes && n))
		return error_set(err, EINVAL, "pa_file_save(): a file and bytes are required");
	if (f->is_saved)
		return error_set(err, EALREADY, "'%s' has already been saved",
				 outfile_path(f->out));
	r = outfile_write(f->out, bytes, n, err);
	if (r == 0)
		r = outfile_commit(f->out, err);
	f->is_saved = r == 0;
	return r;
}

void pa_file_free(struct pa_file *f)
{
	if (!f)
		return;
	outfile_free(f->out);
	free(f);
}
