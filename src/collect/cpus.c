/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/cpus.h"

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"

#define CPUS_TEXT_MAX 65536 /* every second of 8192 CPUs, listed individually, with room to spare */

static int parse_number(const char **at, unsigned long *ret_n)
{
	char *end;

	if (**at < '0' || **at > '9')
		return -EBADMSG;
	errno = 0;
	*ret_n = strtoul(*at, &end, 10);
	if (errno || *ret_n >= CPUS_MAX)
		return -EBADMSG;
	*at = end;
	return 0;
}

static int parse_range(const char **at, struct cpus *to)
{
	unsigned long first, last;
	int r = parse_number(at, &first);

	if (r < 0)
		return r;
	last = first;
	if (**at == '-') {
		(*at)++;
		r = parse_number(at, &last);
		if (r < 0)
			return r;
	}
	for (unsigned long cpu = first; cpu <= last; cpu++)
		cpus_add(to, (unsigned int)cpu);
	return 0;
}

int cpus_parse(const char *text, struct cpus *ret_cpus)
{
	struct cpus cpus = { 0 };
	const char *at = text;

	for (;;) {
		int r = parse_range(&at, &cpus);

		if (r < 0)
			return r;
		if (*at != ',')
			break;
		at++;
	}
	if (*at == '\n')
		at++;
	if (*at != '\0')
		return -EBADMSG;
	*ret_cpus = cpus;
	return 0;
}

int cpus_read(const char *path, struct cpus *ret_cpus)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(freep) char *text = malloc(CPUS_TEXT_MAX);
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (!text)
		return -ENOMEM;
	n = read(fd, text, CPUS_TEXT_MAX - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	return cpus_parse(text, ret_cpus);
}

unsigned int cpus_possible(void)
{
	struct cpus possible;
	unsigned int end = 0;

	if (cpus_read(CPUS_POSSIBLE_PATH, &possible) < 0)
		return CPUS_MAX;
	for (unsigned int cpu = 0; cpu < CPUS_MAX; cpu++)
		if (cpus_has(&possible, cpu))
			end = cpu + 1;
	return end;
}

unsigned int cpus_count(const struct cpus *c)
{
	unsigned int n = 0;

	for (size_t i = 0; i < CPUS_MAX / 64; i++)
		n += (unsigned int)__builtin_popcountll(c->bits[i]);
	return n;
}
