/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/procfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/auxvec.h>
#include <sys/personality.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/open_dir.h"
#include "proc/file_open.h"
#include "proc/payer.h"
#include "proc/procfs_internal.h"
#include "proc/text_accounts.h"

#define SMALL_FILE_SIZE 4096 /* of comm and stat: the kernel writes at most a few hundred bytes */
#define MAX_TRIED_THREADS 64 /* exited threads are soon gone, unless they are traced */
#define TASK_IS_EXITING 4    /* the kernel's PF_EXITING */
#define STATUS_MAX_BYTES (2u << 20) /* the file may list 65,536 groups */

int procfs_open(const char *root, struct procfs *ret_procfs)
{
	_cleanup_(closep) int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(freep) struct wait_accounts *waits = malloc(sizeof(*waits));
	_cleanup_(freep) struct text_accounts *texts = malloc(sizeof(*texts));
	_cleanup_(freep) struct unanswered *u = malloc(sizeof(*u));
	struct reader *reader;
	int r;

	if (fd < 0)
		return -errno;
	r = u && waits && texts ? reader_new(fd, NULL, &reader) : -ENOMEM;
	if (r < 0)
		return r;
	unanswered_init(u);
	wait_accounts_init(waits, NULL);
	text_accounts_init(texts);
	*ret_procfs = (struct procfs){ .fd = TAKE_FD(fd),
				       .reader = reader,
				       .unanswered = TAKE(u),
				       .waits = TAKE(waits),
				       .texts = TAKE(texts) };
	return 0;
}

void procfs_close(struct procfs *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	p->reader = reader_free(p->reader);
	if (p->unanswered)
		unanswered_done(p->unanswered);
	free(p->unanswered);
	p->unanswered = NULL;
	if (p->waits)
		wait_accounts_done(p->waits);
	free(p->waits);
	p->waits = NULL;
	if (p->texts)
		text_accounts_done(p->texts);
	free(p->texts);
	p->texts = NULL;
}

void procfs_set_hurry(struct procfs *p, const struct cancel *hurry)
{
	p->waits->hurry = *hurry;
}

bool procfs_is_in_a_hurry(const struct procfs *p)
{
	return p->waits->hurry.is_asked && p->waits->hurry.is_asked(p->waits->hurry.ctx);
}

bool procfs_has_pid(const struct procfs *p, pid_t pid)
{
	char path[PID_PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%d", (int)pid);
	return faccessat(p->fd, path, F_OK, 0) == 0;
}

/* ---- through which thread, and for whom ---- */

/* The owner of the directory: the effective user, even of a process that cannot be traced. */
static bool find_owner(const struct procfs *p, pid_t pid, uid_t *ret_uid)
{
	char path[PID_PATH_SIZE];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%d", (int)pid);
	if (fstatat(p->fd, path, &st, 0) < 0)
		return false;
	*ret_uid = st.st_uid;
	return true;
}

/* 0 if unknown. */
static uid_t owner_of(const struct procfs *p, pid_t pid)
{
	uid_t uid;

	return find_owner(p, pid, &uid) ? uid : 0;
}

int procfs_payer(const struct procfs *p, pid_t pid, uint64_t *ret_payer)
{
	uid_t uid;

	if (!find_owner(p, pid, &uid))
		return -ESRCH;
	*ret_payer = uid == 0 ? PAYER_ROOT : payer_of(p, pid, uid);
	return 0;
}

static void report_slow_user(const struct procfs *p, pid_t pid, uint64_t user)
{
	char what[64];

	(void)snprintf(what, sizeof(what), "one of many slow files of user %" PRIu64, user);
	unanswered_report(p->unanswered, pid, what);
}

int procfs_ask_pid(const struct procfs *p, pid_t pid, enum wait_kind kind,
		   struct procfs_ask *ret_ask)
{
	struct procfs_ask ask = { .pid = pid, .kind = kind };
	int r;

	if (pid <= 0)
		return -EINVAL;
	ask.uid = owner_of(p, pid);
	ask.payer = p->waits->is_clean ? ask.uid : payer_of(p, pid, ask.uid);
	if (unanswered_has_pid(p->unanswered, pid))
		return -ETIMEDOUT;
	r = wait_accounts_ask(p->waits, ask.payer, kind, &ask.wait);
	if (r == -EDQUOT)
		report_slow_user(p, pid, ask.payer);
	if (r < 0)
		return -ETIMEDOUT;
	*ret_ask = ask;
	return 0;
}

/* As long as no one was charged, the payer was not determined. For a process that has gone, its
 * user is charged. */
static void charge_wait(const struct procfs *p, const struct procfs_ask *ask)
{
	if (!ask->wait.slept_ns)
		return;
	wait_accounts_charge(p->waits,
			     p->waits->is_clean ? payer_of(p, ask->pid, ask->uid) : ask->payer,
			     ask->kind, ask->wait.slept_ns);
}

int procfs_answer_pid(const struct procfs *p, const struct procfs_ask *ask, const char *what, int r)
{
	charge_wait(p, ask);
	if (r == -ETIMEDOUT)
		unanswered_note_pid(p->unanswered, ask->pid, what);
	else if (ask->wait.is_device_spent)
		unanswered_report(p->unanswered, ask->pid, what);
	return r == -ENOENT && !procfs_has_pid(p, ask->pid) ? -ESRCH : r;
}

uint64_t procfs_slept_ns(const struct procfs *p)
{
	return wait_accounts_total_ns(p->waits);
}

uint64_t procfs_nr_unanswered(const struct procfs *p)
{
	uint64_t nr;

	pthread_mutex_lock(&p->unanswered->lock);
	nr = p->unanswered->nr;
	pthread_mutex_unlock(&p->unanswered->lock);
	return nr;
}

bool procfs_unanswered(const struct procfs *p, uint32_t nr, struct unanswered_item *ret_item)
{
	bool is_there;

	pthread_mutex_lock(&p->unanswered->lock);
	is_there = nr < p->unanswered->nr_items;
	if (is_there)
		*ret_item = p->unanswered->items[nr];
	pthread_mutex_unlock(&p->unanswered->lock);
	return is_there;
}

/* Memory may belong to a mapped file, and reading it may block like reading the file. */
static enum wait_kind kind_of(const char *name)
{
	static const char *const of_memory[] = { "mem", "cmdline", "environ" };

	for (size_t i = 0; i < sizeof(of_memory) / sizeof(of_memory[0]); i++)
		if (strcmp(name, of_memory[i]) == 0)
			return WAIT_FILE;
	return WAIT_TEXT;
}

static int read_of(const struct procfs *p, pid_t pid, const char *name, uint64_t offset,
		   uint64_t max_bytes, struct buf *to)
{
	char path[PID_PATH_SIZE];
	struct procfs_ask ask;
	int r = procfs_ask_pid(p, pid, kind_of(name), &ask);

	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "%d/%s", (int)pid, name);
	r = reader_read(p->reader, path, offset, max_bytes, &ask.wait, to);
	return procfs_answer_pid(p, &ask, name, r);
}

/* Memory, and what a process has mapped, is read through another thread if the first has exited.
 * The files of the first thread are then empty or, since Linux 6.15, cannot be opened. */
static int read_at(const struct procfs *p, pid_t pid, const char *name, uint64_t offset,
		   uint64_t max_bytes, struct buf *to)
{
	size_t len_before = to->len;
	int r = read_of(p, pid, name, offset, max_bytes, to);
	pid_t thread;

	if ((r < 0 && r != -ESRCH) || to->len > len_before ||
	    (kind_of(name) != WAIT_FILE && strcmp(name, "auxv") != 0))
		return r;
	thread = procfs_other_thread(p, pid);
	return thread ? read_of(p, thread, name, offset, max_bytes, to) : r;
}

int procfs_read(const struct procfs *p, pid_t pid, const char *name, size_t max_bytes,
		struct buf *to)
{
	return read_at(p, pid, name, 0, max_bytes, to);
}

/* The payer for text about a process. */
static uint64_t text_payer(const struct procfs *p, pid_t pid)
{
	return payer_of(p, pid, owner_of(p, pid));
}

static uint64_t max_maps_bytes(const struct procfs *p, pid_t pid)
{
	bool is_root = owner_of(p, pid) == 0;

	if (is_root)
		return PROC_MAX_MAPS_BYTES + 1ull;
	if (text_accounts_are_clean(p->texts))
		return TEXT_FREE_BYTES + TEXT_USER_BYTES;
	return text_accounts_max_bytes(p->texts, text_payer(p, pid));
}

/* Charges what was read; an incomplete list ends with its last complete line. */
static void charge_maps(const struct procfs *p, pid_t pid, uint64_t max_bytes, struct buf *text)
{
	bool is_over_limit = text->len >= max_bytes;
	const char *end;

	if (max_bytes > PROC_MAX_MAPS_BYTES || (text->len <= TEXT_FREE_BYTES && !is_over_limit))
		return;
	if (text_accounts_charge(p->texts, text_payer(p, pid), text->len, is_over_limit))
		unanswered_report(p->unanswered, pid,
				  "the rest of its mappings, which are too many for one user,");
	if (!is_over_limit)
		return;
	end = memrchr(text->data, '\n', text->len);
	text->len = end ? (size_t)(end - text->data) + 1 : 0;
}

int procfs_maps(const struct procfs *p, pid_t pid, maps_entry_fn fn, void *ctx, uint64_t *nr_bad)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(PROC_MAX_MAPS_BYTES);
	uint64_t nr_bad_here = 0, max_bytes = max_maps_bytes(p, pid);
	int r = read_at(p, pid, "maps", 0, max_bytes, &text);

	if (r < 0)
		return r;
	charge_maps(p, pid, max_bytes, &text);
	if (text.len)
		r = maps_parse(text.data, text.len, fn, ctx, &nr_bad_here);
	if (nr_bad)
		*nr_bad += nr_bad_here;
	return r;
}

/* Reads at most size bytes; returns their number, or a negative errno. */
static ssize_t read_small(const struct procfs *p, pid_t pid, const char *name, uint64_t offset,
			  char *to, size_t size)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(size);
	int r = read_at(p, pid, name, offset, size, &text);

	if (r < 0)
		return r;
	if (text.len)
		memcpy(to, text.data, text.len);
	return (ssize_t)text.len;
}

/* As read_small(), without a reader, for files that neither wait for locks of the process nor hold
 * its memory. */
static ssize_t read_direct(const struct procfs *p, pid_t pid, const char *name, char *to,
			   size_t size)
{
	_cleanup_(closep) int fd = -1;
	char path[PID_PATH_SIZE];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%d/%s", (int)pid, name);
	fd = openat(p->fd, path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -errno : read(fd, to, size);
	if (fd < 0)
		return n == -ENOENT && !procfs_has_pid(p, pid) ? -ESRCH : n;
	return n < 0 ? -errno : n;
}

int procfs_comm(const struct procfs *p, pid_t pid, char ret_comm[PROC_COMM_SIZE])
{
	char text[SMALL_FILE_SIZE];
	ssize_t n = read_direct(p, pid, "comm", text, sizeof(text));
	size_t len;

	if (n < 0)
		return (int)n;
	len = (size_t)n;
	if (len > 0 && text[len - 1] == '\n') /* only the last one: a name may contain newlines */
		len--;
	if (len > PROC_COMM_SIZE - 1)
		len = PROC_COMM_SIZE - 1;
	memcpy(ret_comm, text, len);
	memset(ret_comm + len, 0, PROC_COMM_SIZE - len);
	return 0;
}

static ssize_t read_program(const struct procfs *p, pid_t pid, char *path, size_t size)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "%d/exe", (int)pid);
	return readlinkat(p->fd, name, path, size); /* needs no lock of the process */
}

int procfs_program(const struct procfs *p, pid_t pid, char *ret_path, size_t size)
{
	ssize_t n = read_program(p, pid, ret_path, size);
	pid_t thread = n < 0 && errno == ENOENT ? procfs_other_thread(p, pid) : 0;

	if (thread)
		n = read_program(p, thread, ret_path, size);
	if (n < 0)
		return -errno;
	if ((size_t)n >= size)
		return -ENAMETOOLONG;
	ret_path[n] = '\0';
	ret_path[path_len_bare(ret_path)] = '\0';
	return 0;
}

static pid_t pid_of_name(const char *name)
{
	unsigned long value = 0;

	if (name[0] == '0')
		return 0;
	for (; *name; name++) {
		if (*name < '0' || *name > '9')
			return 0;
		value = value * 10 + (unsigned long)(*name - '0');
		if (value > INT_MAX)
			return 0;
	}
	return (pid_t)value;
}

/* Calls fn for every number in a directory. */
static int each_number(const struct procfs *p, const char *path, proc_pid_fn fn, void *ctx)
{
	_cleanup_(dirclosep) DIR *dir = NULL;
	int r = open_dir_at(p->fd, path, 0, &dir);

	while (r == 0) {
		struct dirent *e;
		pid_t pid;

		errno = 0;
		e = readdir(dir);
		if (!e)
			return -errno;
		pid = pid_of_name(e->d_name);
		r = pid > 0 ? fn(ctx, pid) : 0;
	}
	return r;
}

int procfs_each_pid(const struct procfs *p, proc_pid_fn fn, void *ctx)
{
	return each_number(p, ".", fn, ctx);
}

struct thread_search {
	const struct procfs *procfs;
	pid_t pid, found;
	uint32_t nr_tried;
};

static int try_thread(void *ctx, pid_t tid)
{
	struct thread_search *s = ctx;
	ssize_t n;
	char first;

	if (tid == s->pid)
		return 0;
	n = read_small(s->procfs, tid, "maps", 0, &first, 1);
	if (n == 1)
		s->found = tid;
	return n == 1 || n == -ETIMEDOUT || ++s->nr_tried == MAX_TRIED_THREADS;
}

pid_t procfs_live_thread(const struct procfs *p, pid_t pid)
{
	struct thread_search s = { .procfs = p, .pid = pid };
	char path[PID_PATH_SIZE];

	(void)snprintf(path, sizeof(path), "%d/task", (int)pid);
	(void)each_number(p, path, try_thread, &s); /* if the process is gone, no thread is found */
	return s.found;
}

pid_t procfs_other_thread(const struct procfs *p, pid_t pid)
{
	struct proc_status st;

	return procfs_status(p, pid, &st) == 0 && st.is_over ? procfs_live_thread(p, pid) : 0;
}

/* Field nr after the name, the first being field 3. Numbers only; false if it is missing. */
static bool stat_field(const char *after_name, int nr, uint64_t *ret_value)
{
	const char *s = after_name;

	for (int i = 3; i <= nr; i++) {
		s = strchr(s, ' ');
		if (!s)
			return false;
		s++;
	}
	if (*s < '0' || *s > '9')
		return false;
	*ret_value = strtoull(s, NULL, 10);
	return true;
}

int procfs_stat(const struct procfs *p, pid_t pid, struct proc_stat *ret_stat)
{
	char text[SMALL_FILE_SIZE + 1];
	ssize_t n = read_small(p, pid, "stat", 0, text, sizeof(text) - 1);
	struct proc_stat st = { 0 };
	const char *paren;
	uint64_t ppid, flags;

	if (n < 0)
		return (int)n;
	text[n] = '\0';
	paren = memrchr(text, ')', (size_t)n);
	if (!paren || !stat_field(paren, 4, &ppid) || ppid > INT_MAX)
		return -EBADMSG;
	st.ppid = (pid_t)ppid;
	if (!stat_field(paren, 22, &st.start_ticks))
		st.start_ticks = 0;
	st.is_exiting = stat_field(paren, 9, &flags) && (flags & TASK_IS_EXITING);
	*ret_stat = st;
	return 0;
}

int procfs_status(const struct procfs *p, pid_t pid, struct proc_status *ret_status)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT(STATUS_MAX_BYTES);
	int r = read_at(p, pid, "status", 0, STATUS_MAX_BYTES + 1ull, &text);

	if (r < 0)
		return r;
	return text.len ? status_parse(text.data, text.len, ret_status) : -EBADMSG;
}

ssize_t procfs_read_mem(const struct procfs *p, pid_t pid, uint64_t addr, void *to, size_t n)
{
	return read_small(p, pid, "mem", addr, to, n);
}

int auxv_parse(const void *bytes, size_t n, uint64_t wanted, uint64_t *ret_value)
{
	struct cursor c = cursor_of(bytes, n);

	for (;;) {
		uint64_t type = cursor_u64(&c), value = cursor_u64(&c);

		if (c.bad || type == AT_NULL)
			return -ENOENT;
		if (type == wanted) {
			*ret_value = value;
			return 0;
		}
	}
}

/* Without address randomisation, two programs may have all their addresses in common. */
static bool is_randomised(const struct procfs *p, pid_t pid)
{
	char text[SMALL_FILE_SIZE];
	ssize_t n = read_small(p, pid, "personality", 0, text, sizeof(text) - 1);
	_cleanup_(closep) int fd = -1;

	text[n > 0 ? n : 0] = '\0';
	if (n > 0 && (strtoul(text, NULL, 16) & ADDR_NO_RANDOMIZE))
		return false;
	fd = openat(p->fd, "sys/kernel/randomize_va_space", O_RDONLY | O_CLOEXEC);
	return fd < 0 || read(fd, text, 1) != 1 || text[0] != '0';
}

bool procfs_has_same_exec(const struct procfs *p, pid_t a, pid_t b)
{
	char of_a[SMALL_FILE_SIZE], of_b[SMALL_FILE_SIZE];
	ssize_t n_a = read_small(p, a, "auxv", 0, of_a, sizeof(of_a));
	ssize_t n_b = n_a > 0 ? read_small(p, b, "auxv", 0, of_b, sizeof(of_b)) : -1;
	uint64_t addr;

	return n_a == n_b && memcmp(of_a, of_b, (size_t)n_a) == 0 &&
	       auxv_parse(of_a, (size_t)n_a, AT_RANDOM, &addr) == 0 && is_randomised(p, a) &&
	       is_randomised(p, b);
}

int procfs_parent(const struct procfs *p, pid_t pid, pid_t *ret_ppid)
{
	struct proc_stat st;
	int r = procfs_stat(p, pid, &st);

	if (r == 0)
		*ret_ppid = st.ppid;
	return r;
}
