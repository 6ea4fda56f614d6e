/* SPDX-License-Identifier: Apache-2.0 */
/* What the frames of a wait say about where a program waited. */
#ifndef AGENT_WAIT_CODE_H
#define AGENT_WAIT_CODE_H

#include "profile/profile.h"

/* A wait is shown from its innermost function of the last of these that it has. */
enum wait_code {
	WAIT_CODE_SCHEDULER, /* where every thread leaves its CPU */
	WAIT_CODE_SYSTEM,    /* the kernel, the C library, and how a runtime calls them */
	WAIT_CODE_INTERPRETER, /* what runs functions of a script, and stands between them on the stack */
	WAIT_CODE_RUNTIME, /* of a language: its locks, its scheduler */
	WAIT_CODE_OWN,
};

/* The path of the file (any string if there is none), the symbol and the name of the function. */
enum wait_code wait_code_of(enum profile_mapping_kind kind, const char *path, const char *symbol,
			    const char *name);

#endif
