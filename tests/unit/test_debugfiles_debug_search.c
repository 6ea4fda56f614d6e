/* SPDX-License-Identifier: Apache-2.0 */
/* Where debug files are found, in what order, and which of them are believed. */
#include "debugfiles/debug_search.h"

#include <errno.h>
#include <zlib.h>

#include "debugfiles/crc_cache.h"
#include "elf_maker.h"
#include "fake_proc.h"

#define BUILD_ID "\xab\xcd\xef"
#define BY_ID "/usr/lib/debug/.build-id/ab/cdef.debug"

enum content { NOTHING, SYMBOLS, DWARF };

struct test_world {
	struct fake target, own; /* two roots */
	struct elf_maker binary;
	struct elf_image *image;
	struct debug_query q;
	struct crc_cache crcs;
	struct debug_search_stats stats;
	struct debug_file found;
};

/* An ELF file with a mark in .comment, so that it can be told from others. */
static void make_elf(struct elf_maker *m, const char *build_id, enum content content,
		     const char *mark)
{
	char note[24] = { 4, 0, 0, 0, 3, 0, 0, 0, NT_GNU_BUILD_ID, 0, 0, 0, 'G', 'N', 'U' };

	maker_init(m);
	if (build_id) {
		memcpy(note + 16, build_id, 3);
		maker_section(m, ".note.gnu.build-id", SHT_NOTE, 0, note, 20);
	}
	maker_section(m, ".comment", SHT_PROGBITS, 0, mark, strlen(mark) + 1);
	if (content == DWARF)
		maker_section(m, ".debug_info", SHT_PROGBITS, 0, "dwarf", 5);
	if (content == SYMBOLS)
		maker_section(m, ".symtab", SHT_SYMTAB, 0, "symbols", 7);
}

static void put(struct fake *root, const char *path, const char *build_id, enum content content,
		const char *mark)
{
	struct elf_maker m;

	make_elf(&m, build_id, content, mark);
	maker_end(&m);
	fake_write_bytes(root, path + 1, m.bytes, m.len);
	maker_done(&m);
}

static void put_foreign(struct fake *root, const char *path)
{
	struct elf_maker m;

	make_elf(&m, BUILD_ID, DWARF, "foreign");
	m.ehdr.e_machine = EM_S390;
	maker_end(&m);
	fake_write_bytes(root, path + 1, m.bytes, m.len);
	maker_done(&m);
}

/* The checksum of what put() writes. */
static uint32_t crc_of(const char *build_id, enum content content, const char *mark)
{
	struct elf_maker m;
	uint32_t crc;

	make_elf(&m, build_id, content, mark);
	maker_end(&m);
	crc = (uint32_t)crc32_z(0, m.bytes, m.len);
	maker_done(&m);
	return crc;
}

/* The binary /opt/app/prog, with a debuglink to prog.debug. */
static void begin(struct test_world *w, const char *build_id, uint32_t crc)
{
	char link[16] = "prog.debug", path[PATH_MAX];

	*w = (struct test_world){ 0 };
	fake_init(&w->target);
	fake_init(&w->own);
	make_elf(&w->binary, build_id, NOTHING, "binary");
	memcpy(link + 12, &crc, 4);
	maker_section(&w->binary, ".gnu_debuglink", SHT_PROGBITS, 0, link, sizeof(link));
	maker_end(&w->binary);
	w->image = maker_open(&w->binary);
	fake_write(&w->target, "opt/app/prog", "the binary: its owner counts");
	crc_cache_init(&w->crcs);
	w->q = (struct debug_query){ .image = w->image,
				     .procfs = &w->own.procfs,
				     .crcs = &w->crcs,
				     .fd = open(fake_path(&w->target, "opt/app/prog", path),
						O_RDONLY | O_CLOEXEC),
				     .path = "/opt/app/prog",
				     .root = w->target.procfs.fd,
				     .own_root = w->own.procfs.fd };
	must(w->q.fd >= 0);
}

static void end(struct test_world *w)
{
	elf_image_free(w->image);
	maker_done(&w->binary);
	close(w->q.fd);
	fake_done(&w->target);
	fake_done(&w->own);
}

/* The mark of the file that is found, or "" */
static const char *search(struct test_world *w)
{
	static char mark[64];
	struct buf b = BUF_INIT(sizeof(mark));

	mark[0] = '\0';
	if (debug_search(&w->q, &w->stats, &w->found) < 0)
		return mark;
	must(elf_image_read_section(w->found.image, elf_image_section(w->found.image, ".comment"),
				    &b) == 0);
	snprintf(mark, sizeof(mark), "%s", b.data);
	buf_done(&b);
	debug_file_done(&w->found);
	return mark;
}

static bool finds(struct test_world *w, const char *mark)
{
	const char *found = search(w);

	if (strcmp(found, mark) != 0)
		printf("# found '%s', not '%s'\n", found, mark);
	return strcmp(found, mark) == 0;
}

/* From the last place to the first: each that is added takes the place of the one before. */
static void test_order(void)
{
	static const struct {
		const char *path, *name;
		bool is_in_own;
	} places[] = {
		{ "/usr/lib/debug/opt/app/prog.debug", "below /usr/lib/debug", true },
		{ "/opt/app/.debug/prog.debug", "in .debug", false },
		{ "/opt/app/prog.debug", "beside the binary", false },
		{ BY_ID, "by build-id", true },
	};
	const char *before = "";
	struct test_world w;

	begin(&w, BUILD_ID, 0);
	ok(finds(&w, ""), "without any file nothing is found");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		put(&w.own, places[i].path, BUILD_ID, DWARF, "own");
		ok(finds(&w, places[i].is_in_own ? "own" : before), "a file %s is %s in our root",
		   places[i].name, places[i].is_in_own ? "found" : "not looked for");
		put(&w.target, places[i].path, BUILD_ID, DWARF, places[i].name);
		ok(finds(&w, places[i].name), "the target's root is searched before ours");
		before = places[i].name;
	}
	w.q.root = -1;
	ok(finds(&w, "own"), "if the target's root is unknown, our /usr/lib/debug is searched");
	fake_unlink(&w.own, BY_ID + 1);
	fake_unlink(&w.own, "usr/lib/debug/opt/app/prog.debug");
	ok(finds(&w, ""), "if the target's root is unknown, nothing else of ours is searched");
	w.q.root = w.own.procfs.fd;
	w.q.is_own = true;
	ok(finds(&w, "own"), "for a process in our own root all places are searched");
	end(&w);
}

static void test_symbols_do_not_end_it(void)
{
	struct test_world w;

	begin(&w, BUILD_ID, 0);
	put(&w.target, BY_ID, BUILD_ID, SYMBOLS, "symbols");
	ok(finds(&w, "symbols"), "a file with only symbols is better than none");
	put(&w.own, "/usr/lib/debug/opt/app/prog.debug", BUILD_ID, DWARF, "dwarf");
	ok(finds(&w, "dwarf"), "a file with only symbols does not end the search for lines");
	fake_unlink(&w.own, "usr/lib/debug/opt/app/prog.debug");
	put(&w.own, BY_ID, BUILD_ID, NOTHING, "nothing");
	ok(finds(&w, "symbols"), "a file with neither lines nor symbols is not used");
	end(&w);
}

static void test_belief(void)
{
	struct test_world w;

	begin(&w, BUILD_ID, crc_of("\xab\xcd\xee", DWARF, "other"));
	put(&w.target, BY_ID, "\xab\xcd\xee", DWARF, "other");
	put(&w.target, "/opt/app/prog.debug", "\xab\xcd\xee", DWARF, "other");
	ok(finds(&w, ""), "a file with another build-id is rejected, whatever its checksum");
	ok(w.stats.nr_other_build_id == 2, "a rejected build-id is counted");
	put(&w.target, "/opt/app/.debug/prog.debug", NULL, DWARF, "none");
	ok(finds(&w, ""), "a file without a build-id is rejected if the binary has one");
	put_foreign(&w.target, BY_ID);
	ok(finds(&w, ""), "a file for another machine is rejected");
	fake_write(&w.target, "opt/app/prog.debug", "no ELF file");
	put(&w.own, BY_ID, BUILD_ID, DWARF, "good");
	ok(finds(&w, "good"), "a rejected file does not end the search");
	end(&w);
}

static void test_checksum(void)
{
	struct test_world w;

	begin(&w, NULL, crc_of(NULL, DWARF, "right"));
	put(&w.target, "/opt/app/prog.debug", NULL, DWARF, "wrong");
	ok(finds(&w, "") && w.stats.nr_bad_crc == 1,
	   "without a build-id another checksum is rejected");
	put(&w.target, "/opt/app/.debug/prog.debug", NULL, DWARF, "right");
	ok(finds(&w, "right"), "without a build-id the right checksum is accepted");
	end(&w);
}

/* Links in the target's root stay inside of it. */
static void test_links_stay_inside(void)
{
	char outside[PATH_MAX];
	struct test_world w;

	begin(&w, BUILD_ID, 0);
	w.q.own_root = -1;
	put(&w.own, "/secret", BUILD_ID, DWARF, "outside");
	fake_link(&w.target, BY_ID + 1, fake_path(&w.own, "secret", outside));
	ok(finds(&w, ""), "a link that leads out of the root is not followed");
	put(&w.target, "/real", BUILD_ID, DWARF, "inside");
	fake_link(&w.target, BY_ID + 1, "/real");
	ok(finds(&w, "inside"), "a link that stays inside the root is followed");
	w.q.path = "memfd:x";
	fake_unlink(&w.target, BY_ID + 1);
	put(&w.target, "/prog.debug", BUILD_ID, DWARF, "nowhere");
	ok(finds(&w, ""), "a binary without a directory has no debuglink");
	end(&w);
}

static void test_not_itself(void)
{
	char path[PATH_MAX];
	struct test_world w;

	begin(&w, BUILD_ID, 0);
	put(&w.target, "/opt/app/prog.debug", BUILD_ID, DWARF, "itself");
	close(w.q.fd);
	w.q.fd = open(fake_path(&w.target, "opt/app/prog.debug", path), O_RDONLY | O_CLOEXEC);
	must(w.q.fd >= 0);
	ok(finds(&w, ""), "a binary is not its own debug file");
	end(&w);
}

static bool finds_alt(struct test_world *w, const char *path, const char *from)
{
	struct elf_altlink link = { .build_id = { { 1, 2, 3 }, 3 } };
	bool is;

	snprintf(link.path, sizeof(link.path), "%s", path);
	is = debug_search_alt(&w->q, &link, from, &w->stats, &w->found) == 0;
	if (is)
		debug_file_done(&w->found);
	return is;
}

static void test_alt(void)
{
	struct test_world w;

	begin(&w, BUILD_ID, 0);
	put(&w.target, "/usr/lib/debug/.dwz/x.debug", "\1\2\3", DWARF, "dwz");
	ok(finds_alt(&w, "/usr/lib/debug/.dwz/x.debug", NULL), "dwz's file is found by its link");
	ok(finds_alt(&w, "../../.dwz/x.debug", BY_ID), "dwz's file is found from the debug file");
	ok(finds_alt(&w, "/elsewhere/x.debug", NULL), "dwz's file is found in .dwz by its name");
	ok(!finds_alt(&w, "../.dwz/y.debug", NULL),
	   "a relative link from an unknown path leads nowhere");
	put(&w.own, "/usr/lib/debug/.build-id/01/0203.debug", "\1\2\3", DWARF, "dwz");
	ok(finds_alt(&w, "../.dwz/y.debug", NULL),
	   "dwz's file is found by build-id if its link fails");
	fake_unlink(&w.own, "usr/lib/debug/.build-id/01/0203.debug");
	put(&w.own, "/usr/lib/debug/.dwz/arch/v.debug", "\1\2\3", DWARF, "dwz");
	ok(finds_alt(&w, "../../.dwz/arch/v.debug", BY_ID),
	   "an upward path also holds in our root");
	ok(!finds_alt(&w, "../../../../../etc/v.debug", BY_ID), "below /usr/lib/debug");
	put(&w.target, "/z.debug", "\1\2\4", DWARF, "other");
	ok(!finds_alt(&w, "/z.debug", NULL), "dwz's file with another build-id is rejected");
	end(&w);
}

static bool opens_split(const struct test_world *w, const char *path)
{
	_cleanup_(closep) int fd = debug_search_split(&w->q, path);

	return fd >= 0;
}

/* A binary may name any file of the machine. */
static void test_split(void)
{
	struct test_world w;

	begin(&w, BUILD_ID, 0);
	fake_write(&w.target, "build/a.dwo", "x");
	fake_write(&w.target, "build/a.o", "x");
	fake_write(&w.target, "opt/app/b.dwo", "x");
	fake_write(&w.target, "opt/app/prog.dwp", "x");
	fake_write(&w.target, "etc/shadow", "x");
	fake_write(&w.own, "etc/own.dwo", "x");
	fake_write(&w.own, "usr/lib/debug/c.dwo", "x");
	ok(opens_split(&w, "/build/a.dwo") && opens_split(&w, "/build/a.o") &&
		   opens_split(&w, "b.dwo") && opens_split(&w, NULL),
	   "a .dwo file is found where the binary says");
	ok(debug_search_split(&w.q, "/etc/shadow") == -EPERM,
	   "a name that no compiler uses for .dwo files is not looked up");
	ok(!opens_split(&w, "/etc/own.dwo"), "for another root no .dwo file of ours is opened");
	ok(opens_split(&w, "/usr/lib/debug/c.dwo"),
	   "for another root .dwo files below our /usr/lib/debug are opened");
	ok(!opens_split(&w, "/usr/lib/debug/../../../etc/own.dwo"),
	   "a path below /usr/lib/debug cannot leave it");
	end(&w);
}

static void set_mode(const struct fake *root, const char *name, mode_t mode, uid_t uid)
{
	char path[PATH_MAX];

	must(chmod(fake_path(root, name, path), mode) == 0 && chown(path, uid, (gid_t)-1) == 0);
}

static void test_whose_files(void)
{
	struct test_world w;

	if (geteuid() != 0) {
		tap_skip("giving files to another user needs root");
		return;
	}
	begin(&w, BUILD_ID, 0);
	fake_write(&w.target, "secret.dwo", "x");
	put(&w.target, BY_ID, BUILD_ID, DWARF, "secret");
	set_mode(&w.target, "secret.dwo", 0640, 12345);
	set_mode(&w.target, BY_ID + 1, 0640, 12345);
	ok(!opens_split(&w, "/secret.dwo") && finds(&w, ""),
	   "a file readable only by another user is not used for a binary");
	set_mode(&w.target, "opt/app/prog", 0755, 12345);
	ok(opens_split(&w, "/secret.dwo") && finds(&w, "secret"),
	   "a file readable only by the binary's owner is used");
	set_mode(&w.target, "secret.dwo", 0600, 0);
	ok(!opens_split(&w, "/secret.dwo"),
	   "a file readable only by root is not used for another user's binary");
	set_mode(&w.target, "secret.dwo", 0644, 0);
	ok(opens_split(&w, "/secret.dwo"), "a world-readable file of root is used");
	set_mode(&w.target, "opt/app/prog", 0755, 0);
	set_mode(&w.target, "secret.dwo", 0644, 12345);
	ok(!opens_split(&w, "/secret.dwo"),
	   "another user's .dwo file is not used for root's binary");
	fake_unlink(&w.target, BY_ID + 1);
	put(&w.target, "/opt/app/prog.debug", BUILD_ID, DWARF, "planted");
	set_mode(&w.target, "opt/app/prog.debug", 0644, 12345);
	ok(finds(&w, ""), "another user's debug file beside root's binary is not used");
	put(&w.target, BY_ID, BUILD_ID, DWARF, "secret");
	set_mode(&w.target, BY_ID + 1, 0644, 12345);
	ok(finds(&w, "secret"), "below /usr/lib/debug of that root it is used");
	set_mode(&w.target, BY_ID + 1, 0640, 12345);
	w.q.is_own = true;
	ok(finds(&w, "secret"), "below our own /usr/lib/debug all files are used");
	end(&w);
}

int main(void)
{
	if (!fake_can_look_into_roots())
		return tap_done();
	test_order();
	test_symbols_do_not_end_it();
	test_belief();
	test_checksum();
	test_links_stay_inside();
	test_not_itself();
	test_alt();
	test_split();
	test_whose_files();
	return tap_done();
}
