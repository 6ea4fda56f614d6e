/* SPDX-License-Identifier: Apache-2.0 */
#include "base/capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NR_WORDS _LINUX_CAPABILITY_U32S_3

_Static_assert(sizeof(((struct capabilities *)0)->effective) == NR_WORDS * sizeof(uint32_t),
	       "one word of flags each");

static bool caps_get(struct __user_cap_data_struct caps[NR_WORDS])
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &head, caps) == 0;
}

static bool caps_set(const struct __user_cap_data_struct caps[NR_WORDS])
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capset, &head, caps) == 0;
}

bool capabilities_give_up(void)
{
	const struct __user_cap_data_struct none[NR_WORDS] = { 0 };
	struct __user_cap_data_struct left[NR_WORDS] = { 0 };
	uint32_t any = 0;

	/* capset() does that as well */
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || !caps_set(none) || !caps_get(left))
		return false;
	for (int i = 0; i < NR_WORDS; i++)
		any |= left[i].effective | left[i].permitted | left[i].inheritable;
	return any == 0;
}

int capabilities_lower(struct capabilities *held)
{
	struct __user_cap_data_struct caps[NR_WORDS] = { 0 };

	if (geteuid() == 0)
		return 0;
	if (!caps_get(caps))
		return -EPERM;
	for (int i = 0; i < NR_WORDS; i++) {
		held->effective[i] = caps[i].effective;
		caps[i].effective = 0;
	}
	held->is_lowered = caps_set(caps);
	return held->is_lowered ? 0 : -EPERM;
}

void capabilities_raise(struct capabilities *held)
{
	struct __user_cap_data_struct caps[NR_WORDS] = { 0 };

	if (!held->is_lowered || !caps_get(caps))
		return;
	for (int i = 0; i < NR_WORDS; i++)
		caps[i].effective = held->effective[i] & caps[i].permitted;
	held->is_lowered = !caps_set(caps);
}
