/* SPDX-License-Identifier: Apache-2.0 */
#include "perfdata/perf_features.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "perfdata/perf_records.h"

#define MAX_PATH_BYTES 4096
#define MAX_FILES (PERF_FILES_MAX_BYTES / TEXT_UNIT)
#define MAX_CMDLINE_BYTES (1u << 17)
#define TEXT_UNIT 64             /* texts are padded to a multiple of it */
#define BUILD_ID_HAS_SIZE 0x8000 /* PERF_RECORD_MISC_BUILD_ID_SIZE */
#define CLOCK_DATA_VERSION 1

void perf_files_done(struct perf_files *f)
{
	for (uint32_t i = 0; i < f->nr_files; i++)
		free(f->files[i].path);
	free(f->files);
	idtable_done(&f->index);
	*f = (struct perf_files){ 0 };
}

static size_t padded(size_t n)
{
	return (n / TEXT_UNIT + 1) * TEXT_UNIT; /* including a NUL */
}

/* The fixed part of an entry, before the path. */
struct build_id_entry {
	struct perf_event_header head;
	int32_t pid;
	uint8_t id[BUILD_ID_MAX_BYTES];
	uint8_t id_size, reserved[3];
};

static bool is_file(const void *owner, uint32_t id, const void *key)
{
	const struct perf_file *a = &((const struct perf_files *)owner)->files[id], *b = key;

	return build_id_eq(&a->id, &b->id) && strncmp(a->path, b->path, MAX_PATH_BYTES) == 0;
}

void perf_files_add(struct perf_files *f, const char *path, const struct build_id *id,
		    bool is_kernel)
{
	struct perf_file file = { (char *)(uintptr_t)path, *id, is_kernel };
	size_t n = strnlen(path, MAX_PATH_BYTES);
	size_t nr_bytes = f->nr_bytes + sizeof(struct build_id_entry) + padded(n);
	uint64_t h = hash_bytes_seeded(hash_bytes_seeded(f->seed, path, n), id->bytes, id->len);
	uint32_t at;

	if (nr_bytes > PERF_FILES_MAX_BYTES || idtable_find(&f->index, h, is_file, f, &file, &at) ||
	    ARRAY_RESERVE(f->files, f->cap_files, (size_t)f->nr_files + 1, MAX_FILES) < 0 ||
	    idtable_reserve(&f->index) < 0)
		return;
	file.path = strndup(path, n);
	if (!file.path)
		return;
	f->files[f->nr_files] = file;
	idtable_insert(&f->index, h, f->nr_files++);
	f->nr_bytes = nr_bytes;
}

/* ---- elements of features ---- */

static int put_u32(struct buf *b, uint32_t value)
{
	return buf_append(b, &value, sizeof(value));
}

static int put_padded(struct buf *b, const char *text, size_t n)
{
	static const char zeroes[TEXT_UNIT];
	int r = buf_append(b, text, n);

	return r < 0 ? r : buf_append(b, zeroes, padded(n) - n);
}

static int put_text(struct buf *b, const char *text)
{
	int r = put_u32(b, (uint32_t)padded(strlen(text)));

	return r < 0 ? r : put_padded(b, text, strlen(text));
}

/* ---- the features ---- */

static int put_build_id(struct buf *b, const struct perf_file *f)
{
	struct build_id_entry entry = { .pid = PERF_KERNEL_PID, .id_size = f->id.len };
	size_t n = strlen(f->path);
	int r;

	entry.head.misc = BUILD_ID_HAS_SIZE |
			  (f->is_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);
	entry.head.size = (uint16_t)(sizeof(entry) + padded(n));
	memcpy(entry.id, f->id.bytes, f->id.len);
	r = buf_append(b, &entry, sizeof(entry));
	return r < 0 ? r : put_padded(b, f->path, n);
}

static int put_build_ids(struct buf *b, const struct perf_features *f)
{
	int r = 0;

	for (uint32_t i = 0; i < f->files->nr_files && r == 0; i++)
		r = put_build_id(b, &f->files->files[i]);
	return r;
}

static struct utsname system_names(void)
{
	struct utsname u;

	if (uname(&u) < 0)
		u = (struct utsname){ 0 };
	return u;
}

static int put_hostname(struct buf *b, const struct perf_features *f)
{
	return put_text(b, system_names().nodename);
}

static int put_release(struct buf *b, const struct perf_features *f)
{
	return put_text(b, system_names().release);
}

static int put_version(struct buf *b, const struct perf_features *f)
{
	return put_text(b, f->version);
}

static int put_arch(struct buf *b, const struct perf_features *f)
{
	return put_text(b, system_names().machine);
}

static int put_nr_cpus(struct buf *b, const struct perf_features *f)
{
	int r = put_u32(b, (uint32_t)sysconf(_SC_NPROCESSORS_CONF));

	return r < 0 ? r : put_u32(b, (uint32_t)sysconf(_SC_NPROCESSORS_ONLN));
}

/* The command line of this process. */
static int read_cmdline(struct buf *b)
{
	_cleanup_(closep) int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : buf_read_fd(b, fd);

	return r < 0 ? r : buf_append(b, "", 1);
}

static int put_cmdline(struct buf *b, const struct perf_features *f)
{
	_cleanup_(buf_done) struct buf line = BUF_INIT(MAX_CMDLINE_BYTES);
	uint32_t nr = 0;
	int r = read_cmdline(&line);

	if (r < 0)
		/* missing is better than failing: it is only informative */
		return r == -ENOMEM ? r : put_u32(b, 0);
	for (size_t i = 0; i + 1 < line.len; i++)
		nr += line.data[i] == '\0';
	r = put_u32(b, nr);
	for (const char *word = line.data; nr && r == 0; nr--, word += strlen(word) + 1)
		r = put_text(b, word);
	return r;
}

static int put_event_description(struct buf *b, const struct perf_features *f)
{
	struct perf_event_attr attr = perf_attr(f->sampling);
	const uint64_t id = PERF_EVENT_ID;
	int r = put_u32(b, 1); /* one event */

	if (r == 0)
		r = put_u32(b, PERF_ATTR_BYTES);
	if (r == 0)
		r = buf_append(b, &attr, PERF_ATTR_BYTES);
	if (r == 0)
		r = put_u32(b, 1); /* one ID */
	if (r == 0)
		r = put_text(b, perf_event_name(f->sampling));
	return r < 0 ? r : buf_append(b, &id, sizeof(id));
}

static int put_times(struct buf *b, const struct perf_features *f)
{
	const uint64_t times[] = { f->first_ns, f->last_ns };

	return buf_append(b, times, sizeof(times));
}

/* Both clocks at the same moment, so that times of samples can be shown as dates. */
static int put_clocks(struct buf *b, const struct perf_features *f)
{
	const uint64_t times[] = { clock_ns(CLOCK_REALTIME), clock_mono_ns() };
	int r = put_u32(b, CLOCK_DATA_VERSION);

	if (r == 0)
		r = put_u32(b, CLOCK_MONOTONIC);
	return r < 0 ? r : buf_append(b, times, sizeof(times));
}

/* In ascending order of number, as in the file. */
static const struct {
	unsigned int bit;
	int (*put)(struct buf *b, const struct perf_features *f);
} features[] = {
	{ 2, put_build_ids },          /* HEADER_BUILD_ID */
	{ 3, put_hostname },           /* HEADER_HOSTNAME */
	{ 4, put_release },            /* HEADER_OSRELEASE */
	{ 5, put_version },            /* HEADER_VERSION */
	{ 6, put_arch },               /* HEADER_ARCH */
	{ 7, put_nr_cpus },            /* HEADER_NRCPUS */
	{ 11, put_cmdline },           /* HEADER_CMDLINE */
	{ 12, put_event_description }, /* HEADER_EVENT_DESC */
	{ 21, put_times },             /* HEADER_SAMPLE_TIME */
	{ 29, put_clocks },            /* HEADER_CLOCK_DATA */
};
#define NR_FEATURES (sizeof(features) / sizeof(features[0]))

int perf_put_features(struct buf *b, uint64_t offset, const struct perf_features *f,
		      uint64_t ret_bits[PERF_NR_FEATURE_WORDS])
{
	uint64_t sections[NR_FEATURES][2] = { 0 }; /* offset in the file, and size */
	size_t start = b->len;
	int r = buf_append(b, sections, sizeof(sections)); /* space for the table of sections */

	memset(ret_bits, 0, PERF_NR_FEATURE_WORDS * sizeof(*ret_bits));
	for (size_t i = 0; i < NR_FEATURES && r == 0; i++) {
		size_t at = b->len;

		r = features[i].put(b, f);
		sections[i][0] = offset + (at - start);
		sections[i][1] = b->len - at;
		ret_bits[features[i].bit / 64] |= 1ull << features[i].bit % 64;
	}
	if (r == 0)
		memcpy(b->data + start, sections, sizeof(sections));
	return r;
}
