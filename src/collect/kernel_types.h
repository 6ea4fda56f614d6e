/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types of the running kernel for libbpf, less those that no program of ours asks for: a file to
 * be named in bpf_object_open_opts.btf_custom_path. Reading and searching all of them takes libbpf
 * longer than to load the programs.
 */
#ifndef COLLECT_KERNEL_TYPES_H
#define COLLECT_KERNEL_TYPES_H

#include <stddef.h>

struct btf;

#define KERNEL_TYPES_PATH "/sys/kernel/btf/vmlinux"
#define KERNEL_TYPES_FILE_SIZE 32 /* "/proc/self/fd/2147483647" */

/* 0: they are there and begin as BTF does; -EBADMSG: they do not; or why they cannot be read. */
int kernel_types_probe(void);

/* An empty file without a name, to be filled later, and a path to it, valid while it is open. */
int kernel_types_file_new(char path[KERNEL_TYPES_FILE_SIZE], int *ret_fd);

/* Fills such a file with what an object that has these types itself may ask for. */
int kernel_types_write(const struct btf *asked, int fd);

#endif
