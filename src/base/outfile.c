/* SPDX-License-Identifier: Apache-2.0 */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "base/capabilities.h"
#include "base/clock.h"
#include "base/outpath.h"
#include "base/path.h"
#include "base/quiet_write.h"

#define OUTFILE_MAX_UNIQUE 10000     /* numbered names to try before giving up */
#define OUTFILE_MAX_HIDDEN 100       /* random names to try; more collisions cannot be chance */
#define OUTFILE_MAX_WRITE 0x10000000 /* bytes per call; the kernel's own limit is 2 GiB */
#define OUTFILE_WAIT_MS 100          /* how often a blocked write checks for cancellation */
#define HIDDEN_SIZE 40
#define SPOOL_BYTES (64u << 10) /* are passed on at a time */

struct outfile {
	char *path;               /* owned: as given; with `unique`, the name chosen at the end */
	struct outpath at;        /* owned: the final path, symbolic links resolved */
	char *shown;              /* owned: the name used in error messages */
	char hidden[HIDDEN_SIZE]; /* temporary name in dir; "": the file has none */
	int fd;
	pa_write_fn write; /* takes the bytes instead of fd; NULL: none */
	void *write_ctx;
	int spool_fd; /* owned: memory that has all bytes until the end; -1: none */
	bool is_in_place;
	bool is_unique;
	bool is_private;
	bool replaces;  /* a regular file with the final name existed at open */
	bool has_modes; /* the file system accepted our first chmod() */
	bool may_block; /* write() may block waiting for a reader, and cannot be made non-blocking */
	bool (*is_cancelled)(void *ctx); /* NULL: cannot be cancelled */
	void *cancel_ctx;
	uid_t owner; /* final owner */
	mode_t mode; /* final mode */
	int failed;  /* errno of the first failed write; such a file is never committed */
	bool is_committed;
	uint64_t size_bytes;
};

struct outfile *outfile_free(struct outfile *f)
{
	if (!f)
		return NULL;
	if (f->hidden[0])
		(void)unlinkat(f->at.dir_fd, f->hidden, 0); /* no one is left to report to */
	closep(&f->fd);
	closep(&f->spool_fd);
	outpath_done(&f->at);
	free(f->path);
	free(f->shown);
	free(f);
	return NULL;
}

const char *outfile_path(const struct outfile *f)
{
	return f->path;
}

uint64_t outfile_size(const struct outfile *f)
{
	return f->size_bytes;
}

bool outfile_is_committed(const struct outfile *f)
{
	return f->is_committed;
}

bool outfile_is_same(const struct outfile *a, const struct outfile *b)
{
	struct stat dir_a, dir_b;

	if (a->is_in_place || b->is_in_place || a->is_unique || b->is_unique ||
	    strcmp(a->at.name, b->at.name) != 0)
		return false;
	return fstat(a->at.dir_fd, &dir_a) == 0 && fstat(b->at.dir_fd, &dir_b) == 0 &&
	       dir_a.st_dev == dir_b.st_dev && dir_a.st_ino == dir_b.st_ino;
}

static int no_memory(struct pa_error *err)
{
	return error_set(err, ENOMEM, "cannot write a file: out of memory");
}

static int explain_refusal(const struct outfile *f, const char *dir, struct pa_error *err)
{
	if (f->at.is_refused)
		return error_set(err, EACCES,
				 "cannot write %s: '%s' is a %s of user %u in a directory that "
				 "others may write, and is not used: choose another path",
				 f->shown, dir, outpath_kind(&f->at.st),
				 (unsigned int)f->at.st.st_uid);
	return error_set(err, EACCES,
			 "cannot write %s: no permission to create it in '%s': choose another path "
			 "or run as a user who may",
			 f->shown, dir);
}

/* Explains why the file cannot be created here. */
static int explain_path(const struct outfile *f, int code, struct pa_error *err)
{
	const char *dir = f->at.dir.data && f->at.dir.data[0] ? f->at.dir.data : ".";
	const char *shown = f->shown;
	char text[128];

	switch (code) {
	case ENOENT:
		return error_set(err, code,
				 "cannot write %s: no such directory '%s': create it or choose "
				 "another path",
				 shown, dir);
	case ENOTDIR:
		return error_set(err, code,
				 "cannot write %s: '%s' is not a directory: choose another path",
				 shown, dir);
	case EACCES:
	case EPERM:
		return explain_refusal(f, dir, err);
	case EROFS:
		return error_set(err, code,
				 "cannot write %s: '%s' is on a read-only file system: choose "
				 "another path",
				 shown, dir);
	case ESTALE:
		return error_set(err, code,
				 "cannot write %s: the directory '%s' has been deleted: choose "
				 "another path",
				 shown, dir);
	case EOPNOTSUPP:
		return error_set(err, code,
				 "cannot write %s: the file system of '%s' does not allow creating "
				 "files: choose another path",
				 shown, dir);
	case EISDIR:
		return error_set(err, code, "cannot write %s: it is a directory: add a file name",
				 shown);
	case ENAMETOOLONG:
		return error_set(err, code, "cannot write %s: the name is too long", shown);
	case ENOSPC:
		return error_set(err, code, "cannot write %s: the disk of '%s' is full", shown,
				 dir);
	default:
		return error_set(err, code, "cannot write %s: %s", shown,
				 strerror_r(code, text, sizeof(text)));
	}
}

/* What a failed write leaves behind, as text for the message. */
static const char *aftermath(const struct outfile *f)
{
	if (f->is_in_place)
		return "what was written before stays";
	return f->replaces ? "the old file is unchanged" : "nothing was left under that name";
}

/* A callback that takes nothing would be called forever, and one that takes too much has not understood. */
static int bad_answer(struct outfile *f, ssize_t taken, size_t n, struct pa_error *err)
{
	f->failed = EIO;
	if (taken == 0)
		return error_set(err, EIO,
				 "cannot write: the write callback took none of %zu bytes; it must "
				 "take at least one, or return a negative errno",
				 n);
	if (taken > 0)
		return error_set(
			err, EIO,
			"cannot write: the write callback says that it took %zd bytes, but "
			"got only %zu",
			taken, n);
	return error_set(
		err, EIO,
		"cannot write: the write callback returned %zd, which is not an errno that "
		"ends writing; it is not called again",
		taken);
}

static int write_failed(struct outfile *f, int code, struct pa_error *err)
{
	char text[128];

	f->failed = code;
	if (!f->is_in_place)
		(void)!ftruncate(f->fd, 0); /* frees the space for others */
	switch (code) {
	case ENOSPC:
		return error_set(err, code, "disk full while writing %s: %s", f->shown,
				 aftermath(f));
	case EDQUOT:
		return error_set(err, code, "disk quota used up while writing %s: %s", f->shown,
				 aftermath(f));
	case EFBIG:
		return error_set(err, code, "%s passes the file size limit (ulimit -f): %s",
				 f->shown, aftermath(f));
	case EPIPE:
		return error_set(err, code, "cannot write %s: its reader is gone", f->shown);
	case ECANCELED:
		return error_set(err, code, "writing %s was cancelled: %s", f->shown, aftermath(f));
	default:
		return error_set(err, code, "cannot write %s: %s: %s", f->shown,
				 strerror_r(code, text, sizeof(text)), aftermath(f));
	}
}

/* Called before a FIFO is opened, which would block until it has a reader. */
static int refuse_stream(const struct outfile *f, struct pa_error *err)
{
	return error_set(err, ESPIPE,
			 "cannot write %s: this output needs a regular file: choose another path",
			 f->shown);
}

static int open_in_place(struct outfile *f, struct pa_error *err)
{
	char text[128];
	int fd = outpath_open_special(&f->at);

	if (fd == -EISDIR) /* the replacement of a closed descriptor is also a directory */
		return error_set(err, EISDIR, "cannot write %s: that file descriptor is not open",
				 f->shown);
	if (fd < 0)
		return error_set(err, -fd, "cannot write %s: %s", f->shown,
				 strerror_r(-fd, text, sizeof(text)));
	f->fd = fd;
	f->is_in_place = true;
	/* This open file description is ours, so the flag affects no other process. */
	f->may_block = fcntl(f->fd, F_SETFL, O_APPEND | O_NONBLOCK) < 0;
	return 0;
}

static void new_hidden_name(char name[HIDDEN_SIZE])
{
	uint64_t number;

	/* Only uniqueness is needed, and the kernel checks it. */
	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = clock_mono_ns();
	(void)snprintf(name, HIDDEN_SIZE, ".perf-agent-%016" PRIx64 ".tmp", number);
}

static void path_of_fd(int fd, char path[HIDDEN_SIZE])
{
	(void)snprintf(path, HIDDEN_SIZE, "/proc/self/fd/%d", fd);
}

/* Standard output is shared with other processes, which do not expect O_NONBLOCK: a pipe or a
 * terminal is reopened. */
static void unshare_stdout(struct outfile *f)
{
	char proc[HIDDEN_SIZE];
	struct stat st;
	int fd;

	if (fstat(f->fd, &st) < 0 || S_ISREG(st.st_mode))
		return;
	path_of_fd(f->fd, proc);
	fd = open(proc, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	f->may_block = fd < 0;
	if (fd < 0)
		return;
	close(f->fd);
	f->fd = fd;
}

static int open_stdout(struct outfile *f, struct pa_error *err)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	/* A descriptor open only for reading would be reopened for writing below. */
	if (flags >= 0 && !(flags & O_PATH) && (flags & O_ACCMODE) != O_RDONLY)
		f->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (f->fd < 0)
		return error_set(err, EBADF,
				 "cannot write standard output: it is closed: choose a path");
	f->is_in_place = true;
	unshare_stdout(f);
	return 0;
}

/* An unnamed file (O_TMPFILE) cannot be left behind. Not every file system supports it, and linking
 * it needs procfs. */
static int open_nameless(struct outfile *f)
{
	char proc[HIDDEN_SIZE];
	int fd = openat(f->at.dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);

	if (fd < 0)
		return -errno;
	path_of_fd(fd, proc);
	if (access(proc, F_OK) < 0) {
		close(fd);
		return -EOPNOTSUPP;
	}
	f->fd = fd;
	return 0;
}

static int open_hidden(struct outfile *f)
{
	char name[HIDDEN_SIZE];

	for (int i = 0; i < OUTFILE_MAX_HIDDEN; i++) {
		new_hidden_name(name);
		f->fd = openat(f->at.dir_fd, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
		if (f->fd >= 0) {
			memcpy(f->hidden, name, sizeof(name));
			return 0;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

/*
 * The file was created with mode 0666 minus the umask (or the directory's default ACL). That is its
 * final mode, obtained without touching the umask, which is process-wide.
 */
static int set_first_mode(struct outfile *f)
{
	struct stat st;

	if (fstat(f->fd, &st) < 0)
		return -errno;
	f->mode = st.st_mode & 0777;
	f->has_modes = fchmod(f->fd, 0600) == 0;
	return 0;
}

/* For a file that exists, procfs reports ENOENT and sysfs EPERM. */
static int creation_failed(const struct outfile *f, int r)
{
	bool is_refused = r == -EACCES || r == -EPERM;

	if (r == -ENOENT ||
	    (is_refused && faccessat(f->at.dir_fd, ".", W_OK | X_OK, AT_EACCESS) == 0))
		return -EOPNOTSUPP;
	return r;
}

/* Detects a final name that is too long, which creating an unnamed file does not. */
static int look_at_name(struct outfile *f)
{
	struct stat st;

	if (fstatat(f->at.dir_fd, f->at.name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	f->replaces = !f->is_unique;
	return 0;
}

static int make_file(struct outfile *f)
{
	int r = look_at_name(f);

	if (r < 0)
		return r;
	r = open_nameless(f);
	if (r == -EOPNOTSUPP || r == -EISDIR || r == -EINVAL)
		r = open_hidden(f);
	if (r < 0)
		return creation_failed(f, r);
	return set_first_mode(f);
}

static int open_beside(struct outfile *f, const struct outfile_options *opts, struct pa_error *err)
{
	int r = make_file(f);

	if (r < 0)
		return explain_path(f, -r, err);
	f->owner = geteuid();
	if (!opts || !opts->set_owner)
		return 0;
	if (fchown(f->fd, opts->uid, opts->gid) < 0)
		return error_set(err, errno, "cannot give %s to user %u: only root may", f->shown,
				 (unsigned int)opts->uid);
	f->owner = opts->uid;
	return 0;
}

static int open_path(struct outfile *f, const struct outfile_options *opts, struct pa_error *err)
{
	_cleanup_(capabilities_raise) struct capabilities held = CAPABILITIES_HELD;
	struct outpath_options where = { .is_new = f->is_unique };
	int r = capabilities_lower(&held);

	if (r < 0)
		return error_set(err, -r, "cannot write %s without capabilities", f->shown);
	if (opts && opts->set_owner) {
		where.has_friend = true;
		where.friend = opts->uid;
	}
	r = outpath_resolve(f->path, &where, &f->at);

	if (r < 0)
		return explain_path(f, -r, err);
	if (f->at.is_special && opts && opts->is_patched)
		return refuse_stream(f, err);
	return f->at.is_special ? open_in_place(f, err) : open_beside(f, opts, err);
}

/* shown: for messages; NULL: the path, in quotes. */
static struct outfile *new_file(const char *path, const char *shown,
				const struct outfile_options *opts)
{
	_cleanup_(outfile_freep) struct outfile *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->fd = f->spool_fd = -1;
	f->at = OUTPATH_NONE; /* from here outfile_free() is safe */
	f->is_unique = opts && opts->unique;
	f->is_private = opts && opts->is_private;
	f->is_cancelled = opts ? opts->is_cancelled : NULL;
	f->cancel_ctx = opts ? opts->cancel_ctx : NULL;
	f->path = strdup(path);
	if (asprintf(&f->shown, shown ? "%s" : "'%s'", shown ? shown : path) < 0)
		f->shown = NULL; /* asprintf() leaves it undefined */
	return f->path && f->shown ? TAKE(f) : NULL;
}

int outfile_open(const char *path, const struct outfile_options *opts, struct outfile **ret_file,
		 struct pa_error *err)
{
	bool is_stdout = strcmp(path, "-") == 0;
	_cleanup_(outfile_freep) struct outfile *f = NULL;
	int r;

	if (!*path)
		return error_set(err, EINVAL, "cannot write: the path is empty: choose one");
	f = new_file(path, is_stdout ? "standard output" : NULL, opts);
	if (!f)
		return no_memory(err);
	if (is_stdout && opts && opts->is_patched)
		return refuse_stream(f, err);
	r = is_stdout ? open_stdout(f, err) : open_path(f, opts, err);
	if (r < 0)
		return r;
	*ret_file = TAKE(f);
	return 0;
}

/* The description is shared with the caller: its flags stay as they are. */
static int share_fd(struct outfile *f, int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0)
		return -errno;
	if (flags & O_PATH || (flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	f->fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (f->fd < 0 || fstat(f->fd, &st) < 0)
		return -errno;
	f->may_block = !S_ISREG(st.st_mode) && !(flags & O_NONBLOCK);
	return 0;
}

int outfile_open_target(const struct outfile_target *target, const struct outfile_options *opts,
			struct outfile **ret_file, struct pa_error *err)
{
	_cleanup_(outfile_freep) struct outfile *f = NULL;
	char name[HIDDEN_SIZE] = "a callback", text[128];
	int r;

	if (!target->write)
		(void)snprintf(name, sizeof(name), "file descriptor %d", target->fd);
	f = new_file(name, name, opts);
	if (!f)
		return no_memory(err);
	f->is_in_place = true;
	f->write = target->write;
	f->write_ctx = target->ctx;
	r = target->write ? 0 : share_fd(f, target->fd);
	if (r == 0 && opts && opts->is_patched) {
		f->spool_fd = memfd_create("perf-agent-output", MFD_CLOEXEC);
		r = f->spool_fd < 0 ? -errno : 0;
	}
	if (r < 0)
		return error_set(err, -r, "cannot write to %s: %s", name,
				 strerror_r(-r, text, sizeof(text)));
	*ret_file = TAKE(f);
	return 0;
}

/* Waits for a while; whatever poll() reports, the next write() reports more precisely. */
static bool wait_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, OUTFILE_WAIT_MS) > 0;
}

/* Passes bytes to the callback. */
static ssize_t pass_on(struct outfile *f, const char *bytes, size_t n, struct pa_error *err)
{
	ssize_t taken = f->write(f->write_ctx, bytes, n);

	if (taken == 0 || taken > (ssize_t)n || taken < -ERROR_MAX_ERRNO || taken == -EAGAIN ||
	    taken == -EINTR)
		return bad_answer(f, taken, n, err);
	return taken;
}

/* Writes as much as possible now; -EAGAIN: nothing. A pipe that poll() reports as writable accepts
 * PIPE_BUF bytes without blocking (pipe(7)). */
static ssize_t write_some(struct outfile *f, const char *bytes, size_t n, struct pa_error *err)
{
	size_t most = f->may_block ? PIPE_BUF : OUTFILE_MAX_WRITE;
	ssize_t done;

	if (f->write)
		return pass_on(f, bytes, n, err);
	if (f->may_block && !wait_writable(f->fd))
		return -EAGAIN;
	done = write_quietly(f->fd, bytes, n < most ? n : most);
	if (done >= 0)
		return done;
	if (errno != EAGAIN)
		return -errno;
	(void)wait_writable(f->fd);
	return -EAGAIN;
}

static int write_all(struct outfile *f, const void *bytes, size_t n, struct pa_error *err)
{
	const char *at = bytes;

	while (n) {
		ssize_t done;

		if (f->is_cancelled && f->is_cancelled(f->cancel_ctx))
			return write_failed(f, ECANCELED, err);
		done = write_some(f, at, n, err);
		if (done < 0 && done != -EAGAIN && done != -EINTR)
			return write_failed(f, (int)-done, err);
		if (done <= 0)
			continue;
		at += done;
		n -= (size_t)done;
		f->size_bytes += (uint64_t)done;
	}
	return 0;
}

static int spool(struct outfile *f, const void *bytes, size_t n, struct pa_error *err)
{
	const char *at = bytes;

	while (n) {
		ssize_t done = write(f->spool_fd, at, n);

		if (done < 0 && errno != EINTR)
			return write_failed(f, errno, err);
		if (done < 0)
			continue;
		at += done;
		n -= (size_t)done;
		f->size_bytes += (uint64_t)done;
	}
	return 0;
}

int outfile_write(struct outfile *f, const void *bytes, size_t n, struct pa_error *err)
{
	return f->spool_fd < 0 ? write_all(f, bytes, n, err) : spool(f, bytes, n, err);
}

static int pass_on_spool(struct outfile *f, struct pa_error *err)
{
	_cleanup_(freep) char *bytes = malloc(SPOOL_BYTES);
	int r = bytes ? 0 : write_failed(f, ENOMEM, err);
	ssize_t n = 1;

	f->size_bytes = 0;
	for (off_t at = 0; r == 0 && n; at += n) {
		n = pread(f->spool_fd, bytes, SPOOL_BYTES, at);
		r = n < 0 ? write_failed(f, errno, err) : write_all(f, bytes, (size_t)n, err);
	}
	return r;
}

/* Network file systems report a full disk at close(), so sync while the error can still be
 * reported. */
static int flush_file(struct outfile *f)
{
	int fd = fcntl(f->fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (close(fd) < 0 && errno != EINTR)
		return -errno;
	return 0;
}

/* A replaced file passes on its mode only if the mode is ours: not one that another user created
 * before us, and not one reached by a hard link to, or a rename of, a file of ours. */
static bool keeps_mode(const struct outfile *f, const struct stat *old)
{
	if (!S_ISREG(old->st_mode))
		return false;
	if (f->at.is_shared && (old->st_nlink > 1 || !f->at.keeps_names))
		return false;
	return old->st_uid == geteuid() || old->st_uid == f->owner;
}

static void set_final_mode(struct outfile *f)
{
	struct stat st;

	if (f->is_private)
		return; /* it has been private since it was created */
	if (!f->is_unique && fstatat(f->at.dir_fd, f->at.name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    keeps_mode(f, &st))
		f->mode = st.st_mode & 0777;
	/* A file that remains private is better than no file. */
	if (f->has_modes)
		(void)fchmod(f->fd, f->mode);
}

/* Links the unnamed file to a name that must be free. */
static int link_as(struct outfile *f, const char *name)
{
	char proc[HIDDEN_SIZE];

	path_of_fd(f->fd, proc);
	if (linkat(AT_FDCWD, proc, f->at.dir_fd, name, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	return 0;
}

static int link_hidden(struct outfile *f)
{
	char name[HIDDEN_SIZE];
	int r = -EEXIST;

	for (int i = 0; i < OUTFILE_MAX_HIDDEN && r == -EEXIST; i++) {
		new_hidden_name(name);
		r = link_as(f, name);
	}
	if (r == 0)
		memcpy(f->hidden, name, sizeof(name));
	return r;
}

static int name_replacing(struct outfile *f)
{
	int r;

	if (!f->hidden[0]) {
		r = link_as(f, f->at.name);
		if (r != -EEXIST)
			return r;
		r = link_hidden(f);
		if (r < 0)
			return r;
	}
	if (renameat(f->at.dir_fd, f->hidden, f->at.dir_fd, f->at.name) < 0)
		return -errno;
	f->hidden[0] = '\0';
	return 0;
}

static int rename_if_free(struct outfile *f, const char *name)
{
	if (renameat2(f->at.dir_fd, f->hidden, f->at.dir_fd, name, RENAME_NOREPLACE) < 0) {
		if (errno != EINVAL && errno != ENOSYS)
			return -errno;
		/* For file systems that cannot link unnamed files; outfile_free() removes the
		 * temporary name. */
		if (linkat(f->at.dir_fd, f->hidden, f->at.dir_fd, name, 0) < 0)
			return -errno;
		return 0;
	}
	f->hidden[0] = '\0';
	return 0;
}

/* "dir/comm-1.pb.gz" for "dir/comm.pb.gz"; number 0 is the path itself. */
static char *numbered_path(const char *path, int number)
{
	size_t stem = (size_t)(path_name(path) - path);
	char *numbered;

	if (number == 0)
		return strdup(path);
	stem += strcspn(path + stem, ".");
	if (asprintf(&numbered, "%.*s-%d%s", (int)stem, path, number, path + stem) < 0)
		return NULL;
	return numbered;
}

static int name_unique(struct outfile *f)
{
	for (int i = 0; i < OUTFILE_MAX_UNIQUE; i++) {
		_cleanup_(freep) char *path = numbered_path(f->path, i);
		int r;

		if (!path)
			return -ENOMEM;
		r = f->hidden[0] ? rename_if_free(f, path_name(path)) : link_as(f, path_name(path));
		if (r == -EEXIST)
			continue;
		if (r < 0)
			return r;
		free(f->path);
		f->path = TAKE(path);
		return 0;
	}
	return -EEXIST;
}

static int give_name(struct outfile *f)
{
	_cleanup_(capabilities_raise) struct capabilities held = CAPABILITIES_HELD;
	int r = capabilities_lower(&held);

	if (r < 0)
		return r;
	set_final_mode(f);
	return f->is_unique ? name_unique(f) : name_replacing(f);
}

bool outfile_can_patch(const struct outfile *f)
{
	return !f->is_in_place || f->spool_fd >= 0;
}

int outfile_patch(struct outfile *f, uint64_t offset, const void *bytes, size_t n,
		  struct pa_error *err)
{
	int fd = f->spool_fd < 0 ? f->fd : f->spool_fd;
	const char *at = bytes;

	if (!outfile_can_patch(f) || offset > f->size_bytes || n > f->size_bytes - offset)
		return write_failed(f, ESPIPE, err);
	while (n) {
		ssize_t done = pwrite(fd, at, n, (off_t)offset);

		if (done < 0 && errno != EINTR)
			return write_failed(f, errno, err);
		if (done < 0)
			continue;
		at += done;
		offset += (uint64_t)done;
		n -= (size_t)done;
	}
	return 0;
}

int outfile_commit(struct outfile *f, struct pa_error *err)
{
	int r;

	if (f->failed)
		return write_failed(f, f->failed, err);
	r = f->spool_fd < 0 ? 0 : pass_on_spool(f, err);
	if (r < 0)
		return r;
	r = f->fd < 0 ? 0 : flush_file(f);
	if (r < 0)
		return write_failed(f, -r, err);
	r = f->is_in_place ? 0 : give_name(f);
	if (r < 0)
		return explain_path(f, -r, err);
	closep(&f->fd);
	f->fd = -1;
	f->is_committed = true;
	return 0;
}
