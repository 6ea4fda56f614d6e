/* SPDX-License-Identifier: Apache-2.0 */
#include "write/gzip.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#define GZIP_IN_BYTES 131072u
#define GZIP_OUT_BYTES 65536u
#define GZIP_WINDOW_BITS (15 + 16) /* the largest window; 16 asks zlib for a gzip header */
#define GZIP_MEM_LEVEL 8           /* zlib's default */
/* Measured by bench/bench_model.c, a million samples of 30 frames: level 1 takes 2.6 s for 34 MB,
 * 4 takes 2.8 s for 31 MB, 6 takes 3.6 s for 30 MB, 9 takes 5.6 s for 30 MB. */
#define GZIP_LEVEL 4

struct gzip {
	struct outfile *out; /* borrowed from the caller of gzip_new() */
	z_stream z;
	bool is_ready;   /* z must be ended */
	size_t nr_bytes; /* bytes of in[] that are not compressed yet */
	uint8_t in[GZIP_IN_BYTES];
	uint8_t to_file[GZIP_OUT_BYTES];
};

static int zlib_failed(const struct gzip *g, int code, struct pa_error *err)
{
	if (code == Z_MEM_ERROR)
		return error_set(err, ENOMEM, "out of memory while compressing '%s'",
				 outfile_path(g->out));
	return error_set(err, EIO, "cannot compress '%s': zlib error %d", outfile_path(g->out),
			 code);
}

int gzip_new(struct outfile *out, struct gzip **ret_gzip, struct pa_error *err)
{
	_cleanup_(gzip_freep) struct gzip *g = calloc(1, sizeof(*g));
	int code;

	if (!g)
		return error_set(err, ENOMEM, "out of memory while compressing '%s'",
				 outfile_path(out));
	g->out = out;
	code = deflateInit2(&g->z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS, GZIP_MEM_LEVEL,
			    Z_DEFAULT_STRATEGY);
	if (code != Z_OK)
		return zlib_failed(g, code, err);
	g->is_ready = true;
	*ret_gzip = TAKE(g);
	return 0;
}

struct gzip *gzip_free(struct gzip *g)
{
	if (g && g->is_ready)
		/* the result for an abandoned stream is an error, as expected */
		(void)deflateEnd(&g->z);
	free(g);
	return NULL;
}

/* Compresses in[]; with Z_FINISH to the end of the stream. */
static int compress_input(struct gzip *g, int flush, struct pa_error *err)
{
	int code, r;

	g->z.next_in = g->in;
	g->z.avail_in = (uInt)g->nr_bytes;
	do {
		g->z.next_out = g->to_file;
		g->z.avail_out = sizeof(g->to_file);
		code = deflate(&g->z, flush);
		/* "No progress" is the result of a second call when the first one ended exactly. */
		if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
			return zlib_failed(g, code, err);
		r = outfile_write(g->out, g->to_file, sizeof(g->to_file) - g->z.avail_out, err);
		if (r < 0)
			return r;
	} while (g->z.avail_out == 0);
	g->nr_bytes = 0;
	return 0;
}

int gzip_write(struct gzip *g, const void *bytes, size_t n, struct pa_error *err)
{
	const uint8_t *at = bytes;

	while (n) {
		size_t room = sizeof(g->in) - g->nr_bytes;
		size_t part = n < room ? n : room;

		memcpy(g->in + g->nr_bytes, at, part);
		g->nr_bytes += part;
		at += part;
		n -= part;
		if (g->nr_bytes == sizeof(g->in)) {
			int r = compress_input(g, Z_NO_FLUSH, err);

			if (r < 0)
				return r;
		}
	}
	return 0;
}

int gzip_finish(struct gzip *g, struct pa_error *err)
{
	return compress_input(g, Z_FINISH, err);
}
