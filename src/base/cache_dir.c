/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cache_dir.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/capabilities.h"
#include "base/cleanup.h"
#include "base/outpath.h"

#define ROOT_DIR "/var/cache"
#define OWN_NAME "perf-agent"
#define PASSWD_LINE_MAX 4096

static bool is_own_dir(const char *path)
{
	struct stat st;

	return path && path[0] == '/' && stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid();
}

static int join_path(const char *dir, const char *name, char **ret_path)
{
	return asprintf(ret_path, "%s/%s", dir, name) < 0 ? -ENOMEM : 0;
}

/* Read from /etc/passwd directly, because a static program cannot use NSS. */
static int home_from_passwd(char **ret_home)
{
	_cleanup_(fclosep) FILE *f = fopen("/etc/passwd", "re");
	char line[PASSWD_LINE_MAX];
	struct passwd pw, *found;

	if (!f)
		return -errno;
	while (fgetpwent_r(f, &pw, line, sizeof(line), &found) == 0)
		if (found->pw_uid == geteuid() && is_own_dir(found->pw_dir)) {
			*ret_home = strdup(found->pw_dir);
			return *ret_home ? 0 : -ENOMEM;
		}
	return -ENOENT;
}

static int home_dir(char **ret_home)
{
	const char *variable = secure_getenv("HOME");

	if (!is_own_dir(variable))
		return home_from_passwd(ret_home);
	*ret_home = strdup(variable);
	return *ret_home ? 0 : -ENOMEM;
}

int cache_dir_default(char **ret_path)
{
	_cleanup_(capabilities_raise) struct capabilities held = CAPABILITIES_HELD;
	const char *variable = secure_getenv("XDG_CACHE_HOME");
	_cleanup_(freep) char *of_user = NULL;
	int r = capabilities_lower(&held);

	if (r < 0)
		return r;
	if (is_own_dir(variable))
		return join_path(variable, OWN_NAME, ret_path);
	if (geteuid() == 0)
		return join_path(ROOT_DIR, OWN_NAME, ret_path);
	r = home_dir(&of_user);
	return r < 0 ? r : join_path(of_user, ".cache/" OWN_NAME, ret_path);
}

int cache_dir_prepare(const char *path, struct pa_error *err)
{
	_cleanup_(outpath_done) struct outpath at = OUTPATH_NONE;
	struct stat st;
	int r = outpath_make_folder(path, &at);

	if (r == 0 && fstat(at.dir_fd, &st) < 0)
		r = -errno;
	if (r < 0)
		return error_set(err, -r, "cannot use '%s' as a directory: %s", path, strerror(-r));
	if (st.st_uid != geteuid())
		return error_set(err, EPERM, "the directory '%s' belongs to user %u", path,
				 (unsigned int)st.st_uid);
	if (st.st_mode & 022)
		return error_set(err, EPERM, "others may write to the directory '%s'", path);
	return 0;
}
