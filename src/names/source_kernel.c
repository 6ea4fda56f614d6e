/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of the kernel. The list of symbols is trusted, and reading it takes paths and a cache:
 * hence the agent reads it itself, and only resolving the addresses is a normal job. */
#include <errno.h>
#include <fcntl.h>

#include "base/cache_dir.h"
#include "names/kernel_key.h"
#include "names/source.h"

#define CACHE_NAME "kernel-symbols"

static int open_kallsyms(void *ctx, int *ret_fd)
{
	const struct naming_job *job = ctx;
	int fd = open(job->kallsyms_path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int open_iterator(void *ctx, int *ret_fd)
{
	const struct naming_job *job = ctx;

	return job->open_ksyms(job->log, ret_fd);
}

static int read_key(void *ctx, struct kernel_key *ret_key)
{
	const struct naming_job *job = ctx;

	return kernel_key_read(job->procfs, ret_key);
}

/* The file comes first, because loading the iterator costs more than it saves (docs/symbols.md). */
static const struct kernel_list lists[] = {
	{ 1, "/proc/kallsyms", open_kallsyms },
	{ 2, "the kernel's symbol iterator", open_iterator },
};

/* The path of the cache, in *ret_path. If there is none, err says why, unless a cache was not
 * requested. */
static int find_cache(const struct naming_job *job, char **ret_path, struct pa_error *err)
{
	if (!job->cache_dir)
		return 0;
	if (cache_dir_prepare(job->cache_dir, err) < 0)
		return 0;
	return asprintf(ret_path, "%s/" CACHE_NAME, job->cache_dir) < 0 ? -ENOMEM : 0;
}

bool source_lacks_kernel_file(struct naming_job *job, struct build_id *ret_id)
{
	if (!job->notes_path || kernel_file_build_id(job->notes_path, ret_id) < 0)
		return false;
	kernel_file_done(&job->kernel_file);
	return kernel_file_find("", job->notes_path, &job->kernel_file) == -ENOENT;
}

/* Uses a file that was fetched. */
static int take_fetched(struct naming_job *job, const struct build_id *id)
{
	struct debug_file f = DEBUG_FILE_NONE;
	int r = debug_files_open_fetched(job->debug, id, &f);

	if (r < 0)
		return r;
	job->kernel_file =
		(struct kernel_file){ .fd = f.fd, .image = f.image, .path = strdup("debuginfod") };
	return job->kernel_file.path ? 0 : -ENOMEM; /* the job frees the rest */
}

/* Finds the file with line numbers; without it there are only symbols. */
static int find_lines(struct naming_job *job)
{
	struct build_id id;
	int r = 0;

	if (source_lacks_kernel_file(job, &id) && job->debug)
		r = take_fetched(job, &id);
	return r == -ENOMEM ? r : 0;
}

int source_prepare_kernel(struct naming_job *job, struct source *s)
{
	struct kernel_sources src = {
		.lists = lists,
		.nr_lists = job->open_ksyms ? 2 : 1,
		.ctx = job,
		.ranges = &job->kernel_ranges,
		.read_key = read_key,
		.lines_cancel = s->lines_cancel,
	};
	struct pa_error err = { 0 };
	int r;

	free(job->kernel_cache_path);
	job->kernel_cache_path = NULL;
	r = find_cache(job, &job->kernel_cache_path, &err);
	if (r < 0) {
		job->kernel_cache_path = NULL; /* asprintf() leaves it undefined */
		return r;
	}
	src.cache_path = job->kernel_cache_path;
	r = find_lines(job);
	if (r < 0)
		return r;
	src.vmlinux = job->kernel_file.image;
	src.vmlinux_path = job->kernel_file.path;
	if (src.vmlinux)
		source_hold(s, &(struct elf_sources){ .image = src.vmlinux });
	r = symbolizer_new_kernel(&src, &s->symbolizer, &job->kernel);
	if (r < 0)
		return r;
	if (err.code)
		kernel_outcome_add(&job->kernel, "; not cached: %s", err.text);
	s->is_fallback = job->kernel.is_fallback;
	return 0;
}
