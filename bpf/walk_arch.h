/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Selects the architecture of the walk: the target of the BPF object; on the host, the one that the
 * including file selects by PA_WALK_ARM64 or PA_WALK_X86, otherwise the host's own. */
#if defined(PA_WALK_X86) || defined(__TARGET_ARCH_x86)
#include "walk_x86.h"
#elif defined(PA_WALK_ARM64) || defined(__TARGET_ARCH_arm64)
#include "walk_arm64.h"
#elif defined(__x86_64__)
#include "walk_x86.h"
#elif defined(__aarch64__)
#include "walk_arm64.h"
#else
#error "no such architecture"
#endif
