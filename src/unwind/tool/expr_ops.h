/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of an expression as libdw would give them: one element per operation. */
#ifndef UNWIND_TOOL_EXPR_OPS_H
#define UNWIND_TOOL_EXPR_OPS_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPR_MAX_OPS 64

/* ops has room for EXPR_MAX_OPS. False: too long, cut, or an operand that is not known. */
bool expr_ops(const uint8_t *bytes, size_t len, Dwarf_Op *ops, size_t *ret_nr);

#endif
