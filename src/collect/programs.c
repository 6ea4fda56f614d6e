/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collect/cpus.h"
#include "collect/features.h"
#include "collect/kernel_types.h"
#include "collect/tables.h"
/* Made by bpftool, which casts constness away. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual"
#include "perfagent.skel.h"
#pragma GCC diagnostic pop

/* include/linux/sched.h: PF_KTHREAD; io workers are threads of their process since 5.12, other
 * workers (vhost) since 6.4, each with a flag that meant something else before. */
#define PF_KTHREAD 0x00200000u
#define PF_IO_WORKER 0x00000010u
#define PF_USER_WORKER 0x00004000u

/* Code and mappings there is room for: of a few processes, and of a whole machine. */
#define FEW_BLOCKS (256u << 10)  /* of 4 KiB: 1 GiB of code */
#define FEW_MAPPINGS (64u << 10) /* one process with 20,000, replaced twice */
#define MANY_BLOCKS (1u << 20)
#define MANY_MAPPINGS (128u << 10)

#define PIDNS_INIT_INUM 0xEFFFFFFCu /* include/linux/proc_ns.h: PROC_PID_INIT_INO */
#define KERNEL_STACK_BYTES 16384u   /* THREAD_SIZE with 4 KiB pages, both architectures */

struct programs {
	struct perfagent_bpf *skel; /* owned */
	struct sample_ring ring;    /* owned */
	struct tables *tables;      /* owned; NULL: not used */
	unsigned int nr_cpus;       /* values of a per-CPU map */
};

void programs_detach(struct programs *p)
{
	perfagent_bpf__detach(p->skel);
}

struct programs *programs_free(struct programs *p)
{
	if (!p)
		return NULL;
	sample_ring_close(&p->ring);
	tables_free(p->tables);
	perfagent_bpf__destroy(p->skel);
	free(p);
	return NULL;
}

/* libbpf prints to stderr unless it is given a function, and that function is one for the process.
 * A failed load is reported by its errno; the details come with LIBBPF_LOG_LEVEL. */
static int drop_message(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

static unsigned int kernel_task_flags(void)
{
	unsigned int version = features_kernel_version(), flags = PF_KTHREAD;

	if (version >= KERNEL_VERSION_OF(5, 12))
		flags |= PF_IO_WORKER;
	if (version >= KERNEL_VERSION_OF(6, 4))
		flags |= PF_USER_WORKER;
	return flags;
}

static int fill_config(struct pa_config *to, const struct programs_config *cfg,
		       struct pa_error *err)
{
	struct stat st;

	if (stat("/proc/self/ns/pid", &st) < 0)
		return error_set(err, errno, "cannot read /proc/self/ns/pid: %s; is /proc mounted?",
				 strerror(errno));
	to->pidns_inum = (__u32)st.st_ino;
	to->pidns_is_initial = st.st_ino == PIDNS_INIT_INUM;
	to->all = cfg->all;
	to->follow_children = cfg->follow_children;
	to->kernel_stacks = cfg->kernel_stacks;
	to->thread_size = KERNEL_STACK_BYTES;
	to->kernel_task_flags = kernel_task_flags();
	to->use_tables = cfg->use_tables;
	return 0;
}

static size_t ring_size(size_t want)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	while (size < want && size < (1u << 30))
		size *= 2;
	return size;
}

/* The maps of the walker: as big as the target asks for, and next to nothing when it has none. */
static int size_maps(struct programs *p, const struct programs_config *cfg)
{
	uint32_t nr_blocks = cfg->all ? MANY_BLOCKS : FEW_BLOCKS;
	uint32_t nr_mappings = cfg->all ? MANY_MAPPINGS : FEW_MAPPINGS;
	int r;

	if (!cfg->use_tables) {
		r = bpf_map__set_max_entries(p->skel->maps.processes, 1);
		return r < 0 ? r : bpf_map__set_max_entries(p->skel->maps.shards, 1);
	}
	r = bpf_map__set_max_entries(p->skel->maps.blocks, nr_blocks);
	if (r == 0)
		r = bpf_map__set_max_entries(p->skel->maps.mappings, nr_mappings);
	if (r == 0)
		r = bpf_map__set_max_entries(p->skel->maps.rule_cache,
					     PA_CACHE_SLOTS * cpus_possible());
	return r;
}

static int configure(struct programs *p, const struct programs_config *cfg, struct pa_error *err)
{
	int r = fill_config(&p->skel->rodata->cfg, cfg, err);

	if (r < 0)
		return r;
	r = bpf_map__set_max_entries(p->skel->maps.ring, (__u32)ring_size(cfg->ring_bytes));
	if (r == 0 && cfg->all)
		r = bpf_map__set_max_entries(p->skel->maps.targets, 1);
	if (r == 0)
		r = size_maps(p, cfg);
	/* Attached to one event per CPU by collect/events.c, not by the skeleton. */
	bpf_program__set_autoattach(p->skel->progs.pa_oncpu, false);
	/* Loaded by collect/ksyms.c where it is needed. */
	bpf_program__set_autoload(p->skel->progs.pa_ksyms, false);
	return r;
}

static int load(struct programs *p, struct pa_error *err)
{
	int r = perfagent_bpf__load(p->skel);

	if (r < 0)
		return error_set(err, -r,
				 "cannot load the BPF programs: %s; 'perf-agent doctor' tells more",
				 strerror(-r));
	r = perfagent_bpf__attach(p->skel);
	if (r < 0)
		return error_set(err, -r, "cannot attach to the kernel's process events: %s",
				 strerror(-r));
	return 0;
}

static int open_tables(struct programs *p, const struct programs_config *cfg)
{
	struct tables_config tc = {
		.shards_fd = bpf_map__fd(p->skel->maps.shards),
		.blocks_fd = bpf_map__fd(p->skel->maps.blocks),
		.rules_fd = bpf_map__fd(p->skel->maps.rules),
		.mappings_fd = bpf_map__fd(p->skel->maps.mappings),
		.processes_fd = bpf_map__fd(p->skel->maps.processes),
		.nr_blocks = bpf_map__max_entries(p->skel->maps.blocks),
		.nr_mappings = bpf_map__max_entries(p->skel->maps.mappings),
		.max_bytes = cfg->table_bytes,
	};

	return tables_new(&tc, &p->tables);
}

static int open_and_load(struct programs *p, const struct programs_config *cfg,
			 const struct bpf_object_open_opts *opts, int types_fd,
			 struct pa_error *err)
{
	int r;

	p->skel = perfagent_bpf__open_opts(opts);
	if (!p->skel)
		return -errno;
	r = types_fd < 0 ? 0 : kernel_types_write(bpf_object__btf(p->skel->obj), types_fd);
	if (r == 0)
		r = configure(p, cfg, err);
	return r < 0 ? r : load(p, err);
}

/* With those of the kernel's types that are needed; libbpf reads the file when it loads. */
static int load_quickly(struct programs *p, const struct programs_config *cfg)
{
	_cleanup_(closep) int fd = -1;
	char path[KERNEL_TYPES_FILE_SIZE];
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = path);
	int r = kernel_types_file_new(path, &fd);

	return r < 0 ? r : open_and_load(p, cfg, &opts, fd, NULL);
}

static int load_somehow(struct programs *p, const struct programs_config *cfg,
			const struct log *log, struct pa_error *err)
{
	int r = load_quickly(p, cfg), cause = r;

	if (r == 0)
		return 0;
	log_debug(log, "collect: not loaded with an extract of the kernel's types: %s; with all",
		  strerror(-r));
	perfagent_bpf__destroy(p->skel);
	r = open_and_load(p, cfg, NULL, -1, cause == -EBADMSG ? NULL : err);
	if (r < 0 && cause == -EBADMSG) /* what libbpf says of it is "No such process" */
		return error_set(
			err, EBADMSG,
			"the kernel's type information (%s) is damaged: it is no BTF; see what "
			"is mounted there, or boot an intact kernel",
			KERNEL_TYPES_PATH);
	return r;
}

/* Asked once: where it cannot open the list of CPUs, libbpf says so on stderr. */
static int count_cpus(struct programs *p)
{
	int nr = libbpf_num_possible_cpus();

	if (nr < 0)
		return nr;
	p->nr_cpus = (unsigned int)nr;
	return 0;
}

int programs_load(const struct programs_config *cfg, const struct log *log,
		  struct programs **ret_programs, struct pa_error *err)
{
	_cleanup_(programs_freep) struct programs *p = calloc(1, sizeof(*p));
	libbpf_print_fn_t before = libbpf_set_print(drop_message);
	int r;

	if (!p)
		return -ENOMEM;
	r = load_somehow(p, cfg, log, err);
	if (r == 0)
		r = count_cpus(p);
	libbpf_set_print(before);
	if (r < 0)
		return error_set(err, -r, "cannot prepare the BPF programs: %s", strerror(-r));
	r = sample_ring_open(&p->ring, programs_ring_fd(p),
			     bpf_map__max_entries(p->skel->maps.ring));
	if (r < 0)
		return error_set(err, -r, "cannot map the sample ring: %s", strerror(-r));
	if (cfg->use_tables) {
		r = open_tables(p, cfg);
		if (r < 0)
			return error_set(err, -r, "cannot map the unwind tables: %s", strerror(-r));
	}
	log_debug(log, "collect: programs loaded, ring of %u bytes",
		  bpf_map__max_entries(p->skel->maps.ring));
	*ret_programs = TAKE(p);
	return 0;
}

int programs_sampler_fd(const struct programs *p)
{
	return bpf_program__fd(p->skel->progs.pa_oncpu);
}

int programs_add_target(struct programs *p, pid_t pid, enum pa_target_state state)
{
	__u32 key = (__u32)pid, value = state;
	int r = bpf_map_update_elem(bpf_map__fd(p->skel->maps.targets), &key, &value, BPF_NOEXIST);

	if (r == 0)
		__atomic_add_fetch(&p->skel->bss->proc_stats.nr_targets, 1, __ATOMIC_RELAXED);
	return r == -EEXIST ? 0 : r;
}

int programs_remove_target(struct programs *p, pid_t pid)
{
	__u32 key = (__u32)pid;
	int r = bpf_map_delete_elem(bpf_map__fd(p->skel->maps.targets), &key);

	if (r == 0)
		__atomic_sub_fetch(&p->skel->bss->proc_stats.nr_targets, 1, __ATOMIC_RELAXED);
	return r;
}

uint64_t programs_nr_targets(const struct programs *p)
{
	return __atomic_load_n(&p->skel->bss->proc_stats.nr_targets, __ATOMIC_RELAXED);
}

int programs_exiting(const struct programs *p, pid_t *ret_pid)
{
	__u32 key;
	int r = bpf_map_get_next_key(bpf_map__fd(p->skel->maps.exiting), NULL, &key);

	if (r == 0)
		*ret_pid = (pid_t)key;
	return r;
}

void programs_forget_exiting(struct programs *p, pid_t pid)
{
	__u32 key = (__u32)pid;

	(void)bpf_map_delete_elem(bpf_map__fd(p->skel->maps.exiting), &key); /* gone is as good */
}

struct pa_proc_stats programs_proc_stats(const struct programs *p)
{
	return p->skel->bss->proc_stats;
}

int programs_tick_stats(const struct programs *p, struct pa_tick_stats **ret_per_cpu,
			unsigned int *ret_nr_cpus)
{
	_cleanup_(freep) struct pa_tick_stats *all = calloc(p->nr_cpus, sizeof(*all));
	__u32 zero = 0;
	int r;

	if (!all)
		return -ENOMEM;
	r = bpf_map_lookup_elem(bpf_map__fd(p->skel->maps.tick_stats), &zero, all);
	if (r < 0)
		return r;
	*ret_per_cpu = TAKE(all);
	*ret_nr_cpus = p->nr_cpus;
	return 0;
}

struct tables *programs_tables(const struct programs *p)
{
	return p->tables;
}

int64_t programs_stack_budget(const struct programs *p)
{
	return __atomic_load_n(&p->skel->bss->proc_stats.stack_budget, __ATOMIC_RELAXED);
}

void programs_add_stack_budget(struct programs *p, int64_t bytes)
{
	(void)__atomic_fetch_add(&p->skel->bss->proc_stats.stack_budget, bytes, __ATOMIC_RELAXED);
}

int programs_ring_fd(const struct programs *p)
{
	return bpf_map__fd(p->skel->maps.ring);
}

int programs_drain(struct programs *p, ring_record_fn fn, void *ctx)
{
	return sample_ring_drain(&p->ring, fn, ctx);
}
