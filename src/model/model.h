/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sink of the pipe that turns the samples of one trigger into a profile. It can be taken out of
 * the pipe at any time, replaced by another one, and symbolized on its own.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include <stdatomic.h>

#include "base/cleanup.h"
#include "base/idtable.h"
#include "bpf/abi.h"
#include "model/model_waits.h"
#include "model/process_labels.h"
#include "names/naming_job.h"
#include "profile/profile.h"
#include "sample/sink.h"
#include "sample/value_types.h"
#include "world/world.h"

struct model_config {
	const struct value_types *values; /* all borrowed during the call */
	const char *const *tags;
	size_t nr_tags;
	const char *program; /* its path, or text that stands for it; NULL: not known yet */
	pid_t program_pid;   /* the process whose program it is, also after an execve(); 0: none */
	bool kernel_stacks;  /* kernel stacks were requested */
	struct process_labels *process_labels; /* NULL: none; borrowed until model_free() */
};

/* What became of its samples. */
struct model_stats {
	uint64_t nr_kept; /* in the profile */
	uint64_t nr_full; /* beyond a limit of the profile */
	uint64_t nr_no_memory;
	uint64_t nr_without_stack; /* off-CPU intervals whose stack has not arrived */
	uint64_t first_ns;         /* time of the earliest kept sample; 0: none */
	uint64_t nr_processes;     /* processes with samples */
	uint64_t nr_in_kernel;     /* of nr_kept: in kernel mode */
	/* of nr_kept: walked again in user space, on a copy of the stack */
	uint64_t nr_walked_again;
	uint64_t nr_finished; /* of nr_walked_again: up to the outermost frame */
	uint64_t nr_untimed;  /* of nr_kept: in code of a jitdump, resolved without their time */
	uint64_t stops[PA_NR_STOPS]; /* nr_kept by enum pa_stop */
};

/* Adds counts; processes that occur in both are counted twice. */
void model_stats_add(struct model_stats *to, const struct model_stats *more);

/* What became of the samples of several models, and the results of naming them. */
struct model_account {
	struct model_stats stats;
	struct naming_stats naming;
	struct jit_counts jit;
	bool switches_python; /* pa_options.inject_python */
};

#define MODEL_NR_LABELS 8
#define MODEL_NR_CGROUP_LABELS 6
#define MODEL_MAX_LABELS                                                                           \
	(MODEL_NR_LABELS + MODEL_NR_CGROUP_LABELS + PROCESS_LABELS_MAX + 1) /* and the state */

/* Strings of the profile for a cgroup; 0: it has no such label. */
struct cgroup_strings {
	bool is_known;
	uint32_t values[MODEL_NR_CGROUP_LABELS];
};

/* Strings of the profile for a file. */
struct file_strings {
	bool is_known;
	bool is_held; /* held in the store until the model is named */
	uint32_t path, build_id;
};

struct model {
	struct world *world;                   /* borrowed */
	struct profile *profile;               /* owned */
	struct process_labels *process_labels; /* borrowed; NULL: none */
	struct model_stats stats;
	struct jit_samples jit;        /* samples in generated code */
	struct model_waits waits;      /* off-CPU time */
	struct naming_job naming;      /* filled by model_name() */
	struct model_account *account; /* see model_leave(); NULL: it was not taken out */
	bool is_counted;               /* counted in the world's nr_unnamed_models */
	struct sample_sink sink;       /* borrowed by the pipe */
	pid_t program_pid;             /* see model_config */
	bool has_kernel_stacks;
	bool is_program_next;                 /* its first mapping will be the program's file */
	uint32_t label_keys[MODEL_NR_LABELS]; /* strings; see model_labels.c */
	uint32_t cgroup_keys[MODEL_NR_CGROUP_LABELS];
	uint32_t state_key;             /* a string; for off-CPU time */
	struct cgroup_strings *cgroups; /* owned; by number */
	uint32_t cap_cgroups, nr_cgroups;
	struct file_strings *files; /* owned; by file number */
	uint32_t cap_files, nr_files;
	uint32_t nr_held_programs;    /* the first so many of jit; see jit_files_hold() */
	bool has_held;                /* it holds files or programs */
	struct idtable process_index; /* processes with samples */
	uint64_t *processes;          /* owned */
	uint32_t nr_processes, cap_processes;
};

int model_new(const struct model_config *cfg, struct world *w, struct model **ret_model);
struct model *model_free(struct model *m);
DEFINE_CLEANUP(struct model *, model_free)

/* model_placing.c: adds samples whose code had different symbols at different times to the profile.
 * Samples that take too long or find no room are resolved as of the first one, and counted. */
void model_place_moments(struct model *m, const struct cancel *cancel);

/* Resolves every location, once, when no more samples come. May be called by any thread, while the
 * world's own thread continues under world_lock(); models are symbolized one after another.
 * -ECANCELED when *cancel becomes true. */
int model_name(struct model *m, const atomic_bool *cancel);

/* model_program.c: the first file that a process maps after an execve() is its program. */
void model_follow_program(void *model, const struct process_event *e);
/* A model that replaces another one has the same program. */
void model_inherit_program(struct model *m, const struct model *from);

/* Adds what a model has counted. */
void model_account_add(struct model_account *to, const struct model *m);

/* Called when the model is taken out of the pipe: what it has counted goes to the account, and so
 * will the results of naming it. Under world_lock(), like every access to the account, which is
 * borrowed. */
void model_leave(struct model *m, struct model_account *to);

/* model_labels.c: what a caller of the library may do with a label; added up. */
enum model_label_use {
	MODEL_LABEL_OF_PROCESS = 1, /* all samples of a process have the same */
	MODEL_LABEL_DROPPABLE = 2,
	MODEL_LABEL_SETTABLE = 4,
};
/* The uses of a label of the library and its bit in label_changes.dropped; -ENOENT. */
int model_label_use(const char *key, uint32_t *ret_bit);
#define MODEL_LABEL_TEXT_SIZE 32
struct model_label_texts {
	char texts[MODEL_NR_LABELS][MODEL_LABEL_TEXT_SIZE];
};
/* Lists the labels that all samples of the process have; their values are in `texts` and in the sample. */
void model_list_labels(const struct sample *s, struct model_label_texts *texts,
		       struct process_labels_draft *d);

int model_init_labels(struct model *m);
int model_label_set(struct model *m, const struct sample *s, uint32_t *ret_id);
/* Adds the state of a thread that is off the CPU to the labels of a set. */
int model_add_state_label(struct model *m, uint32_t labels, const char *state, uint32_t *ret_id);
/* The key of the label with the truncation reason: a string of the profile. */
uint32_t model_truncated_key(const struct model *m);

/* Keeps a file open until the model is symbolized. */
int model_hold_file(struct model *m, uint32_t file);
/* An address in code without a file, whose symbol files are kept until the model is symbolized. If it
 * fails, a symbol is missing. */
void model_add_jit_address(struct model *m, uint64_t program, uint64_t address, uint64_t time_ns);

/* Counts a process that has samples, once. */
uint64_t model_process_of(const struct sample *s);
int model_count_process(struct model *m, uint64_t id);

/* Counts nr events as kept or not, by the result of profile_add() and others. */
void model_count_outcome(struct model *m, int r, uint64_t nr);

#endif
