/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a profile: gzip or not, whole or truncated, too many. */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "pprof_maker.h"
#include "read/pprof_input.h"

#define SMALL_MAX_BYTES (8u << 20)

static struct pa_error last_error;
static struct maker made;

static int file_of(const void *bytes, size_t n)
{
	int fd = memfd_create("profile", MFD_CLOEXEC);

	must(fd >= 0 && write(fd, bytes, n) == (ssize_t)n);
	must(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

static int read_into(struct buf *to, const void *bytes, size_t n)
{
	int fd = file_of(bytes, n), r;

	last_error = (struct pa_error){ 0 };
	r = pprof_input_read(fd, "made", to, &last_error);
	close(fd);
	return r;
}

/* Compresses n bytes, repeated nr times; the caller frees it. */
static uint8_t *compressed(const void *bytes, size_t n, size_t nr, size_t *ret_n)
{
	size_t max = n * nr / 500 + 65536;
	z_stream z = { 0 };
	uint8_t *to = malloc(max);

	must(to && deflateInit2(&z, 9, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY) == Z_OK);
	z.next_out = to;
	z.avail_out = (uInt)max;
	for (size_t i = 0; i < nr; i++) {
		z.next_in = (Bytef *)(uintptr_t)bytes;
		z.avail_in = (uInt)n;
		must(deflate(&z, i + 1 == nr ? Z_FINISH : Z_NO_FLUSH) >= Z_OK);
	}
	*ret_n = max - z.avail_out;
	must(deflateEnd(&z) == Z_OK);
	return to;
}

static void refuses(const void *bytes, size_t n, int code, const char *words)
{
	struct buf to = BUF_INIT(SMALL_MAX_BYTES);
	int r = read_into(&to, bytes, n);

	ok(r == -code && strstr(last_error.text, words), "the file is refused: %s", words);
	if (r != -code || !strstr(last_error.text, words))
		printf("# %d: %s\n", r, last_error.text);
	buf_done(&to);
}

static void test_valid(void)
{
	size_t n, first = made.n / 2;
	uint8_t *gz = compressed(made.bytes, made.n, 1, &n), *two, *more;
	struct buf to = BUF_INIT(SMALL_MAX_BYTES);
	size_t n2, n3;

	ok(read_into(&to, made.bytes, made.n) == 0 && to.len == made.n,
	   "a file that is not compressed is read as it is");
	buf_clear(&to);
	ok(read_into(&to, gz, n) == 0 && to.len == made.n && !memcmp(to.data, made.bytes, made.n),
	   "gzip is decompressed");
	two = compressed(made.bytes, first, 1, &n2);
	more = compressed(made.bytes + first, made.n - first, 1, &n3);
	two = realloc(two, n2 + n3);
	must(two);
	memcpy(two + n2, more, n3);
	buf_clear(&to);
	ok(read_into(&to, two, n2 + n3) == 0 && to.len == made.n,
	   "gzip in two members is one profile");
	refuses(gz, n - 1, EBADMSG, "gzip data ends early");
	refuses(gz, 20, EBADMSG, "gzip data ends early");
	gz[n / 2] ^= 0x10;
	refuses(gz, n, EBADMSG, "damaged");
	refuses(two, n2 + 2, EBADMSG, "gzip data ends early");
	refuses(made.bytes, made.n - 1, EBADMSG, "last field is incomplete");
	buf_done(&to);
	free(gz);
	free(two);
	free(more);
}

static void test_something_else(void)
{
	static const uint8_t zeros[1u << 20];
	static const char text[] = "main;work 12\nmain;sleep 7\nmain;work;deeper 9\n";
	size_t n;
	uint8_t *bomb = compressed(zeros, sizeof(zeros), 64, &n);

	refuses("", 0, EBADMSG, "is empty");
	refuses(zeros, sizeof(zeros), EBADMSG, "is not a pprof file: byte 0");
	refuses(bomb, n, EBADMSG, "is not a pprof file: byte 0");
	refuses(text, sizeof(text) - 1, EBADMSG, "is not a pprof file");
	refuses("PERFILE2 and what follows it there", 34, EBADMSG, "is a perf.data file");
	refuses("\x1f\x8b", 2, EBADMSG, "gzip data ends early");
	free(bomb);
}

/* Fields that are valid one by one. */
static void test_too_large(void)
{
	static uint8_t string[2 + 127];
	uint8_t huge[16] = { 0x32, 0x80, 0x80, 0x80, 0x80, 0x08 };
	size_t n;
	uint8_t *bomb;

	string[0] = 0x32;
	string[1] = 127;
	bomb = compressed(string, sizeof(string), (SMALL_MAX_BYTES >> 7) + 2, &n);
	refuses(bomb, n, E2BIG, "more than 8 MiB");
	refuses(huge, sizeof(huge), E2BIG, "more than 8 MiB");
	free(bomb);
}

/* Each has two bytes, and the file is a few KiB of gzip. */
static void test_too_many_fields(void)
{
	static uint8_t fields[1u << 20];
	struct buf to = BUF_INIT(PPROF_INPUT_MAX_BYTES);
	size_t n;
	uint8_t *bomb;
	int r;

	for (size_t i = 0; i < sizeof(fields); i += 2)
		fields[i] = 15 << 3;
	bomb = compressed(fields, sizeof(fields), 2 * (PPROF_INPUT_MAX_FIELDS >> 20) + 1, &n);
	r = read_into(&to, bomb, n);
	ok(r == -E2BIG && strstr(last_error.text, "more than 16777216 fields"),
	   "a file of more fields than a model can have things is refused: %s", last_error.text);
	ok(to.len < 2 * (size_t)PPROF_INPUT_MAX_FIELDS + (1u << 20),
	   "where the limit is, at byte %zu", to.len);
	buf_clear(&to);
	free(bomb);
	bomb = compressed(fields, sizeof(fields), 2 * (PPROF_INPUT_MAX_FIELDS >> 20), &n);
	ok(read_into(&to, bomb, n) == 0, "as many as that are read");
	buf_done(&to);
	free(bomb);
}

int main(void)
{
	make_tables(&made);
	test_valid();
	test_something_else();
	test_too_large();
	test_too_many_fields();
	return tap_done();
}
