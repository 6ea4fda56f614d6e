// SPDX-License-Identifier: Apache-2.0
/* switch_hooks PROGRAM: attaches one of the programs of switch_hooks.bpf.c, says "ready", and keeps it until
 * the end of standard input. */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual"
#include "switch_hooks.skel.h"
#pragma GCC diagnostic pop

int main(int argc, char **argv)
{
	struct switch_hooks_bpf *skel = switch_hooks_bpf__open();
	struct bpf_program *program;
	char c;

	if (!skel || argc != 2)
		return 2;
	bpf_object__for_each_program(program, skel->obj) bpf_program__set_autoload(
		program, strcmp(bpf_program__name(program), argv[1]) == 0);
	if (switch_hooks_bpf__load(skel) < 0 || switch_hooks_bpf__attach(skel) < 0)
		return 1;
	puts("ready");
	(void)fflush(stdout);
	(void)!read(STDIN_FILENO, &c, 1);
	switch_hooks_bpf__destroy(skel);
	return 0;
}
