/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/suggest.h"

#include <stdint.h>
#include <string.h>

#define WORD_MAX 32         /* a longer word is not a typo of an option */
#define PREFIX_MIN 3        /* shorter prefixes match too many names */
#define LETTERS_PER_TYPO 3u /* a word of three letters may have one typo, of six two */

static size_t smallest(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

/* The optimal string alignment distance of word and name, of at most WORD_MAX letters each, row by
 * row of its table; rows[i % 3] is for the first i letters of word. */
static size_t count_typos(const char *word, size_t len, const char *name, size_t name_len)
{
	size_t rows[3][WORD_MAX + 1];

	for (size_t j = 0; j <= name_len; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= len; i++) {
		size_t *row = rows[i % 3], *above = rows[(i - 1) % 3], *above2 = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= name_len; j++) {
			size_t changed = above[j - 1] + (word[i - 1] != name[j - 1]);

			row[j] = smallest(above[j] + 1, row[j - 1] + 1, changed);
			if (i > 1 && j > 1 && word[i - 1] == name[j - 2] &&
			    word[i - 2] == name[j - 1] && above2[j - 2] + 1 < row[j])
				row[j] = above2[j - 2] + 1;
		}
	}
	return rows[len % 3][name_len];
}

/* SIZE_MAX if there are too many typos. */
static size_t typos_if_close(const char *word, size_t len, const char *name)
{
	size_t name_len = strlen(name), typos;

	if (len > WORD_MAX || name_len > WORD_MAX)
		return SIZE_MAX;
	typos = count_typos(word, len, name, name_len);
	return typos <= len / LETTERS_PER_TYPO ? typos : SIZE_MAX;
}

bool suggest_is_close(const char *word, size_t len, const char *name)
{
	return typos_if_close(word, len, name) != SIZE_MAX;
}

const char *suggest_option(const struct option_table *table, const char *word, size_t len)
{
	const char *best = NULL;
	size_t fewest = SIZE_MAX;

	for (size_t i = 0; i < table->nr_defs; i++) {
		const char *name = table->defs[i].name;
		bool is_beginning = len >= PREFIX_MIN && !strncmp(word, name, len);
		size_t typos = is_beginning ? 0 : typos_if_close(word, len, name);

		if (typos < fewest) {
			fewest = typos;
			best = name;
		}
	}
	return best;
}
