/* SPDX-License-Identifier: Apache-2.0 */
#include "names/kernel_key.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hash.h"

#define MODULES_MAX_BYTES (16u << 20)
#define BOOT_ID_BYTES 36

/* Fields: name, size, users, dependants, state, address. */
static bool is_stable_field(unsigned int field)
{
	return field != 2 && field != 3;
}

static uint64_t add_line(uint64_t h, const char *at, const char *end)
{
	for (unsigned int field = 0; at < end; field++) {
		const char *space = memchr(at, ' ', (size_t)(end - at));
		const char *field_end = space ? space : end;

		if (is_stable_field(field))
			h = hash_mix(h, hash_bytes(at, (size_t)(field_end - at)));
		at = field_end + 1;
	}
	return hash_mix(h, '\n');
}

uint64_t kernel_key_of_modules(const char *text, size_t n)
{
	const char *end = text + n;
	uint64_t h = 0;

	for (const char *at = text; at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *line_end = newline ? newline : end;

		h = add_line(h, at, line_end);
		at = line_end + 1;
	}
	return h;
}

static int read_modules(const struct procfs *proc, uint64_t *ret_hash)
{
	_cleanup_(closep) int fd = openat(proc->fd, "modules", O_RDONLY | O_CLOEXEC);
	struct buf text = BUF_INIT(MODULES_MAX_BYTES);
	int r;

	if (fd < 0 && errno == ENOENT) {
		*ret_hash = 0;
		return 0;
	}
	if (fd < 0)
		return -errno;
	r = buf_read_fd(&text, fd);
	if (r == 0)
		*ret_hash = kernel_key_of_modules(text.len ? text.data : "", text.len);
	buf_done(&text);
	return r;
}

int kernel_key_read(const struct procfs *proc, struct kernel_key *ret_key)
{
	_cleanup_(closep) int fd =
		openat(proc->fd, "sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	struct kernel_key key = { 0 };
	ssize_t n;
	int r;

	if (fd < 0)
		return -errno;
	n = read(fd, key.boot_id, BOOT_ID_BYTES);
	if (n < 0)
		return -errno;
	if (n != BOOT_ID_BYTES)
		return -EBADMSG;
	r = read_modules(proc, &key.modules);
	if (r < 0)
		return r;
	*ret_key = key;
	return 0;
}
