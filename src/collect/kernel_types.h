/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types of the running kernel for libbpf, without those that none of our programs needs: a file
 * for bpf_object_open_opts.btf_custom_path. Reading and searching all of them would take libbpf
 * longer than loading the programs.
 */
#ifndef COLLECT_KERNEL_TYPES_H
#define COLLECT_KERNEL_TYPES_H

#include <stddef.h>

struct btf;

#define KERNEL_TYPES_PATH "/sys/kernel/btf/vmlinux"
#define KERNEL_TYPES_FILE_SIZE 32 /* "/proc/self/fd/2147483647" */

/* 0: they exist and begin like BTF; -EBADMSG: they do not; or why they cannot be read. */
int kernel_types_probe(void);

/* Creates an empty unnamed file for the types, and the path to it, valid while it is open. */
int kernel_types_file_new(char path[KERNEL_TYPES_FILE_SIZE], int *ret_fd);

/* Fills that file with the kernel types that an object with the types `asked` may need. */
int kernel_types_write(const struct btf *asked, int fd);

#endif
