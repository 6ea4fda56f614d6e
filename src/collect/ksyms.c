/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/ksyms.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "bpf/abi.h"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wcast-qual" /* made by bpftool, which casts constness away */
#include "perfagent.skel.h"
#pragma GCC diagnostic pop

#define PROGRAM "pa_ksyms"

/* As in programs.c: a failure is told by its errno. */
static int drop_message(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

static void close_object(struct bpf_object **obj)
{
	bpf_object__close(*obj);
}

static void destroy_link(struct bpf_link **link)
{
	(void)bpf_link__destroy(*link); /* closing it is all there is to do */
}

/* Of the one object this program alone, and of the maps only its constants. */
static int load_alone(struct bpf_object *obj)
{
	struct bpf_program *prog;
	struct bpf_map *map;
	int r = 0;

	bpf_object__for_each_program(prog, obj) if (r == 0)
		r = bpf_program__set_autoload(prog, !strcmp(bpf_program__name(prog), PROGRAM));
	bpf_object__for_each_map(map, obj) if (r == 0)
		r = bpf_map__set_autocreate(map, bpf_map__is_internal(map));
	return r < 0 ? r : bpf_object__load(obj);
}

static int open_iterator(int *ret_fd)
{
	_cleanup_(close_object) struct bpf_object *obj = NULL;
	_cleanup_(destroy_link) struct bpf_link *link = NULL;
	size_t size;
	const void *bytes = perfagent_bpf__elf_bytes(&size);
	int r;

	obj = bpf_object__open_mem(bytes, size, NULL);
	if (!obj)
		return -errno;
	r = load_alone(obj);
	if (r < 0)
		return r;
	link = bpf_program__attach_iter(bpf_object__find_program_by_name(obj, PROGRAM), NULL);
	if (!link)
		return -errno;
	r = bpf_iter_create(bpf_link__fd(link));
	if (r < 0)
		return r;
	*ret_fd = r; /* holds the program by itself */
	return 0;
}

int ksyms_open(int *ret_fd)
{
	libbpf_print_fn_t before = libbpf_set_print(drop_message);
	int r = open_iterator(ret_fd);

	libbpf_set_print(before);
	return r == -ESRCH || r == -ENOENT || r == -EINVAL ? -EOPNOTSUPP : r;
}
