/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's own labels: asks pa_options.enrich about each process. */
#include <errno.h>
#include <limits.h>

#include "agent/session.h"
#include "base/error.h"

/* Whether this is a call by the caller's function, and not later or by another thread. */
static bool are_asked_for(struct pa_labels *labels)
{
	return labels && atomic_load(&labels->tid) == gettid();
}

int pa_labels_set(struct pa_labels *labels, const char *key, const char *value)
{
	return are_asked_for(labels) ? process_labels_set(labels->draft, key, value) : -EINVAL;
}

int pa_labels_drop(struct pa_labels *labels, const char *key)
{
	return are_asked_for(labels) ? process_labels_drop(labels->draft, key) : -EINVAL;
}

/* The path of the program, if the process still runs the one of the sample. Returns path or NULL. */
static const char *find_executable(const struct pa_session *s, const struct sample *sample,
				   char path[PATH_MAX])
{
	const struct process *p = sample->process;
	struct proc_stat stat;

	if (!p || process_end_ns(p) != UINT64_MAX ||
	    process_program(p, UINT64_MAX) != sample->program ||
	    procfs_stat(&s->world->procfs, sample->pid, &stat) < 0 ||
	    !proc_stat_began_by(&stat, sample->time_ns) ||
	    procfs_program(&s->world->procfs, sample->pid, path, PATH_MAX) < 0)
		return NULL;
	return path;
}

/* Once: how often it fails is counted. */
static void log_failure(struct pa_session *s, pid_t pid, int r)
{
	if (!s->has_enricher_failed)
		log_warn(&s->log,
			 "labels: the caller's function failed for process %d, which keeps its "
			 "usual labels: %s",
			 (int)pid, error_text_of_caller(r));
	s->has_enricher_failed = true;
}

static int ask_caller(void *session, struct process_labels_draft *d)
{
	struct pa_session *s = session;
	const struct pa_options *o = &s->settings.o;
	struct pa_label known[PROCESS_LABELS_KNOWN_MAX];
	char path[PATH_MAX], comm[PROC_COMM_SIZE];
	struct pa_process_info process = { .sz = sizeof(process),
					   .pid = d->sample->pid,
					   .comm = comm,
					   .executable = find_executable(s, d->sample, path),
					   .labels = known,
					   .nr_labels = d->nr_known };
	int r;

	(void)snprintf(comm, sizeof(comm), "%.*s", (int)d->sample->comm_bytes, d->sample->comm);
	for (uint32_t i = 0; i < d->nr_known; i++)
		known[i] = (struct pa_label){ d->known[i].key, d->known[i].value };
	s->labels.draft = d;
	atomic_store(&s->labels.tid, gettid());
	r = o->enrich(o->enrich_ctx, &process, &s->labels);
	atomic_store(&s->labels.tid, 0);
	if (r < 0)
		log_failure(s, process.pid, r);
	return r;
}

void session_check_label_use(const struct pa_session *s)
{
	if (!s->settings.o.enrich)
		return;
	for (uint32_t i = 0; i < s->nr_outputs; i++)
		if (s->outputs[i].writer && s->outputs[i].writer->has_labels)
			return;
	log_warn(&s->log,
		 "labels: those that pa_options.enrich adds are shown only by outputs of the "
		 "format '%s', and there is none",
		 writer_pprof.name);
}

int session_new_process_labels(struct pa_session *s)
{
	const struct process_labels_config cfg = { .ask = ask_caller,
						   .ctx = s,
						   .tracker = s->world->tracker };

	return s->settings.o.enrich ? process_labels_new(&cfg, &s->process_labels) : 0;
}
