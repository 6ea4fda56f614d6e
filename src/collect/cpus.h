/* SPDX-License-Identifier: Apache-2.0 */
/* The online CPUs, which may change during a capture. */
#ifndef COLLECT_CPUS_H
#define COLLECT_CPUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPUS_MAX 8192 /* NR_CPUS of the largest kernel configuration */
#define CPUS_POSSIBLE_PATH "/sys/devices/system/cpu/possible"
#define CPUS_ONLINE_PATH "/sys/devices/system/cpu/online"

struct cpus {
	uint64_t bits[CPUS_MAX / 64];
};

static inline bool cpus_has(const struct cpus *c, unsigned int cpu)
{
	return cpu < CPUS_MAX && (c->bits[cpu / 64] >> (cpu % 64) & 1);
}

static inline void cpus_add(struct cpus *c, unsigned int cpu)
{
	if (cpu < CPUS_MAX)
		c->bits[cpu / 64] |= 1ull << (cpu % 64);
}

static inline void cpus_remove(struct cpus *c, unsigned int cpu)
{
	if (cpu < CPUS_MAX)
		c->bits[cpu / 64] &= ~(1ull << (cpu % 64));
}

/* Parses a list like "0-3,8", as in sysfs. -EBADMSG. */
int cpus_parse(const char *text, struct cpus *ret_cpus);

int cpus_read(const char *path, struct cpus *ret_cpus);

/* The number of possible CPUs: the length of arrays by CPU number. */
unsigned int cpus_possible(void);

unsigned int cpus_count(const struct cpus *c);

#endif
