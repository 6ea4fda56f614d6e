/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/interpreter.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/bisect.h"
#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "inject/memory_elf.h"
#include "inject/python_tools.h"
#include "inject/thread_state.h"
#include "proc/procfs.h"

#define MAX_CACHED (1u << 16)
#define MAX_FILES 1024 /* mapped by one process */
#define SEARCH_MAX_BYTES (48u << 20)
#define SEARCH_CHUNK_BYTES (256u << 10)
#define FIRST_VERSION 0x030c0000         /* 3.12 */
#define DEBUG_OFFSETS_VERSION 0x030d0000 /* 3.13: the runtime begins with its own layout */

struct mapped_file {
	uint64_t start, end, offset, key;
	bool is_exec, is_first_page, is_libc;
};

struct search {
	const struct python_tools *tools;
	pid_t pid;
	struct mapped_file *files; /* owned */
	uint32_t nr, cap;
	bool is_python_by_name; /* of the program */
	uid_t uid;
};

static uint64_t file_seed;

static void make_seed(void)
{
	file_seed = hash_new_seed(&file_seed);
}

uint64_t interpreter_file_key(uint32_t major, uint32_t minor, uint64_t inode)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const uint64_t parts[2] = { (uint64_t)major << 32 | minor, inode };

	(void)pthread_once(&once, make_seed);
	return hash_bytes_seeded(file_seed, parts, sizeof(parts));
}

void interpreter_cache_done(struct interpreter_cache *c)
{
	free(c->items);
	*c = (struct interpreter_cache){ 0 };
}

static uint32_t cache_place(const struct interpreter_cache *c, uint64_t key, uid_t uid)
{
	return BISECT(i, c->nr,
		      c->items[i].key < key || (c->items[i].key == key && c->items[i].uid < uid));
}

static bool cache_has(const struct interpreter_cache *c, uint64_t key, uid_t uid)
{
	uint32_t at = cache_place(c, key, uid);

	return at < c->nr && c->items[at].key == key && c->items[at].uid == uid;
}

bool interpreter_cache_has(const struct interpreter_cache *c, uint64_t key)
{
	return cache_has(c, key, 0);
}

static void add_to_cache(struct interpreter_cache *c, uint64_t key, uid_t uid)
{
	uint32_t at = cache_place(c, key, uid);

	if (cache_has(c, key, uid) || ARRAY_RESERVE(c->items, c->cap, c->nr + 1, MAX_CACHED) < 0)
		return;
	memmove(&c->items[at + 1], &c->items[at], (c->nr - at) * sizeof(*c->items));
	c->items[at] = (struct interpreter_no){ key, uid };
	c->nr++;
}

static int note_file(void *ctx, const struct maps_entry *e)
{
	struct search *s = ctx;
	const char *name = strrchr(e->path, '/');
	bool is_vdso = strcmp(e->path, "[vdso]") == 0;

	if ((!e->inode && !is_vdso) || (e->offset && !e->is_exec) || s->nr == MAX_FILES)
		return 0;
	if (ARRAY_RESERVE(s->files, s->cap, s->nr + 1, MAX_FILES) < 0)
		return -ENOMEM;
	name = name ? name + 1 : e->path;
	s->files[s->nr++] = (struct mapped_file){
		.start = e->start,
		.end = e->end,
		.offset = e->offset,
		.key = interpreter_file_key(e->major, e->minor, e->inode),
		.is_exec = e->is_exec,
		.is_first_page = e->inode && !e->offset,
		.is_libc = is_vdso || strncmp(name, "libc.", 5) == 0 ||
			   strncmp(name, "libc-", 5) == 0 || strncmp(name, "ld-", 3) == 0,
	};
	return 0;
}

static int read_memory(void *ctx, uint64_t addr, void *to, size_t n)
{
	const struct search *s = ctx;
	ssize_t r = cancel_is_asked(s->tools->over)
			    ? -ETIMEDOUT
			    : procfs_read_mem(s->tools->procfs, s->pid, addr, to, n);

	return r < 0 ? (int)r : (size_t)r == n ? 0 : -EFAULT;
}

static int find_code(const struct memory_elf *e, const char *name, uint64_t *ret_addr)
{
	uint64_t size;

	return memory_elf_find(e, name, ret_addr, &size);
}

/* The fields of _PyRuntimeState (Include/internal/pycore_runtime.h). 3.12 begins with five ints, of
 * which the last is `initialized`, and then has a pointer, `_finalizing`. Later ones begin with
 * _Py_DebugOffsets, which says where `_finalizing` is; the fields before it are the same. */
static int find_fields(struct search *s, struct interpreter *in)
{
	uint64_t offsets[5]; /* cookie, version, free-threaded, size of the runtime, finalizing */
	uint64_t finalizing = 24;

	if (in->version >= DEBUG_OFFSETS_VERSION) {
		int r = read_memory(s, in->runtime, offsets, sizeof(offsets));

		if (r < 0)
			return r;
		if (memcmp(offsets, "xdebugpy", 8) != 0 || offsets[4] < 24 ||
		    offsets[4] > offsets[3])
			return -ENOENT;
		finalizing = offsets[4];
	}
	in->finalizing = in->runtime + finalizing;
	in->initialized = in->finalizing - 8;
	return 0;
}

static enum interpreter_result find_symbols(struct search *s, const struct memory_elf *e,
					    struct interpreter *in)
{
	uint64_t unused, size, version_addr, version = 0;
	const struct {
		const char *name;
		uint64_t *addr;
	} wanted[] = {
		{ "_PyEval_AddPendingCall", &in->add_pending_call },
		{ "PyInterpreterState_Main", &in->interpreter_main },
		{ "PySys_GetObject", &in->get_object },
		{ "PyObject_CallFunction", &in->call_function },
		{ "PyObject_IsTrue", &in->is_true },
		{ "Py_DecRef", &in->dec_ref },
		{ "PyErr_Clear", &in->clear_error },
	};

	if (find_code(e, "Py_AddPendingCall", &unused) < 0)
		return INTERPRETER_NONE;
	if (find_code(e, "Py_Version", &version_addr) < 0 ||
	    read_memory(s, version_addr, &version, sizeof(version)) < 0 || version < FIRST_VERSION)
		return INTERPRETER_TOO_OLD;
	in->version = (uint32_t)version;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		if (find_code(e, wanted[i].name, wanted[i].addr) < 0)
			return INTERPRETER_NO_SYMBOLS;
	if (memory_elf_find(e, "_PyEval_EvalFrameDefault", &in->eval_loop, &size) < 0)
		return INTERPRETER_NO_SYMBOLS;
	in->eval_loop_end = in->eval_loop + size;
	if (memory_elf_find(e, "_PyRuntime", &in->runtime, &size) < 0 || find_fields(s, in) < 0)
		return INTERPRETER_NO_SYMBOLS;
	in->runtime_end = in->runtime + size;
	if (find_code(e, "_Py_trampoline_func_start", &unused) < 0)
		return INTERPRETER_NO_TRAMPOLINE;
	return INTERPRETER_FOUND;
}

static uint64_t find_bytes(const uint8_t *in, size_t n, const struct code_pattern *p)
{
	for (size_t at = 0; at + p->n <= n; at += p->align)
		if (memcmp(in + at, p->bytes, p->n) == 0)
			return at;
	return UINT64_MAX;
}

static void search_code(struct search *s, const struct mapped_file *f, uint64_t *left,
			struct interpreter *in)
{
	_cleanup_(freep) uint8_t *bytes = malloc(SEARCH_CHUNK_BYTES);

	for (uint64_t at = f->start; bytes && at < f->end && *left >= SEARCH_CHUNK_BYTES &&
				     !cancel_is_asked(s->tools->over);
	     at += SEARCH_CHUNK_BYTES - 16) {
		size_t want = f->end - at < SEARCH_CHUNK_BYTES ? f->end - at : SEARCH_CHUNK_BYTES;
		ssize_t n = procfs_read_mem(s->tools->procfs, s->pid, at, bytes, want);
		uint64_t found;

		*left -= SEARCH_CHUNK_BYTES;
		if (n <= 0)
			return;
		found = find_bytes(bytes, (size_t)n, &thread_syscall_code);
		if (!in->syscall_code && found != UINT64_MAX)
			in->syscall_code = at + found;
		found = find_bytes(bytes, (size_t)n, &thread_sigreturn_code);
		if (!in->sigreturn_code && found != UINT64_MAX)
			in->sigreturn_code = at + found;
		if (in->syscall_code && in->sigreturn_code)
			return;
	}
}

/* The C library and the vDSO first: they have both. */
static bool find_return(struct search *s, struct interpreter *in)
{
	uint64_t left = SEARCH_MAX_BYTES;

	for (int is_libc = 1; is_libc >= 0; is_libc--)
		for (uint32_t i = 0; i < s->nr; i++)
			if (s->files[i].is_exec && s->files[i].is_libc == is_libc &&
			    !(in->syscall_code && in->sigreturn_code))
				search_code(s, &s->files[i], &left, in);
	return in->syscall_code && in->sigreturn_code;
}

/* Whether code of the file is mapped at all: an interpreter's is. */
static bool has_code(const struct search *s, uint64_t key)
{
	for (uint32_t i = 0; i < s->nr; i++)
		if (s->files[i].is_exec && s->files[i].key == key)
			return true;
	return false;
}

/* Whether its code is mapped where its headers say, so that what they say of its symbols is true too. A file
 * that is mapped to be read as a whole has them elsewhere. */
static bool is_loaded(const struct search *s, const struct memory_elf *e, uint64_t key)
{
	for (uint32_t i = 0; i < s->nr; i++) {
		const struct mapped_file *f = &s->files[i];

		if (f->is_exec && f->key == key && f->start == e->code_addr &&
		    f->offset == e->code_offset)
			return true;
	}
	return false;
}

static enum interpreter_result look_at_file(struct search *s, const struct mapped_file *f,
					    struct interpreter_cache *cache, struct interpreter *in)
{
	const struct memory memory = { read_memory, s };
	enum interpreter_result result = INTERPRETER_NONE;
	struct memory_elf e;
	int r = memory_elf_open(&memory, f->start, &e);

	if (r == -ENOTSUP)
		return INTERPRETER_32_BIT;
	if (r == 0)
		result = find_symbols(s, &e, in);
	if (r == 0 && result == INTERPRETER_NONE && is_loaded(s, &e, f->key) &&
	    !cancel_is_asked(s->tools->over)) /* else not everything was read */
		add_to_cache(cache, f->key, s->uid);
	return result;
}

static enum interpreter_result look_at_files(struct search *s, struct interpreter_cache *cache,
					     struct interpreter *in)
{
	for (uint32_t i = 0; i < s->nr; i++) {
		const struct mapped_file *f = &s->files[i];
		enum interpreter_result result;

		if (!f->is_first_page || !has_code(s, f->key) || cache_has(cache, f->key, 0) ||
		    cache_has(cache, f->key, s->uid))
			continue;
		result = look_at_file(s, f, cache, in);
		if (result != INTERPRETER_NONE)
			return result;
	}
	return s->is_python_by_name ? INTERPRETER_NO_SYMBOLS : INTERPRETER_NONE;
}

int interpreter_find(const struct python_tools *tools, pid_t pid,
		     struct interpreter *ret_interpreter)
{
	const struct procfs *procfs = tools->procfs;
	struct search s = { .tools = tools, .pid = pid };
	struct interpreter in = { 0 };
	enum interpreter_result result;
	struct proc_status status;
	char program[4096];
	int r = procfs_maps(procfs, pid, note_file, &s, NULL);

	if (r == 0 && procfs_program(procfs, pid, program, sizeof(program)) == 0) {
		const char *name = strrchr(program, '/');

		s.is_python_by_name = name && strncmp(name, "/python", 7) == 0;
	}
	s.uid = procfs_status(procfs, pid, &status) == 0 ? status.euid : PROC_NO_USER;
	result = r < 0 ? INTERPRETER_NONE : look_at_files(&s, tools->cache, &in);
	if (result == INTERPRETER_FOUND && !find_return(&s, &in))
		result = INTERPRETER_NO_CODE;
	free(s.files);
	if (r == 0 && cancel_is_asked(tools->over))
		r = -EHOSTDOWN;
	if (r < 0)
		return r;
	*ret_interpreter = in;
	return (int)result;
}

bool interpreter_is_up(const struct procfs *procfs, pid_t pid, const struct interpreter *in)
{
	struct {
		int32_t initialized, padding;
		uint64_t finalizing;
	} now;

	_Static_assert(sizeof(now) == 16, "the two fields as they lie in the runtime");
	return procfs_read_mem(procfs, pid, in->initialized, &now, sizeof(now)) == sizeof(now) &&
	       now.initialized == 1 && !now.finalizing;
}
