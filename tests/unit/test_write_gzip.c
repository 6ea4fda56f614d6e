/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "tap.h"
#include "write/gzip.h"

#define SIZE (3u << 20)

static char path[] = "/tmp/gzip.XXXXXX";

/* Through our compressor in pieces of this size, and back by zlib's own reader. */
static bool survives(const uint8_t *bytes, size_t n, size_t piece)
{
	uint8_t *back = malloc(n + 1);
	struct outfile *out;
	struct gzip *g;
	gzFile gz;
	bool same;

	must(back && outfile_open(path, NULL, &out, NULL) == 0 && gzip_new(out, &g, NULL) == 0);
	for (size_t at = 0; at < n; at += piece)
		must(gzip_write(g, bytes + at, n - at < piece ? n - at : piece, NULL) == 0);
	must(gzip_finish(g, NULL) == 0 && outfile_commit(out, NULL) == 0);
	gzip_free(g);
	outfile_free(out);
	gz = gzopen(path, "rb");
	must(gz);
	same = gzread(gz, back, (unsigned int)n + 1) == (int)n && memcmp(back, bytes, n) == 0;
	same = gzclose(gz) == Z_OK && same;
	free(back);
	return same;
}

int main(void)
{
	uint8_t *bytes = calloc(1, SIZE);
	uint64_t state = 1;

	must(bytes && mkstemp(path) >= 0);
	ok(survives(bytes, 0, 1), "nothing");
	ok(survives(bytes, 1, 1), "one byte");
	ok(survives(bytes, SIZE, SIZE), "zeroes in one piece");
	for (size_t i = 0; i < SIZE; i++) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		bytes[i] = (uint8_t)(state >> 56);
	}
	ok(survives(bytes, SIZE, SIZE), "incompressible bytes in one piece");
	ok(survives(bytes, SIZE, 131072), "pieces as large as the buffer");
	ok(survives(bytes, SIZE, 4099), "small pieces");
	unlink(path);
	free(bytes);
	return tap_done();
}
