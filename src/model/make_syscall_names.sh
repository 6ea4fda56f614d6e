#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# make_syscall_names.sh COMPILER…: { number, "name" } of each system call that its kernel headers have.
set -eu
printf '#include <asm/unistd.h>\n' | "$@" -E -dM - |
	sed -n 's/^#define __NR_\([a-z][a-z0-9_]*\) .*/{ __NR_\1, "\1" },/p' |
	grep -v '"\(syscalls\|arch_specific_syscall\)"' | LC_ALL=C sort
