/* SPDX-License-Identifier: Apache-2.0 */
#include "read/pprof_input.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "read/proto_wire.h"

#define PIECE_BYTES (64u << 10)
#define GZIP_WINDOW_BITS (15 + 16) /* the largest window; 16 asks zlib for a gzip header */
#define HEAD_MAX_BYTES (2 * PROTO_MAX_VARINT_BYTES)
#define PERF_DATA_MAGIC "PERFILE2"

static const uint8_t gzip_magic[] = { 0x1f, 0x8b };

struct input {
	int fd;
	const char *name;
	struct buf *to;
	struct pa_error *err;
	size_t next_field;  /* where the first field begins that has not been checked */
	uint32_t nr_fields; /* before it */
	z_stream z;
	bool is_inflating; /* z must be ended */
	bool is_ended;     /* a gzip member is complete, and the next has not begun */
	uint8_t piece[PIECE_BYTES];
	uint8_t plain[PIECE_BYTES];
};

static struct input *input_free(struct input *in)
{
	if (in && in->is_inflating)
		(void)inflateEnd(&in->z); /* fails only for a stream that was never initialized */
	free(in);
	return NULL;
}
DEFINE_CLEANUP(struct input *, input_free)

static int not_a_profile(const struct input *in)
{
	return error_set(in->err, EBADMSG,
			 "'%s' is not a pprof file: byte %zu does not begin a field of a profile; "
			 "give a file that was written as pprof, as by default",
			 in->name, in->next_field);
}

static int too_large(const struct input *in)
{
	return error_set(in->err, E2BIG,
			 "'%s' has more than %zu MiB of profile; give a shorter capture", in->name,
			 in->to->max >> 20);
}

static int too_many_fields(const struct input *in)
{
	return error_set(in->err, E2BIG, "'%s' has more than %u fields; give a shorter capture",
			 in->name, PPROF_INPUT_MAX_FIELDS);
}

/* Steps over the outermost fields that have begun; the last may lie partly in bytes to come. */
static int check_fields(struct input *in)
{
	const struct buf *b = in->to;

	while (in->next_field < b->len) {
		struct cursor c = cursor_of(b->data + in->next_field, b->len - in->next_field);
		size_t left = cursor_left(&c), fixed;
		struct proto_field f;

		if (!proto_head(&c, &f))
			return left < HEAD_MAX_BYTES ? 0 : not_a_profile(in);
		if (in->nr_fields++ == PPROF_INPUT_MAX_FIELDS)
			return too_many_fields(in);
		fixed = f.type == PROTO_FIXED64 ? 8 : f.type == PROTO_FIXED32 ? 4 : 0;
		if (f.type == PROTO_BYTES && f.value > b->max - (b->len - cursor_left(&c)))
			return too_large(in);
		in->next_field =
			b->len - cursor_left(&c) + fixed + (f.type == PROTO_BYTES ? f.value : 0);
	}
	return 0;
}

static int take_plain(struct input *in, const void *bytes, size_t n)
{
	int r = buf_append(in->to, bytes, n);

	if (r == -E2BIG)
		return too_large(in);
	if (r < 0)
		return error_set(in->err, -r, "out of memory while reading '%s'", in->name);
	return check_fields(in);
}

static int bad_gzip(const struct input *in, int code)
{
	if (code == Z_MEM_ERROR)
		return error_set(in->err, ENOMEM, "out of memory while reading '%s'", in->name);
	return error_set(in->err, EBADMSG,
			 "'%s' is damaged: its gzip data is invalid; copy or capture it again",
			 in->name);
}

/* Files may have several gzip members, one after the other. */
static int inflate_piece(struct input *in, size_t n)
{
	int code, r;

	in->z.next_in = in->piece;
	in->z.avail_in = (uInt)n;
	do {
		if (in->is_ended) {
			if (inflateReset(&in->z) != Z_OK)
				return bad_gzip(in, Z_STREAM_ERROR);
			in->is_ended = false;
		}
		in->z.next_out = in->plain;
		in->z.avail_out = sizeof(in->plain);
		code = inflate(&in->z, Z_NO_FLUSH);
		if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
			return bad_gzip(in, code);
		in->is_ended = code == Z_STREAM_END;
		r = take_plain(in, in->plain, sizeof(in->plain) - in->z.avail_out);
		if (r < 0)
			return r;
	} while (in->z.avail_in || (in->z.avail_out == 0 && !in->is_ended));
	return 0;
}

/* Fills piece, but for the last one. */
static int next_piece(struct input *in, size_t *ret_n)
{
	size_t n = 0;

	while (n < sizeof(in->piece)) {
		ssize_t got = read(in->fd, in->piece + n, sizeof(in->piece) - n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set(in->err, errno, "cannot read '%s': %s", in->name,
					 strerror(errno));
		if (got == 0)
			break;
		n += (size_t)got;
	}
	*ret_n = n;
	return 0;
}

/* True if the file begins like that. */
static bool has_magic(const struct input *in, size_t n, const void *magic, size_t magic_bytes)
{
	return n >= magic_bytes && memcmp(in->piece, magic, magic_bytes) == 0;
}

/* By the first n bytes of the file. */
static int begin_input(struct input *in, size_t n)
{
	int code;

	if (has_magic(in, n, PERF_DATA_MAGIC, strlen(PERF_DATA_MAGIC)))
		return error_set(
			in->err, EBADMSG,
			"'%s' is a perf.data file, not a pprof file; read it by perf report",
			in->name);
	if (!has_magic(in, n, gzip_magic, sizeof(gzip_magic)))
		return 0;
	code = inflateInit2(&in->z, GZIP_WINDOW_BITS);
	if (code != Z_OK)
		return bad_gzip(in, code);
	in->is_inflating = true;
	return 0;
}

static int check_end(const struct input *in)
{
	if (in->to->len == 0 && !(in->is_inflating && !in->is_ended))
		return error_set(in->err, EBADMSG, "'%s' is empty; capture it again", in->name);
	if (in->next_field == in->to->len && (!in->is_inflating || in->is_ended))
		return 0;
	if (in->next_field == 0 && in->to->len)
		return not_a_profile(in);
	return error_set(in->err, EBADMSG, "'%s' is truncated: its %s; copy or capture it again",
			 in->name,
			 in->is_inflating && !in->is_ended ? "gzip data ends early"
							   : "last field is incomplete");
}

int pprof_input_read(int fd, const char *name, struct buf *to, struct pa_error *err)
{
	_cleanup_(input_freep) struct input *in = calloc(1, sizeof(*in));
	size_t n;
	int r;

	if (!in)
		return error_set(err, ENOMEM, "out of memory while reading '%s'", name);
	in->fd = fd;
	in->name = name;
	in->to = to;
	in->err = err;
	r = next_piece(in, &n);
	if (r == 0)
		r = begin_input(in, n);
	while (r == 0 && n) {
		r = in->is_inflating ? inflate_piece(in, n) : take_plain(in, in->piece, n);
		if (r == 0)
			r = next_piece(in, &n);
	}
	return r < 0 ? r : check_end(in);
}
