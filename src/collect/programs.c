/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/programs.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/bpf_log.h"
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

/* Code and mappings there is room for: of a few processes, and of as many as there may be. */
#define FEW_BLOCKS (256u << 10)  /* of 4 KiB: 1 GiB of code */
#define FEW_MAPPINGS (64u << 10) /* one process with 20,000, replaced twice */
#define MANY_BLOCKS (1u << 20)
#define MANY_MAPPINGS (128u << 10)

#define PIDNS_INIT_INUM 0xEFFFFFFCu /* include/linux/proc_ns.h: PROC_PID_INIT_INO */
#define KERNEL_STACK_BYTES 16384u   /* THREAD_SIZE with 4 KiB pages, both architectures */
#define PROGRAM_MAX_US 10000        /* longer than any program runs */

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

static unsigned int kernel_task_flags(void)
{
	unsigned int version = features_kernel_version(), flags = PF_KTHREAD;

	if (version >= KERNEL_VERSION_OF(5, 12))
		flags |= PF_IO_WORKER;
	if (version >= KERNEL_VERSION_OF(6, 4))
		flags |= PF_USER_WORKER;
	return flags;
}

/* As the kernel numbers it; 0: none is selected. */
static uint64_t cgroup_id(const struct programs_config *cfg)
{
	struct stat st;

	return cfg->select == PA_SELECT_CGROUP && fstat(cfg->cgroup_fd, &st) == 0 ? st.st_ino : 0;
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
	to->select = (__u8)cfg->select;
	to->uid = cfg->uid;
	to->cgroup_id = cgroup_id(cfg);
	to->follow_children = cfg->follow_children;
	to->kernel_stacks = cfg->kernel_stacks;
	to->cgroup_ids = cfg->cgroup_ids;
	to->thread_size = KERNEL_STACK_BYTES;
	to->kernel_task_flags = kernel_task_flags();
	to->use_tables = cfg->use_tables;
	to->state_source = (__u8)features_state_source(features_kernel_version());
	return 0;
}

static size_t ring_size(size_t want)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);

	while (size < want && size < PROGRAMS_MAX_RING_BYTES)
		size *= 2;
	return size;
}

/* Whether targets are named one by one; else anybody may become one. */
static bool has_target_list(const struct programs_config *cfg)
{
	return cfg->select == PA_SELECT_PIDS || cfg->select == PA_SELECT_TIDS;
}

/* The maps of the walker: as big as the target asks for, and next to nothing when it has none. */
static int size_maps(struct programs *p, const struct programs_config *cfg)
{
	uint32_t nr_blocks = has_target_list(cfg) ? FEW_BLOCKS : MANY_BLOCKS;
	uint32_t nr_mappings = has_target_list(cfg) ? FEW_MAPPINGS : MANY_MAPPINGS;
	int r;

	if (!cfg->use_tables) {
		r = bpf_map__set_max_entries(p->skel->maps.processes, 1);
		return r < 0 ? r : bpf_map__set_max_entries(p->skel->maps.shards, 1);
	}
	r = bpf_map__set_max_entries(p->skel->maps.blocks, nr_blocks);
	if (r == 0)
		r = bpf_map__set_max_entries(p->skel->maps.mappings, nr_mappings);
	if (r == 0)
		r = bpf_map__set_max_entries(p->skel->maps.rule_cache, cpus_possible());
	return r;
}

/* The programs of time off the CPU, and their maps. */
static int configure_waits(struct programs *p, const struct programs_config *cfg)
{
	struct bpf_map *const maps[] = { p->skel->maps.threads, p->skel->maps.waits,
					 p->skel->maps.wait_owners, p->skel->maps.wait_stats };
	struct bpf_program *const progs[] = { p->skel->progs.pa_switch, p->skel->progs.pa_wakeup,
					      p->skel->progs.pa_new };
	int r = bpf_map__set_autocreate(p->skel->maps.blocked_scratch, false);

	p->skel->rodata->wait_cfg = cfg->wait;
	for (size_t i = 0; i < sizeof(progs) / sizeof(progs[0]); i++) {
		bpf_program__set_autoattach(progs[i], false); /* by collect/trigger_offcpu.c */
		bpf_program__set_autoload(progs[i], cfg->use_waits);
	}
	bpf_program__set_autoload(p->skel->progs.pa_blocked, false); /* collect/blocked_iter.c */
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]) && r == 0; i++)
		r = bpf_map__set_autocreate(maps[i], cfg->use_waits);
	return r;
}

/* The programs of threads' time, and their maps. */
static int configure_times(struct programs *p, const struct programs_config *cfg)
{
	struct bpf_map *const maps[] = { p->skel->maps.thread_times, p->skel->maps.ended_times,
					 p->skel->maps.time_stats };
	struct bpf_program *const progs[] = { p->skel->progs.pa_time_switch,
					      p->skel->progs.pa_time_wakeup,
					      p->skel->progs.pa_time_new,
					      p->skel->progs.pa_time_begin };
	int r = 0;

	p->skel->rodata->time_cfg = (struct pa_time_config){
		.own_pid = (__u32)getpid(),
	};
	bpf_program__set_autoload(p->skel->progs.pa_time_silent, false); /* collect/task_iter.c */
	for (size_t i = 0; i < sizeof(progs) / sizeof(progs[0]); i++) {
		bpf_program__set_autoattach(progs[i], false); /* by collect/thread_clock.c */
		bpf_program__set_autoload(progs[i], cfg->use_times);
	}
	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]) && r == 0; i++)
		r = bpf_map__set_autocreate(maps[i], cfg->use_times);
	return r;
}

static int configure(struct programs *p, const struct programs_config *cfg, struct pa_error *err)
{
	int r = fill_config(&p->skel->rodata->cfg, cfg, err);

	if (r < 0)
		return r;
	r = bpf_map__set_max_entries(p->skel->maps.ring, (__u32)ring_size(cfg->ring_bytes));
	if (r == 0 && !has_target_list(cfg))
		r = bpf_map__set_max_entries(p->skel->maps.targets, 1);
	if (r == 0 && cfg->select != PA_SELECT_CGROUP)
		r = bpf_map__set_autocreate(p->skel->maps.selected_cgroup, false);
	if (r == 0 && cfg->select != PA_SELECT_PIDS)
		r = bpf_map__set_max_entries(p->skel->maps.ended, 1);
	if (r == 0)
		r = size_maps(p, cfg);
	if (r == 0)
		r = configure_waits(p, cfg);
	if (r == 0)
		r = configure_times(p, cfg);
	bpf_program__set_autoload(p->skel->progs.pa_oncpu, cfg->has_oncpu);
	/* Attached to one event per CPU by collect/trigger_oncpu.c, not by the skeleton. */
	bpf_program__set_autoattach(p->skel->progs.pa_oncpu, false);
	bpf_program__set_autoattach(p->skel->progs.pa_free, false); /* collect/ended_targets.c */
	/* Loaded by collect/ksym_iter.c where it is needed. */
	bpf_program__set_autoload(p->skel->progs.pa_ksyms, false);
	return r;
}

static int load_programs(struct programs *p, struct pa_error *err)
{
	int r = perfagent_bpf__load(p->skel);

	if (r < 0)
		return error_set(err, -r, "cannot load the BPF programs: %s; see pa_doctor()",
				 strerror(-r));
	r = perfagent_bpf__attach(p->skel);
	if (r < 0)
		return error_set(err, -r, "cannot attach to the kernel's process events: %s",
				 strerror(-r));
	return 0;
}

/* The kernel keeps the cgroup itself: one that is removed and made again is another. */
static int select_cgroup(struct programs *p, const struct programs_config *cfg,
			 struct pa_error *err)
{
	__u32 zero = 0, fd = (__u32)cfg->cgroup_fd;
	int r;

	if (cfg->select != PA_SELECT_CGROUP)
		return 0;
	r = bpf_map_update_elem(bpf_map__fd(p->skel->maps.selected_cgroup), &zero, &fd, BPF_ANY);
	return r < 0 ? error_set(err, -r, "pa_options.cgroup: the kernel does not accept it: %s",
				 strerror(-r))
		     : 0;
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
	return r < 0 ? r : load_programs(p, err);
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
	log_debug(
		log,
		"collect: not loaded with an extract of the kernel's types: %s; trying all of them",
		strerror(-r));
	perfagent_bpf__destroy(p->skel);
	r = open_and_load(p, cfg, NULL, -1, cause == -EBADMSG ? NULL : err);
	if (r < 0 && cause == -EBADMSG) /* what libbpf says of it is "No such process" */
		return error_set(err, EBADMSG,
				 "the kernel's type information (%s) is not valid BTF; see what is "
				 "mounted there, or boot an intact kernel",
				 KERNEL_TYPES_PATH);
	return r;
}

/* Asked once, here: where it cannot open the list of CPUs, libbpf prints that. */
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
	_cleanup_(bpf_log_end) struct bpf_log_scope scope = bpf_log_begin(log);
	_cleanup_(programs_freep) struct programs *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	r = load_somehow(p, cfg, log, err);
	if (r == 0)
		r = count_cpus(p);
	if (r < 0)
		return error_set(err, -r, "cannot prepare the BPF programs: %s", strerror(-r));
	r = select_cgroup(p, cfg, err);
	if (r < 0)
		return r;
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

int programs_program_fd(const struct programs *p, const char *name)
{
	const struct bpf_program *prog = bpf_object__find_program_by_name(p->skel->obj, name);

	return prog ? bpf_program__fd(prog) : -ENOENT;
}

void programs_run_on_cpus(int program_fd)
{
	for (unsigned int cpu = 0; cpu < cpus_possible(); cpu++) {
		LIBBPF_OPTS(bpf_test_run_opts, opts, .flags = BPF_F_TEST_RUN_ON_CPU, .cpu = cpu);

		(void)bpf_prog_test_run_opts(program_fd, &opts);
	}
}

int programs_map_fd(const struct programs *p, const char *name)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(p->skel->obj, name);

	return map ? bpf_map__fd(map) : -ENOENT;
}

/* libbpf makes a map of each section with variables. That of PA_SHARED holds a structure of abi.h, the
 * same in every object; the others are each object's own. */
static const char *shared_name(const struct bpf_map *map)
{
	const char *name = bpf_map__name(map);

	return !bpf_map__is_internal(map) || !strcmp(name, PA_SHARED) ? name : NULL;
}

int programs_share_maps(const struct programs *p, struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		const char *name = shared_name(map);
		const struct bpf_map *ours = name ? bpf_object__find_map_by_name(p->skel->obj, name)
						  : NULL;
		int r = 0;

		if (ours && bpf_map__autocreate(ours))
			r = bpf_map__reuse_fd(map, bpf_map__fd(ours));
		else if (ours)
			r = bpf_map__set_autocreate(map, false);
		if (r < 0)
			return r;
	}
	return 0;
}

const struct pa_config *programs_kernel_config(const struct programs *p)
{
	return &p->skel->rodata->cfg;
}

const struct pa_wait_config *programs_wait_config(const struct programs *p)
{
	return &p->skel->rodata->wait_cfg;
}

const struct pa_time_config *programs_time_config(const struct programs *p)
{
	return &p->skel->rodata->time_cfg;
}

int programs_add_target(struct programs *p, pid_t id, enum pa_target_state state)
{
	__u32 key = (__u32)id, value = state;
	int r = bpf_map_update_elem(bpf_map__fd(p->skel->maps.targets), &key, &value, BPF_NOEXIST);

	if (r == 0)
		__atomic_add_fetch(&p->skel->data_shared->proc_stats.nr_targets, 1,
				   __ATOMIC_RELAXED);
	return r == -EEXIST ? 0 : r;
}

int programs_remove_target(struct programs *p, pid_t id)
{
	__u32 key = (__u32)id;
	int r = bpf_map_delete_elem(bpf_map__fd(p->skel->maps.targets), &key);

	if (r == 0)
		__atomic_sub_fetch(&p->skel->data_shared->proc_stats.nr_targets, 1,
				   __ATOMIC_RELAXED);
	return r;
}

uint64_t programs_nr_targets(const struct programs *p)
{
	return __atomic_load_n(&p->skel->data_shared->proc_stats.nr_targets, __ATOMIC_RELAXED);
}

int programs_exiting(const struct programs *p, pid_t *ret_id)
{
	__u32 key;
	int r = bpf_map_get_next_key(bpf_map__fd(p->skel->maps.exiting), NULL, &key);

	if (r == 0)
		*ret_id = (pid_t)key;
	return r;
}

void programs_forget_exiting(struct programs *p, pid_t id)
{
	__u32 key = (__u32)id;

	(void)bpf_map_delete_elem(bpf_map__fd(p->skel->maps.exiting), &key); /* gone is as good */
}

void programs_count_cpu_time(struct programs *p)
{
	__atomic_store_n(&p->skel->data_shared->proc_stats.counts_cpu, 1, __ATOMIC_SEQ_CST);
}

void programs_count_waits(struct programs *p, uint64_t since_ns)
{
	__atomic_store_n(&p->skel->data_shared->proc_stats.waits_on, since_ns, __ATOMIC_SEQ_CST);
}

void programs_time_threads(struct programs *p, uint64_t begin_ns, uint64_t end_ns)
{
	struct pa_proc_stats *st = &p->skel->data_shared->proc_stats;

	__atomic_store_n(&st->times_end, end_ns, __ATOMIC_SEQ_CST);
	__atomic_store_n(&st->times_begin, begin_ns, __ATOMIC_SEQ_CST);
}

/* They run with preemption off, for whose end the kernel waits here. */
void programs_await_end(void)
{
	if (syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0) < 0)
		usleep(PROGRAM_MAX_US); /* not on machines with nohz_full */
}

struct pa_proc_stats programs_proc_stats(const struct programs *p)
{
	return p->skel->data_shared->proc_stats;
}

int programs_read_per_cpu(const struct programs *p, const char *map, size_t size, void **ret_values,
			  unsigned int *ret_nr_cpus)
{
	_cleanup_(freep) char *all = NULL;
	int r, fd = programs_map_fd(p, map);
	__u32 zero = 0;

	if (fd < 0)
		return fd;
	all = calloc(p->nr_cpus, size);
	if (!all)
		return -ENOMEM;
	r = bpf_map_lookup_elem(fd, &zero, all);
	if (r < 0)
		return r;
	*ret_values = TAKE(all);
	*ret_nr_cpus = p->nr_cpus;
	return 0;
}

struct tables *programs_tables(const struct programs *p)
{
	return p->tables;
}

int64_t programs_stack_budget(const struct programs *p)
{
	return __atomic_load_n(&p->skel->data_shared->proc_stats.stack_budget, __ATOMIC_RELAXED);
}

void programs_add_stack_budget(struct programs *p, int64_t bytes)
{
	(void)__atomic_fetch_add(&p->skel->data_shared->proc_stats.stack_budget, bytes,
				 __ATOMIC_RELAXED);
}

int programs_ring_fd(const struct programs *p)
{
	return bpf_map__fd(p->skel->maps.ring);
}

int programs_drain(struct programs *p, ring_record_fn fn, void *ctx)
{
	return sample_ring_drain(&p->ring, fn, ctx);
}
