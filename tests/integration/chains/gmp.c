/* SPDX-License-Identifier: Apache-2.0 */
/* main → alpha → work → __gmpz_mul or __gmpz_add → libgmp's assembly, for ever. */
#include <gmp.h>

static volatile unsigned long sink;

__attribute__((noinline)) static void work(mpz_t product, mpz_t sum, mpz_t a, mpz_t b)
{
	for (int i = 0; i < 1000; i++) {
		mpz_mul(product, a, b);
		for (int j = 0; j < 20; j++)
			mpz_add(sum, a, b);
	}
	sink++;
}

__attribute__((noinline)) static void alpha(mpz_t product, mpz_t sum, mpz_t a, mpz_t b)
{
	work(product, sum, a, b);
	sink++;
}

int main(void)
{
	mpz_t a, b, product, sum;

	mpz_inits(a, b, product, sum, NULL);
	mpz_ui_pow_ui(a, 3, 800);
	mpz_ui_pow_ui(b, 7, 450);
	for (;;)
		alpha(product, sum, a, b);
}
