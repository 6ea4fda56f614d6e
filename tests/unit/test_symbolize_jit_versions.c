/* SPDX-License-Identifier: Apache-2.0 */
/* Generated code that replaces other code at its address, as a jitdump records it. */
#include "jit_named.h"

#define MAX_ASKED 8

struct asked {
	uint64_t addr;
	uint64_t versions[MAX_ASKED]; /* by time */
	uint32_t nr;
	uint32_t stop_at; /* 0: never */
};

static int ask(void *ctx, uint32_t i, const struct jit_versions *v)
{
	struct asked *a = ctx;

	must(i == a->nr);
	if (i < MAX_ASKED)
		a->versions[i] = jit_versions_at(v, a->addr);
	a->nr++;
	return a->stop_at && a->nr == a->stop_at ? -EIO : 0;
}

/* The address's own time is 15. */
static int versions_of(const struct dump_maker *d, uint64_t addr, const uint64_t *times_ns,
		       uint32_t nr, struct asked *ret)
{
	struct jit_address a[] = { { 0x1000, 15 }, { 0x1010, 15 }, { 0x3000, 15 }, { addr, 15 } };
	int fd = jit_file(d->bytes, d->len);
	int r;

	*ret = (struct asked){ .addr = addr, .stop_at = ret->stop_at };
	r = jit_versions_each(fd, a, 4, times_ns, nr, ask, ret, NULL);
	close(fd);
	return r;
}

static void test_versions(struct dump_maker *d)
{
	static const uint64_t times[] = { 5, 10, 19, 20, 29, 30, 39, 40 };
	struct asked a = { 0 };

	dump_init(d, 0);
	dump_load(d, 10, 0x1000, 0x20, 1, "one");
	dump_load(d, 20, 0x1010, 0x20, 2, "two");
	dump_load(d, 30, 0x1000, 0x20, 3, "three");
	dump_move(d, 40, 0x1000, 0x1008, 0x10, 1);
	ok(versions_of(d, 0x1010, times, 8, &a) == 1 && a.nr == 8, "versions: each time is asked");
	ok(!a.versions[0] && !a.versions[1] && !a.versions[2],
	   "versions: 0 at its own time and before");
	ok(a.versions[3] && a.versions[3] == a.versions[4],
	   "versions: another one after a replacement");
	ok(a.versions[5] && a.versions[5] != a.versions[3] && a.versions[6] == a.versions[5] &&
		   a.versions[7] && a.versions[7] != a.versions[5],
	   "versions: others after loads and moves");
	ok(versions_of(d, 0x1000, times, 8, &a) == 1 && !a.versions[4] && a.versions[5] &&
		   a.versions[7] == a.versions[5],
	   "versions: code next to replaced code stays");
	ok(versions_of(d, 0x1010, NULL, 0, &a) == 1 && a.nr == 0, "versions: without a time");
	a.stop_at = 3;
	ok(versions_of(d, 0x1010, times, 8, &a) == -EIO && a.nr == 3,
	   "versions: the callback may stop");
	a.stop_at = 0;
	d->bytes[32] = 1; /* flags: times of another clock */
	ok(versions_of(d, 0x1010, times, 8, &a) == 0 && a.nr == 0,
	   "versions: none if times are of another clock");
}

/* What a version is called, also next to the address's first. */
static void test_version_names(struct dump_maker *d)
{
	static const uint64_t times[] = { 25 };
	struct jit_address a[] = { { 0x1010, 15 }, { 0x1010, 0, 1 }, { 0x1010, 0, 77777 } };
	struct symbol_result res;
	struct asked asked = { 0 };
	struct symbolizer *s;

	dump_init(d, 0);
	dump_load(d, 10, 0x1000, 0x20, 1, "one");
	dump_load(d, 20, 0x1010, 0x20, 2, "two");
	must(versions_of(d, 0x1010, times, 1, &asked) == 1);
	a[1].version = asked.versions[0];
	s = dump_of(d, a, 3);
	ok(is(s, 0x1010, "one||0"), "versions: the first has its name");
	must(s->ops->resolve_version(s, 0x1010, asked.versions[0], &res) == 0);
	ok(strcmp(res.frames[0].name, "two") == 0, "versions: the other has its own name");
	must(s->ops->resolve_version(s, 0x1010, 77777, &res) == 0);
	ok(!res.is_named, "versions: one without a record has no name");
	must(s->ops->resolve_version(s, 0x1010, 1, &res) == 0);
	ok(!res.is_named, "versions: one that was not announced has no name");
	symbolizer_free(s);
}

static void test_bad_versions(struct dump_maker *d)
{
	static const uint64_t times[] = { 5, 25, 35 };
	struct asked a = { 0 };

	dump_init(d, 0);
	dump_load(d, 10, 0x1000, 0x20, 1, "one");
	dump_load(d, 20, 0x3000, 0x20, 2, "else");
	ok(versions_of(d, 0x1010, times, 3, &a) == 0 && a.nr == 0,
	   "versions: nothing is asked where nothing was replaced");
	dump_load(d, 20, UINT64_MAX - 4, 0x20, 1, "overflow");
	dump_load(d, 30, 0x1000, 0x20, 2, "two");
	d->len -= 9;
	ok(versions_of(d, 0x1010, times, 3, &a) == 0, "versions: an unterminated name is dropped");
	d->len += 9;
	ok(versions_of(d, 0x1010, times, 3, &a) == 1 && !a.versions[1] && a.versions[2],
	   "versions: an invalid record affects no other");
	d->bytes[0] = 0;
	ok(versions_of(d, 0x1010, times, 3, &a) == -EBADMSG,
	   "versions: a file that is not a dump has none");
}

/* A million times the same place: memory goes with the addresses. */
static void test_many_versions(struct dump_maker *d)
{
	enum { RECORDS = 1000000 };
	uint64_t *times = calloc(RECORDS, sizeof(*times)), nr_wrong = 0;
	int fd = memfd_create("dump", MFD_CLOEXEC);
	FILE *f = fdopen(dup(fd), "w");
	struct jit_address addr = { 0x1010, 1 };
	struct asked a = { .addr = 0x1010 };

	must(times && fd >= 0 && f);
	dump_init(d, 0);
	must(fwrite(d->bytes, 1, d->len, f) == d->len);
	for (uint64_t i = 0; i < RECORDS; i++) {
		d->len = 0;
		dump_load(d, 10 + i * 10, 0x1000, 0x20, i, "f");
		must(fwrite(d->bytes, 1, d->len, f) == d->len);
		times[i] = 15 + i * 10;
	}
	must(fclose(f) == 0);
	must(jit_versions_each(fd, &addr, 1, times, RECORDS, ask, &a, NULL) == 1);
	ok(a.nr == RECORDS, "versions: a million records, at %u times", a.nr);
	for (uint32_t i = 1; i < MAX_ASKED; i++)
		nr_wrong += !a.versions[i] || a.versions[i] == a.versions[i - 1];
	ok(!a.versions[0] && nr_wrong == 0, "versions: a million records are all different");
	close(fd);
	free(times);
}

int main(void)
{
	struct dump_maker *d = malloc(sizeof(*d));

	must(d);
	test_versions(d);
	test_version_names(d);
	test_bad_versions(d);
	test_many_versions(d);
	free(d);
	return tap_done();
}
