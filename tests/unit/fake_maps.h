/* SPDX-License-Identifier: Apache-2.0 */
/* The maps of the walker in plain memory: libbpf's calls are replaced, no kernel is asked. */
#ifndef TESTS_FAKE_MAPS_H
#define TESTS_FAKE_MAPS_H

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect/tables.h"
#include "tap.h"

#ifndef NR_MAPPINGS /* whoever includes this may need more */
#define NR_BLOCKS 65536u
#define NR_MAPPINGS 1024u
#endif

enum { SHARDS_FD = 1000, PROCESSES_FD };

static bool no_map, no_insert;         /* what fails */
static uint32_t nr_inserted, nr_lists; /* shards, lists */
static struct pa_process process;      /* written last */

static int memory(size_t bytes)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	must(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
	return fd;
}

static int fail(int error)
{
	errno = error;
	return -error;
}

int bpf_map_create(enum bpf_map_type type, const char *name, __u32 key_size, __u32 value_size,
		   __u32 max_entries, const struct bpf_map_create_opts *opts)
{
	return no_map ? fail(ENOMEM) : memory(value_size);
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	if (fd == PROCESSES_FD) {
		process = *(const struct pa_process *)value;
		nr_lists++;
		return 0;
	}
	if (no_insert)
		return fail(ENOMEM);
	nr_inserted++;
	return 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	return 0;
}

struct test_world {
	struct tables *t;
	struct tables_config cfg;
	struct pa_mapping *mappings; /* as the kernel sees them */
};

static struct test_world new_world(size_t max_bytes)
{
	struct test_world w = { .cfg = { .shards_fd = SHARDS_FD,
					 .blocks_fd = memory(NR_BLOCKS * sizeof(struct pa_block)),
					 .rules_fd = memory((PA_MAX_RULES + 1) * sizeof(uint64_t)),
					 .mappings_fd =
						 memory(NR_MAPPINGS * sizeof(struct pa_mapping)),
					 .processes_fd = PROCESSES_FD,
					 .nr_blocks = NR_BLOCKS,
					 .nr_mappings = NR_MAPPINGS,
					 .max_bytes = max_bytes } };

	nr_inserted = nr_lists = 0;
	must(tables_new(&w.cfg, &w.t) == 0);
	w.mappings = mmap(NULL, NR_MAPPINGS * sizeof(struct pa_mapping), PROT_READ | PROT_WRITE,
			  MAP_SHARED, w.cfg.mappings_fd, 0);
	must(w.mappings != MAP_FAILED);
	return w;
}

static void end_world(struct test_world *w)
{
	tables_free(w->t);
	munmap(w->mappings, NR_MAPPINGS * sizeof(struct pa_mapping));
	close(w->cfg.blocks_fd);
	close(w->cfg.rules_fd);
	close(w->cfg.mappings_fd);
}

#endif
