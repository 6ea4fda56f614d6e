/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of pprof files as a stranger may write them, field by field. */
#ifndef TESTS_UNIT_PPROF_MAKER_H
#define TESTS_UNIT_PPROF_MAKER_H

#include <stdint.h>
#include <string.h>

#include "tap.h"

#define MAKER_MAX_BYTES (1u << 20)

struct maker {
	uint8_t bytes[MAKER_MAX_BYTES];
	size_t n;
};

static void make_varint(struct maker *m, uint64_t v)
{
	must(m->n + 10 < sizeof(m->bytes));
	for (; v >= 0x80; v >>= 7)
		m->bytes[m->n++] = (uint8_t)(v | 0x80);
	m->bytes[m->n++] = (uint8_t)v;
}

/* A field that is a number. */
static void make_number(struct maker *m, uint32_t field, uint64_t v)
{
	make_varint(m, field << 3);
	make_varint(m, v);
}

/* A field that is text, a message, or packed numbers. */
static void make_bytes(struct maker *m, uint32_t field, const void *bytes, size_t n)
{
	make_varint(m, field << 3 | 2);
	make_varint(m, n);
	must(m->n + n < sizeof(m->bytes));
	memcpy(m->bytes + m->n, bytes, n);
	m->n += n;
}

/* A field that is a message of numbers: (field, value) pairs up to field 0. */
static void make_message(struct maker *m, uint32_t field, const uint64_t (*pairs)[2])
{
	struct maker *inner = calloc(1, sizeof(*inner));

	must(inner);
	for (; (*pairs)[0]; pairs++)
		make_number(inner, (uint32_t)(*pairs)[0], (*pairs)[1]);
	make_bytes(m, field, inner->bytes, inner->n);
	free(inner);
}

/* The numbers of these strings in a made file: those below, after "". */
enum {
	S_SAMPLES = 1,
	S_COUNT,
	S_CPU,
	S_NANOSECONDS,
	S_MAIN,
	S_WORK,
	S_FILE,
	S_KEY,
	S_VALUE,
	S_PATH
};

static void make_strings(struct maker *m)
{
	static const char *const strings[] = { "",      "samples", "count", "cpu", "nanoseconds",
					       "main",  "work",    "a.c",   "key", "value",
					       "/bin/a" };

	for (size_t i = 0; i < sizeof(strings) / sizeof(strings[0]); i++)
		make_bytes(m, 6, strings[i], strlen(strings[i]));
}

#define PAIRS(...) ((const uint64_t[][2]){ __VA_ARGS__, { 0, 0 } })

/* Two functions at two addresses without a mapping, of a file with two types: a valid profile without samples. */
static void make_tables(struct maker *m)
{
	make_message(m, 1, PAIRS({ 1, S_SAMPLES }, { 2, S_COUNT }));
	make_message(m, 1, PAIRS({ 1, S_CPU }, { 2, S_NANOSECONDS }));
	make_message(m, 5, PAIRS({ 1, 700 }, { 2, S_MAIN }, { 4, S_FILE }));
	make_message(m, 5, PAIRS({ 1, 800 }, { 2, S_WORK }, { 4, S_FILE }));
	/* location 7 is main:3, location 1 << 40 is work:5 */
	make_bytes(m, 4, "\x08\x07\x22\x05\x08\xbc\x05\x10\x03", 9);
	make_bytes(m, 4, "\x08\x80\x80\x80\x80\x80\x20\x22\x05\x08\xa0\x06\x10\x05", 14);
	make_strings(m);
}

#endif
