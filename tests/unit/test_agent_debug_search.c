/* SPDX-License-Identifier: Apache-2.0 */
/* Where debug files are found, in what order, and which of them are believed. */
#include "agent/debug_search.h"

#include <errno.h>
#include <zlib.h>

#include "agent/crc_cache.h"
#include "elf_maker.h"
#include "fake_proc.h"

#define BUILD_ID "\xab\xcd\xef"
#define BY_ID "/usr/lib/debug/.build-id/ab/cdef.debug"

enum content { NOTHING, SYMBOLS, DWARF };

struct world {
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
static void begin(struct world *w, const char *build_id, uint32_t crc)
{
	char link[16] = "prog.debug", path[PATH_MAX];

	*w = (struct world){ 0 };
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

static void end(struct world *w)
{
	elf_image_free(w->image);
	maker_done(&w->binary);
	close(w->q.fd);
	fake_done(&w->target);
	fake_done(&w->own);
}

/* The mark of the file that is found, or "" */
static const char *search(struct world *w)
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

static bool finds(struct world *w, const char *mark)
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
	struct world w;

	begin(&w, BUILD_ID, 0);
	ok(finds(&w, ""), "nowhere is nothing");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		put(&w.own, places[i].path, BUILD_ID, DWARF, "own");
		ok(finds(&w, places[i].is_in_own ? "own" : before), "a file %s is %s in our root",
		   places[i].name, places[i].is_in_own ? "found" : "not looked for");
		put(&w.target, places[i].path, BUILD_ID, DWARF, places[i].name);
		ok(finds(&w, places[i].name), "and before that found in the target's");
		before = places[i].name;
	}
	w.q.root = -1;
	ok(finds(&w, "own"), "where the target's root is not known, ours has what is below "
			     "/usr/lib/debug");
	fake_unlink(&w.own, BY_ID + 1);
	fake_unlink(&w.own, "usr/lib/debug/opt/app/prog.debug");
	ok(finds(&w, ""), "and nothing else");
	w.q.root = w.own.procfs.fd;
	w.q.is_own = true;
	ok(finds(&w, "own"), "for a process in our own root, all of it is searched");
	end(&w);
}

static void test_symbols_do_not_end_it(void)
{
	struct world w;

	begin(&w, BUILD_ID, 0);
	put(&w.target, BY_ID, BUILD_ID, SYMBOLS, "symbols");
	ok(finds(&w, "symbols"), "a file with nothing but symbols is better than none");
	put(&w.own, "/usr/lib/debug/opt/app/prog.debug", BUILD_ID, DWARF, "dwarf");
	ok(finds(&w, "dwarf"), "but does not end the search for lines");
	fake_unlink(&w.own, "usr/lib/debug/opt/app/prog.debug");
	put(&w.own, BY_ID, BUILD_ID, NOTHING, "nothing");
	ok(finds(&w, "symbols"), "a file with neither is no find");
	end(&w);
}

static void test_belief(void)
{
	struct world w;

	begin(&w, BUILD_ID, crc_of("\xab\xcd\xee", DWARF, "other"));
	put(&w.target, BY_ID, "\xab\xcd\xee", DWARF, "other");
	put(&w.target, "/opt/app/prog.debug", "\xab\xcd\xee", DWARF, "other");
	ok(finds(&w, ""), "a file with another build-id is not believed, whatever its checksum");
	ok(w.stats.nr_other_build_id == 2, "which is counted");
	put(&w.target, "/opt/app/.debug/prog.debug", NULL, DWARF, "none");
	ok(finds(&w, ""), "nor is one without a build-id, if the binary has one");
	put_foreign(&w.target, BY_ID);
	ok(finds(&w, ""), "nor one for another machine");
	fake_write(&w.target, "opt/app/prog.debug", "no ELF file");
	put(&w.own, BY_ID, BUILD_ID, DWARF, "good");
	ok(finds(&w, "good"), "what is bad does not end the search");
	end(&w);
}

static void test_checksum(void)
{
	struct world w;

	begin(&w, NULL, crc_of(NULL, DWARF, "right"));
	put(&w.target, "/opt/app/prog.debug", NULL, DWARF, "wrong");
	ok(finds(&w, "") && w.stats.nr_bad_crc == 1,
	   "without a build-id another checksum is not believed");
	put(&w.target, "/opt/app/.debug/prog.debug", NULL, DWARF, "right");
	ok(finds(&w, "right"), "and the right one is");
	end(&w);
}

/* Links in the target's root stay inside of it. */
static void test_links_stay_inside(void)
{
	char outside[PATH_MAX];
	struct world w;

	begin(&w, BUILD_ID, 0);
	w.q.own_root = -1;
	put(&w.own, "/secret", BUILD_ID, DWARF, "outside");
	fake_link(&w.target, BY_ID + 1, fake_path(&w.own, "secret", outside));
	ok(finds(&w, ""), "a link that leads out of the root is not followed");
	put(&w.target, "/real", BUILD_ID, DWARF, "inside");
	fake_link(&w.target, BY_ID + 1, "/real");
	ok(finds(&w, "inside"), "one that stays inside is");
	w.q.path = "memfd:x";
	fake_unlink(&w.target, BY_ID + 1);
	put(&w.target, "/prog.debug", BUILD_ID, DWARF, "nowhere");
	ok(finds(&w, ""), "what has no folder has no debuglink");
	end(&w);
}

static void test_not_itself(void)
{
	char path[PATH_MAX];
	struct world w;

	begin(&w, BUILD_ID, 0);
	put(&w.target, "/opt/app/prog.debug", BUILD_ID, DWARF, "itself");
	close(w.q.fd);
	w.q.fd = open(fake_path(&w.target, "opt/app/prog.debug", path), O_RDONLY | O_CLOEXEC);
	must(w.q.fd >= 0);
	ok(finds(&w, ""), "a binary is not its own debug file");
	end(&w);
}

static bool finds_alt(struct world *w, const char *path, const char *from)
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
	struct world w;

	begin(&w, BUILD_ID, 0);
	put(&w.target, "/usr/lib/debug/.dwz/x.debug", "\1\2\3", DWARF, "dwz");
	ok(finds_alt(&w, "/usr/lib/debug/.dwz/x.debug", NULL), "dwz's file is where its link says");
	ok(finds_alt(&w, "../../.dwz/x.debug", BY_ID), "also seen from the debug file");
	ok(finds_alt(&w, "/elsewhere/x.debug", NULL), "or in .dwz by its name");
	ok(!finds_alt(&w, "../.dwz/y.debug", NULL), "a path from nowhere leads nowhere");
	put(&w.own, "/usr/lib/debug/.build-id/01/0203.debug", "\1\2\3", DWARF, "dwz");
	ok(finds_alt(&w, "../.dwz/y.debug", NULL), "by build-id it is found all the same");
	fake_unlink(&w.own, "usr/lib/debug/.build-id/01/0203.debug");
	put(&w.own, "/usr/lib/debug/.dwz/arch/v.debug", "\1\2\3", DWARF, "dwz");
	ok(finds_alt(&w, "../../.dwz/arch/v.debug", BY_ID), "a path upwards holds in our root too");
	ok(!finds_alt(&w, "../../../../../etc/v.debug", BY_ID), "below /usr/lib/debug");
	put(&w.target, "/z.debug", "\1\2\4", DWARF, "other");
	ok(!finds_alt(&w, "/z.debug", NULL), "one with another build-id is not believed");
	end(&w);
}

static bool opens_split(const struct world *w, const char *path)
{
	_cleanup_(closep) int fd = debug_search_split(&w->q, path);

	return fd >= 0;
}

/* A binary may name any file of the machine. */
static void test_split(void)
{
	struct world w;

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
	   "split debug information is where the binary says");
	ok(debug_search_split(&w.q, "/etc/shadow") == -EPERM,
	   "what no compiler calls so is not even looked up");
	ok(!opens_split(&w, "/etc/own.dwo"), "in our own root nothing is opened that it names");
	ok(opens_split(&w, "/usr/lib/debug/c.dwo"), "but what is below /usr/lib/debug");
	ok(!opens_split(&w, "/usr/lib/debug/../../../etc/own.dwo"), "and stays there");
	end(&w);
}

static void set_mode(const struct fake *root, const char *name, mode_t mode, uid_t uid)
{
	char path[PATH_MAX];

	must(chmod(fake_path(root, name, path), mode) == 0 && chown(path, uid, (gid_t)-1) == 0);
}

static void test_whose_files(void)
{
	struct world w;

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
	   "what only another user may read is not read for a binary that names it");
	set_mode(&w.target, "opt/app/prog", 0755, 12345);
	ok(opens_split(&w, "/secret.dwo") && finds(&w, "secret"), "but if the binary is his too");
	set_mode(&w.target, "secret.dwo", 0600, 0);
	ok(!opens_split(&w, "/secret.dwo"), "nor is what only root may read, for a binary of his");
	set_mode(&w.target, "secret.dwo", 0644, 0);
	ok(opens_split(&w, "/secret.dwo"), "what everybody may read and root has made is");
	set_mode(&w.target, "opt/app/prog", 0755, 0);
	set_mode(&w.target, "secret.dwo", 0644, 12345);
	ok(!opens_split(&w, "/secret.dwo"),
	   "what anybody else has put there for root's binary is not");
	fake_unlink(&w.target, BY_ID + 1);
	put(&w.target, "/opt/app/prog.debug", BUILD_ID, DWARF, "planted");
	set_mode(&w.target, "opt/app/prog.debug", 0644, 12345);
	ok(finds(&w, ""), "nor is a debug file of his beside it");
	put(&w.target, BY_ID, BUILD_ID, DWARF, "secret");
	set_mode(&w.target, BY_ID + 1, 0644, 12345);
	ok(finds(&w, "secret"), "below /usr/lib/debug of that root it is");
	set_mode(&w.target, BY_ID + 1, 0640, 12345);
	w.q.is_own = true;
	ok(finds(&w, "secret"), "below our own /usr/lib/debug all is ours to read");
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
