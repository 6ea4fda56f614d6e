/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proc/cgroup_path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cgroup_identity identity;
	struct cgroup_text t;
	size_t uid_len;

	if (!size || !cgroup_text_parse((const char *)data, size, &t))
		return 0;
	if (t.path < (const char *)data || t.path + t.len > (const char *)data + size ||
	    *t.path != '/')
		abort(); /* not a path of the text */
	cgroup_identify(t.path, t.len, &identity);
	uid_len = strlen(identity.pod_uid);
	if (uid_len && uid_len != 32 && uid_len != 36)
		abort(); /* not a UID */
	if (identity.container_id[0] && strlen(identity.container_id) != 64)
		abort(); /* not an ID */
	(void)cgroup_kin(t.path, t.len);
	return 0;
}
