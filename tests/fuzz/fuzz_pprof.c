/* SPDX-License-Identifier: Apache-2.0 */
/* A pprof file of a stranger: what is accepted can be digested, compared and written in every format, and every
 * reference in it leads somewhere. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "digest/changes.h"
#include "digest/functions.h"
#include "digest/hot_paths.h"
#include "digest/top.h"
#include "read/pprof_decode.h"
#include "read/pprof_input.h"
#include "write/writer.h"

#define INPUT_BYTES (16u << 20)
#define MODEL_BYTES (64u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_frames(const struct profile *p)
{
	for (uint32_t i = 0; i < p->nr_frames; i++)
		if (p->frames[i] >= p->nr_locations)
			abort();
	for (uint32_t i = 0; i < p->nr_lines; i++)
		if (p->lines[i].function >= p->nr_functions)
			abort();
}

/* No function of a profile differs from itself. */
static void compare_profile(const struct functions *f)
{
	struct changes all = { 0 };
	struct functions same;

	if (functions_init(&same, f->p, f->type) < 0)
		return;
	if (digest_changes(f, &same, &all) == 0)
		for (uint32_t i = 0; i < all.nr; i++)
			if (changes_of_self(&all, &all.list[i]) != 0 ||
			    changes_of_total(&all, &all.list[i]) != 0)
				abort();
	free(all.list);
	functions_done(&same);
}

static void write_profile(const struct profile *p)
{
	const struct flame_view view = { "difference", p, p };
	const struct writer *w;

	for (size_t i = 0; (w = writer_get(i)); i++) {
		struct outfile *out = NULL;

		if (outfile_open("/dev/null", NULL, &out, NULL) == 0)
			(void)w->write(p, out, NULL, NULL);
		if (out && w->write_all)
			(void)w->write_all(&view, 1, NULL, out, NULL, NULL);
		outfile_free(out);
	}
}

static void digest_profile(const struct profile *p)
{
	struct hot_path *paths = NULL;
	struct top_function *top = NULL;
	struct functions f;
	uint32_t nr;

	check_frames(p);
	if (functions_init(&f, p, p->default_type) < 0)
		return;
	if (digest_top(&f, &top, &nr) == 0)
		for (uint32_t i = 0; i < nr; i++)
			if (!functions_name(&f, top[i].function) ||
			    !functions_file(&f, top[i].function))
				abort();
	free(top);
	if (digest_hot_paths(&f, &paths, &nr) == 0)
		for (uint32_t i = 0; i < nr; i++)
			if (paths[i].self < 0 || paths[i].rest < 0)
				abort();
	free(paths);
	compare_profile(&f);
	functions_done(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf bytes = BUF_INIT(INPUT_BYTES);
	struct pa_error err = { 0 };
	struct profile *p = NULL;
	int fd = memfd_create("profile", MFD_CLOEXEC);
	int r = -1;

	if (fd < 0)
		return 0;
	if (write(fd, data, size) == (ssize_t)size && lseek(fd, 0, SEEK_SET) == 0)
		r = pprof_input_read(fd, "input", &bytes, &err);
	if (r == 0)
		r = pprof_decode(bytes.data, bytes.len, MODEL_BYTES, "input", &p, &err);
	if ((r < 0) != (err.text[0] != '\0') && size)
		abort(); /* each failure has a message, and only failures have one */
	if (r == 0) {
		digest_profile(p);
		write_profile(p);
	}
	profile_free(p);
	buf_done(&bytes);
	close(fd);
	return 0;
}
