/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs in directories that others may write: what somebody else put there is neither followed nor
 * opened nor kept, whatever the kernel's own rules (fs.protected_*) are set to. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/outfile.h"
#include "base/outpath.h"
#include "tap.h"

#define STRANGER 12345
#define FRIEND 12346

static char dir[] = "/tmp/outpath.XXXXXX";

static const char *in_dir(const char *name)
{
	static char paths[4][256];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
	return path;
}

static void put_file(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	must(f && fputs(text, f) >= 0 && fclose(f) == 0 && chmod(path, mode) == 0);
}

static bool has_text(const char *path, const char *text)
{
	char got[64] = "";
	FILE *f = fopen(path, "r");

	if (!f)
		return false;
	got[fread(got, 1, sizeof(got) - 1, f)] = '\0';
	fclose(f);
	return strcmp(got, text) == 0;
}

static mode_t mode_of(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 ? st.st_mode & 07777 : 0;
}

static void give_away(const char *path)
{
	must(lchown(path, STRANGER, STRANGER) == 0);
}

static int save(const char *path, const struct outfile_options *opts, struct pa_error *err)
{
	struct outfile *f = NULL;
	int r = outfile_open(path, opts, &f, err);

	if (r == 0)
		r = outfile_write(f, "new", 3, err);
	if (r == 0)
		r = outfile_commit(f, err);
	outfile_free(f);
	return r;
}

/* A directory that others may write. */
struct place {
	mode_t mode;
	uid_t owner;
	bool keeps_names; /* nobody else can rename what is ours */
	const char *what;
};

static void go_to(const struct place *p)
{
	must(chown(dir, p->owner, 0) == 0 && chmod(dir, p->mode) == 0);
}

static void test_links(const struct place *place)
{
	const struct outfile_options opts = { .set_owner = true, .uid = STRANGER, .gid = STRANGER };
	const char *what = place->what;
	struct pa_error err = { 0 };

	go_to(place);
	put_file(in_dir("victim"), "old", 0600);
	must(symlink("victim", in_dir("link")) == 0);
	give_away(in_dir("link"));
	ok(save(in_dir("link"), NULL, &err) == -EACCES && has_text(in_dir("victim"), "old"),
	   "%s: another user's link is not followed", what);
	ok(strstr(err.text, "is a symbolic link of user 12345") && !strstr(err.text, "permission"),
	   "'%s'", err.text);
	must(symlink("/dev/null", in_dir("null")) == 0);
	give_away(in_dir("null"));
	ok(save(in_dir("null"), NULL, NULL) == -EACCES,
	   "%s: another user's link to a device is not followed", what);
	must(mkdir(in_dir("ours"), 0700) == 0 && symlink("ours", in_dir("door")) == 0);
	give_away(in_dir("door"));
	ok(save(in_dir("door/a"), NULL, NULL) == -EACCES && access(in_dir("ours/a"), F_OK) < 0,
	   "%s: another user's link in the middle of a path is not followed", what);
	must(symlink("link", in_dir("first")) == 0);
	ok(save(in_dir("first"), NULL, NULL) == -EACCES && has_text(in_dir("victim"), "old"),
	   "%s: another user's link behind a link of our own is not followed", what);
	ok(save(in_dir("link"), &opts, NULL) == 0 && has_text(in_dir("victim"), "new"),
	   "%s: a link of the user who called sudo is followed", what);
	put_file(in_dir("victim"), "old", 0600);
	must(unlink(in_dir("link")) == 0 && symlink("victim", in_dir("link")) == 0);
	ok(save(in_dir("first"), NULL, NULL) == 0 && has_text(in_dir("victim"), "new"),
	   "%s: links of our own are followed", what);
	must(unlink(in_dir("victim")) == 0 && unlink(in_dir("link")) == 0 &&
	     unlink(in_dir("null")) == 0 && unlink(in_dir("door")) == 0 &&
	     unlink(in_dir("first")) == 0 && rmdir(in_dir("ours")) == 0);
}

static void test_fifos(const struct place *place)
{
	const char *what = place->what;
	struct pa_error err = { 0 };
	char text[8] = "";
	int fd;

	go_to(place);
	must(mkfifo(in_dir("fifo"), 0666) == 0);
	fd = open(in_dir("fifo"), O_RDWR | O_NONBLOCK | O_CLOEXEC);
	must(fd >= 0);
	give_away(in_dir("fifo"));
	ok(save(in_dir("fifo"), NULL, &err) == -EACCES && read(fd, text, 7) < 0,
	   "%s: another user's FIFO is not written to", what);
	ok(strstr(err.text, "is a FIFO of user 12345") != NULL, "'%s'", err.text);
	must(lchown(in_dir("fifo"), 0, 0) == 0);
	ok(save(in_dir("fifo"), NULL, NULL) == 0 && read(fd, text, 7) == 3,
	   "%s: a FIFO of our own is written to", what);
	close(fd);
	must(unlink(in_dir("fifo")) == 0);
}

static void test_modes(const struct place *place)
{
	const struct outfile_options opts = { .set_owner = true, .uid = FRIEND, .gid = FRIEND };
	mode_t kept = place->keeps_names ? 0640 : 0600;
	const char *what = place->what;

	go_to(place);
	put_file(in_dir("a"), "old", 0666);
	give_away(in_dir("a"));
	ok(save(in_dir("a"), NULL, NULL) == 0 && mode_of(in_dir("a")) == 0600,
	   "%s: a file that another user created before us does not pass on its mode", what);
	must(chmod(in_dir("a"), 0640) == 0 && save(in_dir("a"), NULL, NULL) == 0);
	ok(mode_of(in_dir("a")) == kept, "%s: a file of our own %s its mode", what,
	   place->keeps_names ? "keeps" : "may have been moved there, and loses");
	must(chmod(in_dir("a"), 0640) == 0 && chown(in_dir("a"), FRIEND, FRIEND) == 0 &&
	     save(in_dir("a"), &opts, NULL) == 0);
	ok(mode_of(in_dir("a")) == kept, "%s: a file of the intended owner passes on its mode",
	   what);
	must(unlink(in_dir("a")) == 0);
	put_file(in_dir("victim"), "old", 0644);
	must(link(in_dir("victim"), in_dir("a")) == 0 && save(in_dir("a"), NULL, NULL) == 0);
	ok(mode_of(in_dir("a")) == 0600 && has_text(in_dir("victim"), "old"),
	   "%s: a hard link to a file of ours passes on neither mode nor bytes", what);
	must(unlink(in_dir("a")) == 0 && unlink(in_dir("victim")) == 0);
}

static void test_directory_swapped(void)
{
	struct outfile *f = NULL;

	must(chmod(dir, 01777) == 0 && mkdir(in_dir("ours"), 0700) == 0 &&
	     mkdir(in_dir("victim"), 0700) == 0);
	must(outfile_open(in_dir("ours/a"), NULL, &f, NULL) == 0);
	must(rename(in_dir("ours"), in_dir("moved")) == 0 &&
	     symlink("victim", in_dir("ours")) == 0);
	ok(outfile_write(f, "new", 3, NULL) == 0 && outfile_commit(f, NULL) == 0 &&
		   has_text(in_dir("moved/a"), "new") && access(in_dir("victim/a"), F_OK) < 0,
	   "a directory replaced by a link meanwhile stays the one that was checked");
	outfile_free(f);
	must(unlink(in_dir("moved/a")) == 0 && unlink(in_dir("ours")) == 0 &&
	     rmdir(in_dir("moved")) == 0 && rmdir(in_dir("victim")) == 0);
}

static void test_fifo_swapped(void)
{
	struct outpath p;
	int fd;

	must(mkfifo(in_dir("fifo"), 0600) == 0 &&
	     outpath_resolve(in_dir("fifo"), &(struct outpath_options){ 0 }, &p) == 0 &&
	     p.is_special);
	must(unlink(in_dir("fifo")) == 0 && mkfifo(in_dir("fifo"), 0600) == 0);
	fd = open(in_dir("fifo"), O_RDWR | O_NONBLOCK | O_CLOEXEC);
	must(fd >= 0);
	ok(outpath_open_special(&p) == -ESTALE, "a FIFO that replaces another one is not used");
	outpath_done(&p);
	close(fd);
	must(unlink(in_dir("fifo")) == 0);
}

static void test_automatic_names(void)
{
	const struct outfile_options opts = { .unique = true };

	must(chmod(dir, 01777) == 0);
	put_file(in_dir("victim"), "old", 0600);
	must(symlink("victim", in_dir("a")) == 0 && mkfifo(in_dir("a-1"), 0666) == 0);
	put_file(in_dir("a-2"), "old", 0666);
	must(symlink("nowhere", in_dir("a-3")) == 0 && mkdir(in_dir("a-4"), 0700) == 0);
	ok(save(in_dir("a"), &opts, NULL) == 0 && has_text(in_dir("a-5"), "new") &&
		   mode_of(in_dir("a-5")) == 0600 && has_text(in_dir("victim"), "old") &&
		   access(in_dir("nowhere"), F_OK) < 0,
	   "an automatic name skips existing names");
	must(unlink(in_dir("victim")) == 0 && unlink(in_dir("a")) == 0 &&
	     unlink(in_dir("a-1")) == 0 && unlink(in_dir("a-2")) == 0 &&
	     unlink(in_dir("a-3")) == 0 && rmdir(in_dir("a-4")) == 0 && unlink(in_dir("a-5")) == 0);
}

static int make_folder(const char *path)
{
	struct outpath p;
	int r = outpath_make_folder(path, &p);

	if (r == -EACCES && !p.is_refused)
		r = -EPERM;
	outpath_done(&p);
	return r;
}

static void test_folders(const struct place *place)
{
	const char *what = place->what;
	struct stat st;

	go_to(place);
	must(mkdir(in_dir("ours"), 0700) == 0 && symlink("ours", in_dir("door")) == 0);
	give_away(in_dir("door"));
	ok(make_folder(in_dir("door")) == -EACCES,
	   "%s: another user's link is not accepted as a directory", what);
	ok(make_folder(in_dir("door/a")) == -EACCES && access(in_dir("ours/a"), F_OK) < 0,
	   "%s: no directory is created behind another user's link", what);
	must(unlink(in_dir("door")) == 0 && symlink("ours", in_dir("door")) == 0);
	ok(make_folder(in_dir("door/a//b/")) == 0 && stat(in_dir("ours/a/b"), &st) == 0 &&
		   (st.st_mode & 07777) == 0700,
	   "%s: a directory is created behind a link of our own", what);
	must(rmdir(in_dir("ours/a/b")) == 0 && rmdir(in_dir("ours/a")) == 0 &&
	     rmdir(in_dir("ours")) == 0 && unlink(in_dir("door")) == 0);
}

static int resolve(const char *path, char *to, size_t size)
{
	struct outpath p;
	int r = outpath_resolve(path, &(struct outpath_options){ 0 }, &p);

	(void)snprintf(to, size, "%s | %s", p.dir.data ? p.dir.data : "", p.name ? p.name : "");
	outpath_done(&p);
	return r;
}

static void test_ways(void)
{
	char got[512], expected[512];

	must(mkdir(in_dir("b"), 0700) == 0 && symlink("b/../b//", in_dir("c")) == 0);
	(void)snprintf(expected, sizeof(expected), "%s/b/../b | x", dir);
	ok(resolve(in_dir("c/x"), got, sizeof(got)) == 0 && !strcmp(got, expected), "'%s'", got);
	ok(resolve("x", got, sizeof(got)) == 0 && !strcmp(got, ". | x"), "'%s'", got);
	ok(resolve("/x", got, sizeof(got)) == 0 && !strcmp(got, "/ | x"), "'%s'", got);
	ok(resolve("/", got, sizeof(got)) == -EISDIR, "'/' is a directory");
	ok(resolve("..", got, sizeof(got)) == -EISDIR, "'..' is a directory");
	ok(resolve(in_dir("new/"), got, sizeof(got)) == -EISDIR,
	   "a path with a trailing '/' is a directory");
	ok(resolve("/proc/self/cwd/x", got, sizeof(got)) == 0,
	   "a procfs link in the middle of a path is followed: '%s'", got);
	ok(resolve("/dev/stdout", got, sizeof(got)) == 0 && strstr(got, "/fd | 1"),
	   "a procfs link at the end of a path is followed: '%s'", got);
	must(unlink(in_dir("c")) == 0 && rmdir(in_dir("b")) == 0);
}

int main(void)
{
	static const struct place places[] = {
		{ 01777, 0, true, "sticky" },
		{ 01775, 0, true, "sticky, of a group" },
		{ 0777, 0, false, "not sticky" },
		{ 0755, STRANGER, false, "a stranger's" },
		{ 01777, STRANGER, false, "a stranger's, sticky" },
	};
	must(mkdtemp(dir));
	(void)umask(077);
	test_ways();
	test_fifo_swapped();
	if (geteuid() != 0) {
		tap_skip("needs root to make files of another user");
		must(rmdir(dir) == 0);
		return tap_done();
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		test_links(&places[i]);
		test_fifos(&places[i]);
		test_modes(&places[i]);
		test_folders(&places[i]);
	}
	must(chown(dir, 0, 0) == 0);
	test_directory_swapped();
	test_automatic_names();
	must(rmdir(dir) == 0);
	return tap_done();
}
