/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checksums of files that debuglinks refer to. A target chooses the file, and a thousand of its
 * libraries may refer to one: each file is read once per capture, and all together are limited.
 */
#ifndef DEBUGFILES_CRC_CACHE_H
#define DEBUGFILES_CRC_CACHE_H

#include <pthread.h>
#include <stdint.h>

struct elf_image;

#define CRC_CACHE_FILES 256
#define CRC_FILE_MAX_BYTES (1ull << 30) /* the debug file of a browser; most have a few MB */
#define CRC_MAX_BYTES (4ull << 30)      /* for all files; 2 to 4 s of CPU time */

struct crc_cache {
	pthread_mutex_t
		lock; /* for all fields below; held while a file is read, because another thread may want the same */
	struct crc_known {
		uint64_t dev, ino, mtime_ns, size;
		uint32_t crc;
		int result;
	} known[CRC_CACHE_FILES];
	uint32_t nr;
	uint64_t left_bytes;
};

void crc_cache_init(struct crc_cache *c);
void crc_cache_done(struct crc_cache *c);

/* The checksum of an image's file; fd is the image's. Any thread. -E2BIG: too large, or sparse;
 * -ECANCELED, as for elf_image_limit(); other read errors. */
int crc_cache_get(struct crc_cache *c, const struct elf_image *img, int fd, uint32_t *ret_crc);

#endif
