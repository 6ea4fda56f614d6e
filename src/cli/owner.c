/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/owner.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* A number as sudo writes it; (uid_t)-1 would mean "unchanged" to chown() and is rejected. */
static bool parse_id(const char *text, uint32_t *ret_id)
{
	char *end;
	unsigned long v;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtoul(text, &end, 10);
	if (errno || *end || v >= UINT32_MAX)
		return false;
	*ret_id = (uint32_t)v;
	return true;
}

struct owner owner_from_environment(void)
{
	struct owner owner = { 0 };

	if (geteuid() == 0)
		owner.is_set = parse_id(getenv("SUDO_UID"), &owner.uid) &&
			       parse_id(getenv("SUDO_GID"), &owner.gid);
	return owner;
}
