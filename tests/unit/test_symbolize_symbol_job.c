/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses are resolved by a process that has nothing but the descriptors of its job: its reply has the
 * same bytes, and replies with wrong bytes are refused. test_symbolize_go_lines.c does the same for Go. */
#include <sys/auxv.h>

#include "dwarf_maker.h"
#include "forked_symbols.h"
#include "jit_maker.h"

static struct dwarf_maker maker;

/* The finished file; its code is at the same place in the file as in memory. */
static int file_of(struct elf_maker *m)
{
	static const char padding[2 * MAKER_CODE];
	int fd;

	m->phdrs[0].p_offset = MAKER_CODE;
	m->phdrs[0].p_filesz = 0x400;
	(void)maker_bytes(m, padding, sizeof(padding));
	maker_end(m);
	fd = jit_file(m->bytes, m->len);
	maker_done(m);
	return fd;
}

static struct symbol_job job_of(int fd, const struct symbol_item *items, uint32_t nr)
{
	struct symbol_job job = SYMBOL_JOB(SYMBOL_JOB_FILE);

	job.fd = fd;
	job.items = items;
	job.nr_items = nr;
	job.label = "file";
	return job;
}

static void test_dwarf(void)
{
	static const struct symbol_item items[] = { { .offset = 0x1050 },
						    { .offset = 0x1100 },
						    { .offset = 0x13f0 },
						    { .address = 0x77, .offset = 0x9000 } };
	_cleanup_(buf_done) struct buf bytes = BUF_INIT(0);
	struct sym_maker *syms = calloc(1, sizeof(*syms));
	struct symbol_reply reply;
	struct symbol_job job;
	struct elf_maker m;

	must(syms);
	make_plain_dwarf(&maker);
	make_dwarf_elf(&m, &maker);
	sym_add(syms, "other.cold", 0x1100, 0x40, STB_LOCAL, STT_FUNC, 1);
	sym_end(syms, &m, SHT_SYMTAB);
	job = job_of(file_of(&m), items, 4);
	ok(is_same_elsewhere(&job, &bytes),
	   "DWARF: a process with an empty root gives the same bytes");
	must(symbol_reply_read(&bytes, 4, &reply) == 0);
	ok(is_answer(&reply, 0,
		     "n::inner() /src/inc/util.h:31 < middle(int) /src/main.c:22 < outer "
		     "/src/main.c:12"),
	   "DWARF: the reply has inlined functions and lines");
	ok(is_answer(&reply, 1, "other.cold /src/main.c:41") &&
		   (reply.answers[1].flags & SYMBOL_IS_NAMED),
	   "DWARF: the reply has functions");
	ok(is_answer(&reply, 2, "0x13f0 :0") && reply.answers[2].flags == SYMBOL_IS_RAW,
	   "DWARF: an address without a symbol is raw");
	ok(is_answer(&reply, 3, "0x77 :0") && (reply.answers[3].flags & SYMBOL_IS_OUTSIDE),
	   "DWARF: an address outside the file's code is raw");
	symbol_reply_done(&reply);
	close(job.fd);
	free(syms);
}

/* ---- split DWARF ---- */

#define SPLIT_UNIT_BYTES 0x100u

static void begin_unit(struct bytes *info, size_t *ret_at)
{
	*ret_at = info->len;
	put(info, 0, 4); /* length, when it is known */
	put(info, 4, 2);
	put(info, 0, 4);
	put(info, 8, 1);
}

static void end_unit(struct bytes *info, size_t at)
{
	uint32_t n = (uint32_t)(info->len - at - 4);

	memcpy(info->at + at, &n, 4);
}

/* Skeletons of units with these .dwo files, one after the other in the code. */
static int skeletons(const char *const *paths, unsigned int nr)
{
	static const uint16_t attrs[] = { 0x2130, 0x08, 0x2131, 0x07, 0x11, 0x01, 0x12, 0x06, 0 };
	struct elf_maker m;
	size_t at;

	memset(&maker, 0, sizeof(maker));
	make_abbrev(&maker.abbrev, 1, 0x11, false, attrs);
	put(&maker.abbrev, 0, 1);
	for (unsigned int i = 0; i < nr; i++) {
		begin_unit(&maker.info, &at);
		put_uleb(&maker.info, 1);
		put_string(&maker.info, paths[i]);
		put(&maker.info, 0x1000 + i, 8);
		put(&maker.info, MAKER_CODE + i * SPLIT_UNIT_BYTES, 8);
		put(&maker.info, SPLIT_UNIT_BYTES, 4);
		end_unit(&maker.info, at);
	}
	make_dwarf_elf(&m, &maker);
	return file_of(&m);
}

/* The .dwo file of unit i: one function. */
static void write_dwo(const char *path, unsigned int i, const char *name)
{
	static const uint16_t unit[] = { 0x2131, 0x07, 0 };
	static const uint16_t function[] = { 0x03, 0x08, 0x11, 0x01, 0x12, 0x06, 0 };
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct elf_maker m;
	size_t at;

	memset(&maker, 0, sizeof(maker));
	make_abbrev(&maker.abbrev, 1, 0x11, true, unit);
	make_abbrev(&maker.abbrev, 2, 0x2e, false, function);
	put(&maker.abbrev, 0, 1);
	begin_unit(&maker.info, &at);
	put_uleb(&maker.info, 1);
	put(&maker.info, 0x1000 + i, 8);
	put_uleb(&maker.info, 2);
	put_string(&maker.info, name);
	put(&maker.info, MAKER_CODE + i * SPLIT_UNIT_BYTES, 8);
	put(&maker.info, SPLIT_UNIT_BYTES, 4);
	put(&maker.info, 0, 1);
	end_unit(&maker.info, at);
	maker_init(&m);
	maker_section(&m, ".debug_info.dwo", SHT_PROGBITS, 0, maker.info.at, maker.info.len);
	maker_section(&m, ".debug_abbrev.dwo", SHT_PROGBITS, 0, maker.abbrev.at, maker.abbrev.len);
	maker_end(&m);
	must(fd >= 0 && write(fd, m.bytes, m.len) == (ssize_t)m.len);
	close(fd);
	maker_done(&m);
}

static void test_split(void)
{
	static const struct symbol_item items[] = { { .offset = 0x1010 },
						    { .offset = 0x1020 },
						    { .offset = 0x1110 },
						    { .offset = 0x1210 } };
	_cleanup_(buf_done) struct buf bytes = BUF_INIT(0);
	char dir[] = "/tmp/perf-agent-split.XXXXXX", first[64], second[64], missing[64];
	struct symbol_reply reply;
	struct symbol_job job;

	must(mkdtemp(dir));
	snprintf(first, sizeof(first), "%s/a.dwo", dir);
	snprintf(second, sizeof(second), "%s/b.dwo", dir);
	snprintf(missing, sizeof(missing), "%s/c.dwo", dir);
	write_dwo(first, 0, "first");
	write_dwo(second, 1, "second");
	job = job_of(skeletons((const char *const[]){ first, second, missing }, 3), items, 4);
	job.has_split_files = true;
	ok(is_same_elsewhere(&job, &bytes),
	   "split DWARF: a process with an empty root gives the same bytes");
	ok(nr_requests == 4, "split DWARF: it asks for the .dwp and each .dwo once: %d",
	   nr_requests);
	must(symbol_reply_read(&bytes, 4, &reply) == 0);
	ok(is_answer(&reply, 0, "first :0") && is_answer(&reply, 1, "first :0") &&
		   is_answer(&reply, 2, "second :0"),
	   "split DWARF: the reply has the functions of the .dwo files");
	ok(is_answer(&reply, 3, "0x1210 :0") && reply.head->lines == WHY_SPLIT_MISSING,
	   "split DWARF: a .dwo file that is not available costs only its own functions");
	symbol_reply_done(&reply);
	close(job.fd);
	unlink(first);
	unlink(second);
	rmdir(dir);
}

/* ---- generated code ---- */

static void test_jit(void)
{
	static const char map[] = "1000 100 mapped\n5000 10 parents\n";
	static const struct symbol_item items[] = { { .address = 0x1010 },
						    { .address = 0x2010 },
						    { .address = 0x5004 },
						    { .address = 0x9000 } };
	struct jit_address addresses[] = {
		{ .addr = 0x9000 }, { .addr = 0x1010 }, { .addr = 0x5004 }, { .addr = 0x2010, 100 }
	};
	_cleanup_(buf_done) struct buf bytes = BUF_INIT(0);
	struct symbol_job job = SYMBOL_JOB(SYMBOL_JOB_JIT);
	static struct dump_maker dump;
	struct symbol_reply reply;

	dump_init(&dump, 0);
	dump_load(&dump, 50, 0x2000, 0x100, 1, "dumped");
	job.items = items;
	job.nr_items = 4;
	job.addresses = addresses;
	job.nr_addresses = 4;
	job.symbol_files[0] = JIT_SYMBOL_FILES(jit_file(map, 16), jit_file(dump.bytes, dump.len));
	job.symbol_files[1] = JIT_SYMBOL_FILES(jit_file(map, strlen(map)), -1);
	job.nr_symbol_files = 2;
	ok(is_same_elsewhere(&job, &bytes),
	   "perf map, jitdump: a process with an empty root gives the same bytes");
	must(symbol_reply_read(&bytes, 4, &reply) == 0);
	ok(is_answer(&reply, 0, "mapped :0") && is_answer(&reply, 1, "dumped :0") &&
		   is_answer(&reply, 2, "parents :0"),
	   "perf map, jitdump: the reply has the functions of the process and of its parent");
	ok(is_answer(&reply, 3, "0x9000 :0") && reply.head->jit_counts.nr_maps == 2 &&
		   reply.head->jit_counts.nr_dumps == 1,
	   "perf map, jitdump: the reply counts the files");
	symbol_reply_done(&reply);
	job.symbol_files[0].map_max_bytes = 0;
	ok(is_same_elsewhere(&job, &bytes) && symbol_reply_read(&bytes, 4, &reply) == 0 &&
		   reply.head->jit_counts.nr_maps_too_large == 1,
	   "perf map, jitdump: a file over the limits is not read, but counted");
	symbol_reply_done(&reply);
	close(job.symbol_files[0].map_fd);
	close(job.symbol_files[0].dump_fd);
	close(job.symbol_files[1].map_fd);
}

static void test_others(void)
{
	static const struct symbol_item items[] = { { .address = 0x1234, .offset = 0x800 } };
	_cleanup_(buf_done) struct buf raw = BUF_INIT(0), vdso = BUF_INIT(0);
	struct symbol_job job = SYMBOL_JOB(SYMBOL_JOB_RAW);
	struct symbol_run *run = NULL;
	struct symbol_reply reply;
	int fd = jit_file("no ELF", 6);

	job.items = items;
	job.nr_items = 1;
	job.label = "[vdso]";
	ok(is_same_elsewhere(&job, &raw) && symbol_reply_read(&raw, 1, &reply) == 0 &&
		   is_answer(&reply, 0, "0x1234 :0") && reply.head->is_raw,
	   "raw addresses need no files");
	symbol_reply_done(&reply);
	job.kind = SYMBOL_JOB_VDSO;
	if (getauxval(AT_SYSINFO_EHDR))
		ok(is_same_elsewhere(&job, &vdso), "vDSO: another process gives the same bytes");
	else
		tap_skip("vDSO: this process has none (valgrind hides it)");
	job.kind = SYMBOL_JOB_FILE;
	job.fd = fd;
	ok(symbol_run_new(&job, &(struct symbol_job_cancel){ 0 }, &run) == -ENOEXEC && !run,
	   "a file that is not ELF is an error");
	close(fd);
}

/* ---- the bytes ---- */

/* Reads everything that the reply refers to; a sanitizer sees what lies outside. */
static size_t read_all(const struct symbol_reply *r)
{
	size_t sum = 0;

	for (uint32_t i = 0; i < r->head->nr_answers; i++)
		for (uint32_t k = 0; k < r->answers[i].nr_frames; k++) {
			const struct symbol_reply_frame *f =
				&r->frames[r->answers[i].first_frame + k];

			sum += strlen(r->strings + f->name) + strlen(r->strings + f->system_name) +
			       strlen(r->strings + f->filename);
		}
	return sum;
}

static int read_copy(const struct buf *b, size_t n, size_t *ret_read)
{
	struct buf copy = BUF_INIT(n);
	struct symbol_reply reply;
	int r;

	must(buf_append(&copy, b->data, n) == 0);
	r = symbol_reply_read(&copy, 2, &reply);
	if (r == 0)
		*ret_read += read_all(&reply);
	symbol_reply_done(&reply);
	return r;
}

static void test_wrong_bytes(void)
{
	static const struct symbol_item items[] = { { .offset = 0x1050 }, { .offset = 0x1100 } };
	_cleanup_(buf_done) struct buf bytes = BUF_INIT(0);
	size_t nr_short = 0, nr_refused = 0, nr_read = 0;
	struct symbol_job job;
	struct elf_maker m;

	make_plain_dwarf(&maker);
	make_dwarf_elf(&m, &maker);
	job = job_of(file_of(&m), items, 2);
	must(run_symbols(&job, open_here, -1, &bytes) == 0);
	close(job.fd);
	for (size_t n = 0; n < bytes.len; n++)
		nr_short += read_copy(&bytes, n, &nr_read) == -EBADMSG;
	ok(nr_short == bytes.len, "all %zu truncated replies are refused", bytes.len);
	for (size_t i = 0; i < bytes.len; i++) {
		bytes.data[i] ^= (char)0x80;
		nr_refused += read_copy(&bytes, bytes.len, &nr_read) < 0;
		bytes.data[i] ^= (char)0x80;
	}
	ok(nr_refused > 50 && nr_read > 0,
	   "of %zu replies with a wrong byte %zu are refused, and the others can be read",
	   bytes.len, nr_refused);
	nr_read = 0;
	must(read_copy(&bytes, bytes.len, &nr_read) == 0 && nr_read > 0);
}

int main(void)
{
	if (!can_empty_root()) {
		tap_skip("needs root or user namespaces, to have an empty root directory");
	} else {
		test_dwarf();
		test_split();
		test_jit();
		test_others();
	}
	test_wrong_bytes();
	rmdir(empty_root);
	return tap_done();
}
