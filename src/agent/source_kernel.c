/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the kernel's code. */
#include <errno.h>
#include <fcntl.h>

#include "agent/cache_dir.h"
#include "agent/kernel_key.h"
#include "agent/source.h"

#define CACHE_NAME "kernel-symbols"

static int open_kallsyms(void *ctx, int *ret_fd)
{
	const struct capture *c = ctx;
	int fd = open(c->cfg.kallsyms_path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static int open_iterator(void *ctx, int *ret_fd)
{
	const struct capture *c = ctx;

	return c->cfg.open_ksyms(ret_fd);
}

static int read_key(void *ctx, struct kernel_key *ret_key)
{
	const struct capture *c = ctx;

	return kernel_key_read(&c->procfs, ret_key);
}

/* The file first: to load the iterator costs more than it saves (docs/architecture.md). */
static const struct kernel_list lists[] = {
	{ 1, "/proc/kallsyms", open_kallsyms },
	{ 2, "the kernel's symbol iterator", open_iterator },
};

/* Where the cache is, in *ret_path; without one, err says why, if there is something to say. */
static int find_cache(const struct capture *c, char **ret_path, struct pa_error *err)
{
	if (!c->cfg.cache_dir)
		return 0;
	if (cache_dir_prepare(c->cfg.cache_dir, err) < 0)
		return 0;
	return asprintf(ret_path, "%s/" CACHE_NAME, c->cfg.cache_dir) < 0 ? -ENOMEM : 0;
}

bool source_lacks_kernel_file(struct capture *c, struct build_id *ret_id)
{
	if (!c->cfg.notes_path || vmlinux_build_id(c->cfg.notes_path, ret_id) < 0)
		return false;
	vmlinux_done(&c->vmlinux);
	return vmlinux_find("", c->cfg.notes_path, &c->vmlinux) == -ENOENT;
}

/* Where it was fetched. */
static int take_fetched(struct capture *c, const struct build_id *id)
{
	struct debug_file f = DEBUG_FILE_NONE;
	int r = debug_files_open_fetched(c->debug, id, &f);

	if (r < 0)
		return r;
	c->vmlinux = (struct vmlinux){ .fd = f.fd, .image = f.image, .path = strdup("debuginfod") };
	return c->vmlinux.path ? 0 : -ENOMEM; /* what it holds goes with the capture */
}

/* Without the file there are names all the same. */
static int find_lines(struct capture *c)
{
	struct build_id id;
	int r = 0;

	if (source_lacks_kernel_file(c, &id) && c->debug)
		r = take_fetched(c, &id);
	return r == -ENOMEM ? r : 0;
}

int source_open_kernel(struct capture *c, struct source *s)
{
	struct kernel_sources src = {
		.lists = lists,
		.nr_lists = c->cfg.open_ksyms ? 2 : 1,
		.ctx = c,
		.ranges = &c->kernel_ranges,
		.read_key = read_key,
	};
	struct pa_error err = { 0 };
	int r;

	free(c->kernel_cache_path);
	c->kernel_cache_path = NULL;
	r = find_cache(c, &c->kernel_cache_path, &err);
	if (r < 0) {
		c->kernel_cache_path = NULL; /* else it is not defined */
		return r;
	}
	src.cache_path = c->kernel_cache_path;
	r = find_lines(c);
	if (r < 0)
		return r;
	src.vmlinux = c->vmlinux.image;
	src.vmlinux_path = c->vmlinux.path;
	if (src.vmlinux)
		source_hold(s, &(struct elf_sources){ .image = src.vmlinux });
	r = symbolizer_new_kernel(&src, &s->symbolizer, &c->kernel);
	if (r < 0)
		return r;
	if (err.code)
		kernel_outcome_add(&c->kernel, "; not cached: %s", err.text);
	s->is_fallback = c->kernel.is_fallback;
	return 0;
}
