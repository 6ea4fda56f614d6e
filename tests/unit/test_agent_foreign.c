/* SPDX-License-Identifier: Apache-2.0 */
/* Whose files have all the time there is, and whose have not. */
#include "debugfiles/foreign.h"

#include <sys/mman.h>
#include <unistd.h>

#include "proc/filestore.h"
#include "proc/roots.h"
#include "tap.h"

#define CALLER 1234
#define OTHER 1235

static struct file file_of(uid_t user)
{
	struct file f = { .root = ROOT_OWN, .fd = memfd_create("file", MFD_CLOEXEC) };

	must(f.fd >= 0);
	if (geteuid() == 0)
		must(fchown(f.fd, user, user) == 0);
	return f;
}

static bool is_foreign(struct file f, uid_t *ret_owner)
{
	bool is = file_is_foreign(&f, ret_owner);

	close(f.fd);
	return is;
}

static void test_own(void)
{
	struct file f = file_of(geteuid());
	uid_t owner;

	ok(!is_foreign(f, &owner) && owner == geteuid(),
	   "a file of the user who runs this is trusted");
	f = file_of(geteuid());
	f.root = ROOT_OWN + 1;
	ok(is_foreign(f, &owner), "a file in another root is not trusted, whoever owns it");
}

/* The server of a FUSE file system says whose its files are. */
static void test_copy(void)
{
	struct file f = file_of(geteuid());
	uid_t owner;

	f.is_copy = true;
	ok(is_foreign(f, &owner) && owner == (uid_t)-1, "the owner of a copy is unknown");
}

static void test_sudo(void)
{
	uid_t owner;

	if (geteuid() != 0) {
		tap_skip("needs root, to have files of other users");
		return;
	}
	ok(is_foreign(file_of(CALLER), &owner) && owner == CALLER,
	   "a file of another user is not trusted");
	must(setenv("SUDO_UID", "1234", 1) == 0);
	ok(!is_foreign(file_of(CALLER), &owner), "a file of the user who called sudo is trusted");
	ok(is_foreign(file_of(OTHER), &owner) && owner == OTHER,
	   "a file of a third user is not trusted under sudo");
	must(setenv("SUDO_UID", "-1", 1) == 0);
	ok(is_foreign(file_of(CALLER), &owner), "SUDO_UID that is not a number is ignored");
}

int main(void)
{
	must(unsetenv("SUDO_UID") == 0);
	test_own();
	test_copy();
	test_sudo();
	return tap_done();
}
