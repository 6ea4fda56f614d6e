// SPDX-License-Identifier: Apache-2.0
/* Writes texts in capital letters, and prints its own CPU time in seconds. The loop asks for the length of the text
 * each time around, which folded stacks show as time in strlen() under shout(); with -DFIXED it asks once. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SIZE 20000
#define TIMES 120

static char text[SIZE + 1];

static __attribute__((noinline)) void shout(char *s)
{
#ifdef FIXED
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
#else
	for (size_t i = 0; i < strlen(s); i++)
#endif
		s[i] = (char)toupper((unsigned char)s[i]);
}

static __attribute__((noinline)) unsigned int whisper(char *s)
{
	unsigned int sum = 0;

	for (int round = 0; round < 40; round++)
		for (size_t i = 0; s[i]; i++) {
			s[i] = (char)tolower((unsigned char)s[i]);
			sum = sum * 31 + (unsigned char)s[i];
		}
	return sum;
}

int main(void)
{
	unsigned int sum = 0;

	for (size_t i = 0; i < SIZE; i++)
		text[i] = (char)('a' + i % 26);
	for (int i = 0; i < TIMES; i++) {
		shout(text);
		sum += whisper(text);
	}
	fprintf(stderr, "sum %u\n", sum);
	printf("%.3f\n", (double)clock() / CLOCKS_PER_SEC);
	return 0;
}
