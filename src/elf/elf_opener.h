/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How debug information reaches other files that it names (.dwo, .dwp). The names are as untrusted
 * as the file that holds them: whoever has the process decides in which root they are looked up,
 * and that nothing but a regular file is opened.
 */
#ifndef ELF_ELF_OPENER_H
#define ELF_ELF_OPENER_H

struct elf_opener {
	/* A descriptor of the file, which the caller then owns, or negative errno. path: as the
	 * debug information gives it, absolute or not; NULL: the .dwp file beside the code's own. */
	int (*open)(void *ctx, const char *path);
	void *ctx;
};

#endif
