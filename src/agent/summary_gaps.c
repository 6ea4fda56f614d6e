/* SPDX-License-Identifier: Apache-2.0 */
/* Counts data about processes and files that was dropped because of limits, or because it was
 * malformed. */
#include "agent/summary.h"
#include "capture/pipe.h"
#include "model/process_labels.h"
#include "proc/reader.h"
#include "world/world.h"

void summary_count_gaps(const struct world *w, const struct pipe *p,
			const struct process_labels_stats *labels, uint64_t nr_unsummed,
			struct pa_count *to)
{
	struct tracker_losses lost = tracker_losses(w->tracker);
	struct unwind_dropped dropped = w->unwinder ? unwinder_stats(w->unwinder).files.dropped
						    : (struct unwind_dropped){ 0 };
	struct cgroups_stats cgroups = cgroups_stats(w->cgroups);

	to[0] = (struct pa_count){ "maps_lines", "lines of /proc/PID/maps could not be parsed",
				   lost.nr_bad_lines };
	to[1] = (struct pa_count){
		"mapping_states",
		"past states of mappings were dropped: a process changed them too often",
		lost.nr_versions
	};
	to[2] = (struct pa_count){ "files_closed",
				   "files were closed to stay within the limit of open files",
				   filestore_stats(w->files).nr_closed_over_limit };
	to[3] = (struct pa_count){ "readers_abandoned",
				   "reader processes of the agent hung and were abandoned",
				   reader_stats(w->procfs.reader).nr_abandoned };
	to[4] = (struct pa_count){ "unknown_origin", "records had an unknown trigger",
				   p->nr_bad_origin };
	to[5] = (struct pa_count){
		"files_refused",
		"mappings were kept without their file: their user maps too many files at a time",
		filestore_stats(w->files).nr_refused
	};
	to[6] = (struct pa_count){
		"waits_full",
		"waits were recorded one by one: their process waits in too many different stacks",
		nr_unsummed
	};
	to[7] = (struct pa_count){ "bad_cfi",
				   "entries of unwind information were malformed and skipped",
				   dropped.nr_bad };
	to[8] = (struct pa_count){ "rules_refused",
				   "rows of unwind tables found no room for their rules; the agent "
				   "unwinds there itself",
				   dropped.nr_refused };
	to[9] = (struct pa_count){ "cgroups_full",
				   "samples of further cgroups have no labels of containers",
				   cgroups.nr_beyond };
	to[10] = (struct pa_count){ "cgroups_unread",
				    "processes were gone before their cgroup was read",
				    w->nr_cgroups_unknown };
	to[11] = (struct pa_count){ "labels_failed",
				    "processes have only the usual labels: the function that adds "
				    "others failed",
				    labels->nr_failed };
	to[12] = (struct pa_count){ "labels_full", "times that added labels found no room",
				    labels->nr_no_room };
}
