/* SPDX-License-Identifier: Apache-2.0 */
/* perf-agent-unwind dump|check FILE: the unwind table of a file, printed or compared with libdw. */
#include <errno.h>
#include <fcntl.h>

#include "elf/elf_image.h"
#include "oracle/unwind_tool/tool.h"

static int run(const char *command, const struct subject *s)
{
	struct rule_dict dict;
	int r;

	r = rule_dict_init(&dict);
	if (r < 0)
		return r;
	r = strcmp(command, "dump") == 0 ? dump(s, &dict) : check(s, &dict);
	rule_dict_done(&dict);
	return r;
}

int main(int argc, char **argv)
{
	struct subject s = { .fd = -1 };
	int r;

	if (argc != 3 || (strcmp(argv[1], "dump") != 0 && strcmp(argv[1], "check") != 0)) {
		fprintf(stderr, "usage: %s dump|check FILE\n", argv[0]);
		return 2;
	}
	s.path = argv[2];
	s.fd = open(s.path, O_RDONLY | O_CLOEXEC);
	r = s.fd < 0 ? -errno : elf_image_open_fd(s.fd, &s.img);
	if (r < 0) {
		fprintf(stderr, "%s: %s\n", s.path, strerror(-r));
	} else {
		r = run(argv[1], &s);
		elf_image_free(s.img);
	}
	if (s.fd >= 0)
		close(s.fd);
	return r == 0 ? 0 : 1;
}
