/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/suggest.h"

#include <string.h>

#include "tap.h"

static const struct option_def defs[] = {
	{ "pid" },  { "profile" }, { "profile-output" },   { "duration" },
	{ "sort" }, { "strict" },  { "symbol-cache-dir" }, { "symbol-cache-max" },
};
static const struct option_table table = { defs, sizeof(defs) / sizeof(defs[0]) };

/* expected NULL: nothing is suggested. */
static void check(const char *word, const char *expected, const char *what)
{
	const char *name = suggest_option(&table, word, strlen(word));

	ok(name && expected ? !strcmp(name, expected) : name == expected, "%s: '%s' gives %s", what,
	   word, name ? name : "nothing");
}

int main(void)
{
	char lengthy[200];

	check("profle", "profile", "suggest: a letter left out is one typo");
	check("proofile", "profile", "suggest: a letter added is one typo");
	check("prafile", "profile", "suggest: a letter changed is one typo");
	check("rpofile", "profile", "suggest: two letters swapped are one typo");
	check("pdi", "pid", "suggest: three letters may have one typo");
	check("dip", NULL, "suggest: three letters may not have two");
	check("soet", "sort", "suggest: four letters may have one typo");
	check("durtaoin", "duration", "suggest: eight letters may have two");
	check("druatoin", "duration", "suggest: two swaps are two typos");
	check("rdautoin", NULL, "suggest: three typos in eight letters are too many");
	check("symbol-cache-mex", "symbol-cache-max",
	      "suggest: of two close names the closer one is meant");
	check("profile-out", "profile-output", "suggest: the beginning of a name is enough");
	check("pro", "profile", "suggest: of several names that begin so, the first");
	check("pr", NULL, "suggest: two letters are too few for a beginning");
	check("", NULL, "suggest: no letters are close to nothing");
	memset(lengthy, 'p', sizeof(lengthy) - 1);
	lengthy[sizeof(lengthy) - 1] = '\0';
	check(lengthy, NULL, "suggest: a word longer than every name is not a typo");
	ok(suggest_option(&table, "profile=x", 7) == defs[1].name,
	   "suggest: only the first len bytes of the word count");
	ok(suggest_is_close("doctro", 6, "doctor") && !suggest_is_close("docker", 6, "doctors"),
	   "suggest: closeness of two words is bounded by the length of the first");
	return tap_done();
}
