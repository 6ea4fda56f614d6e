/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that the kernel runs once for every task. They are loaded separately, because libbpf reads all
 * of the kernel's types for them. */
#ifndef COLLECT_TASK_ITER_H
#define COLLECT_TASK_ITER_H

struct programs;

/* Reading from the descriptor runs the program, which shares the maps of the others. -EOPNOTSUPP:
 * the kernel has no such iterator. */
int task_iter_open(const struct programs *p, const char *program, int *ret_fd);

#endif
