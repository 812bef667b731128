/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/siphash.h"

struct sip {
	uint64_t a, b, c, d;
};

static uint64_t turn(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static void rounds(struct sip *s, int n)
{
	while (n-- > 0) {
		s->a += s->b;
		s->c += s->d;
		s->b = turn(s->b, 13) ^ s->a;
		s->d = turn(s->d, 16) ^ s->c;
		s->a = turn(s->a, 32) + s->d;
		s->c += s->b;
		s->d = turn(s->d, 21) ^ s->a;
		s->b = turn(s->b, 17) ^ s->c;
		s->c = turn(s->c, 32);
	}
}

/* Up to eight bytes, the first one lowest. */
static uint64_t word(const uint8_t *p, size_t n)
{
	uint64_t v = 0;
	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

static void take(struct sip *s, uint64_t m)
{
	s->d ^= m;
	rounds(s, 2);
	s->a ^= m;
}

uint64_t siphash(const void *p, size_t n, const uint8_t key[16])
{
	const uint8_t *at = p, *end = at + n / 8 * 8;
	const uint64_t k0 = word(key, 8), k1 = word(key + 8, 8);
	struct sip s = { k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
		k1 ^ 0x7465646279746573 };
	for (; at < end; at += 8)
		take(&s, word(at, 8));
	take(&s, (uint64_t)n << 56 | word(at, n % 8));
	s.c ^= 0xff;
	rounds(&s, 4);
	return s.a ^ s.b ^ s.c ^ s.d;
}

double siphash_uniform(const int64_t *v, int n)
{
	static const uint8_t key[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
	return (double)siphash(v, (size_t)n * sizeof *v, key) * 0x1p-64;
}
