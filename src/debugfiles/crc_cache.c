/* SPDX-License-Identifier: Apache-2.0 */
#include "debugfiles/crc_cache.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "elf/elf_debuglink.h"
#include "elf/elf_image.h"

void crc_cache_init(struct crc_cache *c)
{
	pthread_mutex_init(&c->lock, NULL);
	c->nr = 0;
	c->left_bytes = CRC_MAX_BYTES;
}

void crc_cache_done(struct crc_cache *c)
{
	pthread_mutex_destroy(&c->lock);
}

static bool is_same(const struct crc_known *a, const struct crc_known *b)
{
	return a->dev == b->dev && a->ino == b->ino && a->mtime_ns == b->mtime_ns &&
	       a->size == b->size;
}

static const struct crc_known *find_crc(const struct crc_cache *c, const struct crc_known *key)
{
	for (uint32_t i = 0; i < c->nr; i++)
		if (is_same(&c->known[i], key))
			return &c->known[i];
	return NULL;
}

/* Normal programs have no more files than fit, nor more bytes than allowed. */
static int read_crc(struct crc_cache *c, const struct elf_image *img, struct crc_known *k)
{
	if (k->size > CRC_FILE_MAX_BYTES || k->size > c->left_bytes || c->nr == CRC_CACHE_FILES)
		return -E2BIG;
	c->left_bytes -= k->size;
	return elf_image_crc(img, &k->crc);
}

int crc_cache_get(struct crc_cache *c, const struct elf_image *img, int fd, uint32_t *ret_crc)
{
	const struct crc_known *known;
	struct crc_known k = { 0 };
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	k.dev = st.st_dev;
	k.ino = st.st_ino;
	k.mtime_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
	k.size = (uint64_t)st.st_size;
	pthread_mutex_lock(&c->lock);
	known = find_crc(c, &k);
	if (known)
		k = *known;
	else
		k.result = read_crc(c, img, &k);
	if (!known && k.result != -ECANCELED && c->nr < CRC_CACHE_FILES)
		c->known[c->nr++] = k;
	pthread_mutex_unlock(&c->lock);
	*ret_crc = k.crc;
	return k.result;
}
