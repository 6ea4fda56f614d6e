/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies the frames of a wait, to find out where a program waited. */
#ifndef AGENT_WAIT_CODE_H
#define AGENT_WAIT_CODE_H

#include "profile/profile.h"

/* A wait is shown from its innermost function of the last of these kinds that its stack has. */
enum wait_code {
	WAIT_CODE_SCHEDULER, /* where every thread leaves its CPU */
	/* the kernel, the C library, and the way in which a runtime calls them */
	WAIT_CODE_SYSTEM,
	/* what runs functions of a script, and stands between them on the stack */
	WAIT_CODE_INTERPRETER,
	WAIT_CODE_RUNTIME, /* a language runtime: its locks, its scheduler */
	WAIT_CODE_OWN,
};

/* The path of the file (any string if there is none), the symbol and the name of the function. */
enum wait_code wait_code_of(enum profile_mapping_kind kind, const char *path, const char *symbol,
			    const char *name);

#endif
