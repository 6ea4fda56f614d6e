/* SPDX-License-Identifier: Apache-2.0 */
#include "debugfiles/debug_files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/capabilities.h"
#include "base/error.h"
#include "base/log.h"
#include "base/path.h"
#include "debugfiles/crc_cache.h"
#include "debugfiles/foreign.h"
#include "elf/elf_image.h"
#include "proc/filestore.h"
#include "proc/roots.h"

#define URLS_MAX_BYTES (64u << 10)

/* The result of asking servers for a build-id. */
struct fetched {
	struct build_id id;
	enum fetch_result result;
	int fd; /* owned; -1: not held open */
};

struct debug_files {
	const struct filestore *files; /* borrowed */
	const struct log *log;         /* borrowed */
	struct fetcher *fetcher;       /* owned; NULL: nothing can be fetched */
	bool is_configured, fail_closed;
	bool is_interrupted; /* files were not requested, or not waited for */
	struct pa_error problem;
	/* Written only by debug_files_fetch(); sorted by ID. */
	struct fetched *fetched; /* owned */
	uint32_t nr_fetched, cap_fetched;

	pthread_mutex_t lock; /* protects stats */
	struct debug_stats stats;
	struct crc_cache crcs; /* has its own lock */
};

/* Why a file has no lines, according to the servers. */
static const struct {
	const char *why, *advice;
} misses[NR_FETCH_RESULTS] = {
	[FETCH_NOT_FOUND] = { "it is stripped, and the debuginfod servers do not know it",
			      "install its debug package, or name another server by "
			      "pa_options.debuginfod_urls" },
	[FETCH_REMEMBERED] = { "it is stripped, and the debuginfod servers did not have it "
			       "recently",
			       "install its debug package, or name another server by "
			       "pa_options.debuginfod_urls" },
	[FETCH_TIMEOUT] = { "it is stripped, and the debuginfod servers did not answer in time",
			    "try again, or with a longer pa_options.symbol_fetch_timeout_ns" },
	[FETCH_TOO_LARGE] = { "it is stripped, and its debug file is larger than the cache may be",
			      "raise pa_options.symbol_cache_max_bytes" },
	[FETCH_WRONG_FILE] = { "it is stripped, and the debuginfod server sent another file",
			       "name another server by pa_options.debuginfod_urls" },
	[FETCH_NO_SPACE] = { "it is stripped, and its debug file does not fit on the disk",
			     "make room, or give another pa_options.symbol_cache_dir" },
	[FETCH_SERVER_FAILED] = { "it is stripped, and no debuginfod server could be asked",
				  "check pa_options.debuginfod_urls and the network" },
	[FETCH_SKIPPED] = { "it is stripped, and the debuginfod servers had stopped answering",
			    "try again, or with a longer pa_options.symbol_fetch_timeout_ns" },
	[FETCH_GIVEN_UP] = { "it is stripped, and the debuginfod servers had taken too long over "
			     "other files",
			     "try again, or with a longer pa_options.symbol_fetch_timeout_ns" },
	[FETCH_UNAVAILABLE] = { "it is stripped, and its debug information could not be requested",
				"see the line about debuginfod" },
	[FETCH_INTERRUPTED] = { "it is stripped, and its debug information was not waited for",
				"let the run fetch, or give a shorter "
				"pa_options.symbol_fetch_timeout_ns" },
	[FETCH_NO_CLIENT] = { "it is stripped, and libdebuginfod, which fetches debug files, is "
			      "not installed",
			      "install it (apt install libdebuginfod1)" },
};

void debug_set_done(struct debug_set *s)
{
	debug_file_done(&s->debug);
	debug_file_done(&s->alt);
}

static int read_build_id(void *ctx, int fd, struct build_id *ret_id)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	int r = elf_image_open_fd(fd, &img);

	if (r == 0)
		*ret_id = *elf_image_build_id(img);
	return r;
}

static int join_urls(const struct debug_config *cfg, struct buf *to)
{
	int r = 0;

	for (size_t i = 0; i < cfg->nr_urls && r == 0; i++)
		r = buf_printf(to, "%s%s", i ? " " : "", cfg->urls[i]);
	return r == 0 ? buf_append(to, "", 1) : r;
}

/* Fails only if out of memory. The caller names the cache: it is opened with their own privileges.
 * */
static int open_fetcher(struct debug_files *d, const struct debug_config *cfg)
{
	_cleanup_(capabilities_raise) struct capabilities held = CAPABILITIES_HELD;
	_cleanup_(buf_done) struct buf urls = BUF_INIT(URLS_MAX_BYTES);
	struct fetcher_config fc = { .cache_dir = cfg->cache_dir,
				     .cache_max_bytes = cfg->cache_max_bytes,
				     .timeout_ns = cfg->timeout_ns,
				     .program = cfg->program,
				     .build_id_of = read_build_id,
				     .progress = cfg->progress,
				     .ctx = cfg->progress_ctx,
				     .log = d->log };
	int r = capabilities_lower(&held);

	if (r == 0)
		r = join_urls(cfg, &urls);
	if (r == 0 && !cfg->cache_dir)
		r = error_set(
			&d->problem, ENOENT,
			"no cache directory is known; give one by pa_options.symbol_cache_dir");
	if (r == 0) {
		fc.urls = urls.data;
		r = fetcher_new(&fc, &d->fetcher, &d->problem);
	}
	if (r == 0 || r == -ENOMEM)
		return r;
	error_set(&d->problem, -r, "debuginfod: %s", strerror(-r));
	return 0;
}

int debug_files_new(const struct debug_config *cfg, const struct filestore *files,
		    const struct log *log, struct debug_files **ret_files)
{
	_cleanup_(debug_files_freep) struct debug_files *d = calloc(1, sizeof(*d));
	int r = 0;

	if (!d)
		return -ENOMEM;
	pthread_mutex_init(&d->lock, NULL);
	crc_cache_init(&d->crcs);
	d->files = files;
	d->log = log;
	d->is_configured = cfg->nr_urls > 0;
	d->fail_closed = cfg->fail_closed;
	if (d->is_configured)
		r = open_fetcher(d, cfg);
	if (r < 0)
		return r;
	*ret_files = TAKE(d);
	return 0;
}

struct debug_files *debug_files_free(struct debug_files *d)
{
	if (!d)
		return NULL;
	for (uint32_t i = 0; i < d->nr_fetched; i++)
		if (d->fetched[i].fd >= 0)
			close(d->fetched[i].fd);
	free(d->fetched);
	fetcher_free(d->fetcher);
	pthread_mutex_destroy(&d->lock);
	crc_cache_done(&d->crcs);
	free(d);
	return NULL;
}

static int compare_ids(const struct build_id *a, const struct build_id *b)
{
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return memcmp(a->bytes, b->bytes, a->len);
}

static int by_id(const void *a, const void *b)
{
	return compare_ids(&((const struct fetched *)a)->id, &((const struct fetched *)b)->id);
}

static const struct fetched *find_fetched(const struct debug_files *d, const struct build_id *id)
{
	struct fetched key = { .id = *id };

	if (!d->nr_fetched)
		return NULL;
	return bsearch(&key, d->fetched, d->nr_fetched, sizeof(key), by_id);
}

struct debug_query debug_files_query(const struct debug_files *d, const struct file *f,
				     const struct elf_image *img)
{
	struct debug_query q = debug_search_query(d->files, f);

	q.image = img;
	q.crcs = (struct crc_cache *)(uintptr_t)&d->crcs; /* does not change d's contents */
	return q;
}

/* Returns a descriptor of its own. */
int debug_files_open_fetched(struct debug_files *d, const struct build_id *id,
			     struct debug_file *ret_file)
{
	const struct fetched *known = find_fetched(d, id);
	_cleanup_(closep) int fd = -1;
	int r;

	if (!known || !fetch_is_success(known->result))
		return -ENOENT;
	fd = known->fd >= 0 ? fcntl(known->fd, F_DUPFD_CLOEXEC, 3) : fetcher_open(d->fetcher, id);
	if (fd < 0)
		return -ENOENT;
	r = debug_file_open(fd, id, ret_file);
	if (r == 0)
		(void)TAKE_FD(fd); /* the file owns it now */
	return r == -ENOMEM ? r : r < 0 ? -ENOENT : 0;
}

/* Opens the separate debug file; a fetched one if no file on this machine has lines. */
static int open_debug(struct debug_files *d, const struct debug_query *q,
		      struct debug_search_stats *stats, struct debug_file *ret_file)
{
	struct debug_file local = DEBUG_FILE_NONE, fetched = DEBUG_FILE_NONE;
	const struct build_id *id = elf_image_build_id(q->image);
	int r = debug_search(q, stats, &local);

	if (r == -ENOMEM || (r == 0 && elf_image_has_dwarf(local.image))) {
		*ret_file = local;
		return r;
	}
	if (id->len && debug_files_open_fetched(d, id, &fetched) == 0) {
		debug_file_done(&local);
		local = fetched;
		r = 0;
	}
	*ret_file = local;
	return r;
}

static int open_alt(struct debug_files *d, const struct debug_query *q,
		    struct debug_search_stats *stats, struct debug_set *s)
{
	const struct elf_image *from = s->debug.image ? s->debug.image : q->image;
	const char *from_path = s->debug.image ? s->debug.path : q->path;
	struct elf_altlink link;
	int r = elf_altlink_read(from, &link);

	if (r == 0)
		r = debug_search_alt(q, &link, from_path, stats, &s->alt);
	if (r == -ENOENT && link.build_id.len)
		r = debug_files_open_fetched(d, &link.build_id, &s->alt);
	return r == -ENOMEM ? r : 0;
}

/* Explains why the servers did not help, if there are any. */
static void explain_fetch(struct debug_files *d, const struct build_id *id, struct debug_set *s)
{
	const struct fetched *known = find_fetched(d, id);
	enum fetch_result result = known               ? known->result
				   : d->is_interrupted ? FETCH_INTERRUPTED
						       : FETCH_UNAVAILABLE;

	if (s->has_lines || !d->is_configured)
		return;
	s->is_refused = d->fail_closed;
	if (!id->len) {
		s->why = "it is stripped, and has no build-id by which to ask for its debug file";
		s->advice = "link it with --build-id, or use a build that is not stripped";
	} else if (!fetch_is_success(result)) {
		s->why = misses[result].why;
		s->advice = misses[result].advice;
	} else {
		s->why = "the debug file that was fetched for it has no debug information";
		s->advice = "use a build of it that is not stripped";
	}
}

static void count_search(struct debug_files *d, const struct debug_search_stats *st,
			 const struct debug_set *s)
{
	pthread_mutex_lock(&d->lock);
	d->stats.search.nr_other_build_id += st->nr_other_build_id;
	d->stats.search.nr_bad_crc += st->nr_bad_crc;
	d->stats.nr_separate += s->debug.image && elf_image_has_dwarf(s->debug.image);
	d->stats.nr_refused += s->is_refused;
	pthread_mutex_unlock(&d->lock);
}

/* Opens the binary's own sections, otherwise a separate file; then the files that either refers
 * to. */
static int open_set(struct debug_files *d, const struct debug_query *q,
		    struct debug_search_stats *st, struct debug_set *s)
{
	int r = 0;

	if (!elf_image_has_dwarf(q->image))
		r = open_debug(d, q, st, &s->debug);
	if (r == -ENOMEM)
		return r;
	s->has_lines = elf_image_has_dwarf(s->debug.image ? s->debug.image : q->image);
	return s->has_lines ? open_alt(d, q, st, s) : 0;
}

int debug_files_open(struct debug_files *d, const struct file *f, const struct elf_image *img,
		     const struct work_limits *limits, struct debug_set *ret_set)
{
	struct debug_query q = debug_files_query(d, f, img);
	struct debug_search_stats st = { 0 };
	struct debug_set s = DEBUG_SET_NONE;
	int r;

	q.limits = *limits;
	r = open_set(d, &q, &st, &s);
	if (r < 0) {
		debug_set_done(&s);
		return r;
	}
	explain_fetch(d, elf_image_build_id(img), &s);
	count_search(d, &st, &s);
	*ret_set = s;
	return 0;
}

/* ---- fetching ---- */

/* The files to request, in the order of the binaries; later without duplicates. */
struct request_list {
	struct fetch_request *items; /* owned */
	uint32_t nr, cap;
};

static void request_list_done(struct request_list *w)
{
	free(w->items);
}

static int request_add(struct debug_files *d, struct request_list *w, const struct build_id *id,
		       const char *label, bool is_foreign)
{
	int r;

	if (!id->len || find_fetched(d, id))
		return 0;
	r = ARRAY_RESERVE(w->items, w->cap, (size_t)w->nr + 1, FETCH_MAX_REQUESTS);
	if (r < 0)
		return r == -E2BIG ? 0 : r; /* the others are reported as not requested */
	w->items[w->nr++] = (struct fetch_request){
		.id = *id, .label = label, .is_foreign = is_foreign, .fd = -1
	};
	return 0;
}

/* Adds what one binary lacks. */
static int request_open_file(struct debug_files *d, struct request_list *w, const struct file *f,
			     const struct cancel *cancel)
{
	_cleanup_(elf_image_freep) struct elf_image *img = NULL;
	_cleanup_(debug_set_done) struct debug_set s = DEBUG_SET_NONE;
	struct debug_search_stats st = { 0 };
	const struct elf_image *from;
	struct elf_altlink link;
	struct debug_query q;
	bool is_foreign;
	uid_t owner;
	int r = f->fd < 0 ? -ENOENT : elf_image_open_fd(f->fd, &img);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	is_foreign = file_is_foreign(f, &owner);
	elf_image_limit(img, cancel, 0);
	q = debug_files_query(d, f, img);
	q.limits.cancel = cancel;
	r = open_set(d, &q, &st, &s);
	if (r < 0)
		return r;
	if (!s.has_lines)
		return request_add(d, w, elf_image_build_id(img), path_name(f->path), is_foreign);
	from = s.debug.image ? s.debug.image : img;
	if (s.alt.image || elf_altlink_read(from, &link) < 0)
		return 0;
	return request_add(d, w, &link.build_id, path_name(f->path), is_foreign);
}

static int by_request_id(const void *a, const void *b)
{
	const struct fetch_request *x = a, *y = b;
	int order = compare_ids(&x->id, &y->id);

	return order ? order : x->is_foreign - y->is_foreign;
}

/* Files of untrusted owners come last: there may be any number of them, and servers may take any
 * time. */
static int by_trust(const void *a, const void *b)
{
	const struct fetch_request *x = a, *y = b;

	if (x->is_foreign != y->is_foreign)
		return x->is_foreign - y->is_foreign;
	return by_request_id(a, b);
}

static void remove_doubles(struct request_list *w)
{
	uint32_t nr = 0;

	qsort(w->items, w->nr, sizeof(*w->items), by_request_id);
	for (uint32_t i = 0; i < w->nr; i++)
		if (nr == 0 || compare_ids(&w->items[nr - 1].id, &w->items[i].id) != 0)
			w->items[nr++] = w->items[i];
	w->nr = nr;
	qsort(w->items, w->nr, sizeof(*w->items), by_trust);
}

static void keep_fetched(struct debug_files *d, const struct request_list *w)
{
	for (uint32_t i = 0; i < w->nr; i++)
		d->fetched[d->nr_fetched++] = (struct fetched){ .id = w->items[i].id,
								.result = w->items[i].result,
								.fd = w->items[i].fd };
	if (d->nr_fetched)
		qsort(d->fetched, d->nr_fetched, sizeof(*d->fetched), by_id);
}

static int request_file(struct debug_files *d, struct request_list *w, uint32_t file,
			const struct cancel *cancel)
{
	struct file f;
	int r;

	filestore_take(d->files, file, &f);
	r = request_open_file(d, w, &f, cancel);
	closep(&f.fd);
	return r;
}

/* Fetches in one round what all files lack. *ret_nr: number of requests. */
static int fetch_round(struct debug_files *d, const uint32_t *files, uint32_t nr,
		       const struct build_id *kernel, const struct cancel *cancel, uint32_t *ret_nr)
{
	_cleanup_(request_list_done) struct request_list w = { 0 };
	int r = kernel ? request_add(d, &w, kernel, "vmlinux", false) : 0;

	for (uint32_t i = 0; i < nr && r == 0; i++)
		r = cancel_is_asked(cancel) ? -ECANCELED : request_file(d, &w, files[i], cancel);
	if (r < 0 || !w.nr) {
		*ret_nr = 0;
		return r;
	}
	remove_doubles(&w);
	r = ARRAY_RESERVE(d->fetched, d->cap_fetched, (size_t)d->nr_fetched + w.nr,
			  2 * FETCH_MAX_REQUESTS);
	if (r < 0)
		return r;
	r = fetcher_get(d->fetcher, w.items, w.nr, cancel);
	keep_fetched(d, &w); /* including those of a cancelled round */
	*ret_nr = w.nr;
	return r;
}

bool debug_files_can_fetch(const struct debug_files *d)
{
	return d->fetcher;
}

enum fetch_result debug_files_client(const struct debug_files *d)
{
	return d->fetcher ? fetcher_client(d->fetcher) : FETCH_FETCHED;
}

/* A debug file may refer to another one that is missing too, hence a second round. */
int debug_files_fetch(struct debug_files *d, const uint32_t *files, uint32_t nr,
		      const struct build_id *kernel, const struct cancel *cancel)
{
	uint32_t asked = 0;
	int r;

	if (!d->fetcher)
		return 0;
	r = fetch_round(d, files, nr, kernel, cancel, &asked);
	if (r == 0 && asked)
		r = fetch_round(d, files, nr, kernel, cancel, &asked);
	d->is_interrupted = r == -ECANCELED;
	return r;
}

struct debug_stats debug_files_stats(struct debug_files *d)
{
	struct debug_stats s;

	pthread_mutex_lock(&d->lock);
	s = d->stats;
	pthread_mutex_unlock(&d->lock);
	s.is_configured = d->is_configured;
	s.problem = d->problem.code ? d->problem.text : NULL;
	s.problem_code = d->problem.code;
	if (d->fetcher)
		s.fetch = fetcher_stats(d->fetcher);
	return s;
}
