/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol between the agent and its reader process, in packets. Private to the reader. */
#ifndef PROC_READER_WIRE_H
#define PROC_READER_WIRE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct worker_role;

#define READER_CHUNK_BYTES (32u << 10)
#define READER_MAX_SILENT 16

enum reader_op {
	READER_READ = 1, /* the bytes of a file in procfs */
	READER_LINK,     /* the target of a link in procfs */
	READER_OPEN,     /* a regular file */
	READER_ROOT,     /* an O_PATH descriptor of a process's root, and its statx() */
};

/* For READER_OPEN. The path is relative to procfs, unless READER_IN_ROOT is set. */
/* relative to a root: the descriptor sent with it, `root`, or our own */
#define READER_IN_ROOT 1u
#define READER_NO_LINK 2u    /* its last component must not be a link */
#define READER_READABLE 4u   /* readable by everyone, or owned by `owner` */
#define READER_COPY 8u       /* copy in any case */
#define READER_ONE_MOUNT 16u /* do not cross mounts inside the root */

struct reader_request {
	uint32_t op;
	uint32_t flags;
	uint64_t offset;    /* READER_READ: where to begin */
	uint64_t max_bytes; /* READER_READ: at most; READER_OPEN: of a copy */
	uint64_t owner;     /* a user ID */
	/* READER_OPEN: devices of file systems that did not answer before; 0: none. */
	uint64_t silent[READER_MAX_SILENT];
	char root[32];       /* in procfs: the root of the process in question; "": none */
	char path[PATH_MAX]; /* only its actual length is sent */
};

#define READER_REQUEST_BYTES(path_len) (offsetof(struct reader_request, path) + (path_len) + 1)

#define READER_MORE 1u    /* not the last packet of the answer */
#define READER_IS_COPY 2u /* the descriptor is a memfd with the file's contents */
#define READER_HAS_GENERATION 4u
/* READER_OPEN, with READER_MORE: the file is found, its st_dev is known */
#define READER_IS_FOUND 8u

struct reader_reply {
	int32_t result; /* 0, or a negative errno */
	uint32_t flags;
	uint64_t copied_bytes; /* stored bytes in a copy */
	uint64_t generation;   /* of the inode */
	uint64_t slept_ns;     /* so far, in this request */
	uint64_t mount;        /* READER_ROOT: stx_mnt_id; 0: unknown */
	struct stat st;        /* READER_OPEN, READER_ROOT; of the file, even if it is copied */
};

/* A packet is a reply followed by up to READER_CHUNK_BYTES. */

/* What the reader processes do (reader_process.c). */
extern const struct worker_role reader_role;

#endif
