/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tiles of conv_tile.c for bf16. The dot-product instruction multiplies two pairs and adds both
 * products to a float32 sum; a pair is the same channel of two adjacent pixels. The wide side is
 * loaded unpaired and paired in registers; the tall side, whose pairs a tile broadcasts, is paired
 * once for all tiles of a block (tile_pair).
 *
 * What bf16 gains on a CPU, in ms on two cores (dlx-train --bench --profile, float32 -> bf16).
 * Products are twice as fast (950 GFLOP/s instead of 440) and reads take half the time, but no step
 * does:
 *
 *                                      ResNet-50    DeepCAM   SC18 Tiramisu
 *                                   8 x 224 x 224   192x288         192x288
 *   forward convolutions                148 -> 77  80 -> 48      71 in bf16
 *   gradients to inputs                 155 -> 79  91 -> 57      65 in bf16
 *   gradients to weights               180 -> 123 102 -> 74      83 in bf16
 *   of these, Winograd (bf16)                  45        35             187
 *   casts, reorders of weights           3 -> 0.4  6 -> 0.4      0.7 -> 0.3
 *   update, with bf16 copies               5 -> 9  41 -> 51          2 -> 3
 *
 * - Winograd convolution keeps float32 between its transforms (op/winograd/winograd.h). - oneDNN
 * 2.6's gradients to weights and these tiles reach half of the peak. The tiles alone run
 *   at nine tenths of it; short rows, loading and storing sums, and pairing take the rest. The
 *   algorithm with the shorter estimate is chosen.
 * - The update reads and writes float32 weights, gradients and moments (pass/copies.c). - Memory
 * shrinks only while no kernel pads or unfolds: DeepCAM's dilated convolutions took 152
 *   MiB for im2col, and its dilated depthwise ones weights and moments of 16 times their
 *   size, until both had algorithms of their own. An odd `workspace` or `parameters` in
 *   --plan is worth a look. */
#define TILE_TARGET "avx512f,avx512bw,avx512vl,avx512bf16"
#include "base/isa.h"
#include "op/conv/conv_tile_simd.h"

#if SIMD_AVX512

bool tile_bf16_supported(void)
{
	return isa_has(ISA_AVX512_BF16);
}

TILE_INLINE __m512i load(const uint16_t *p, bool last, __mmask16 mask)
{
	return _mm512_cvtepu16_epi32(last ? _mm256_maskz_loadu_epi16(mask, p)
	                                  : _mm256_loadu_si256((const __m256i *)p));
}

TILE_INLINE void multiply(const int nv, const int rows, const uint32_t *tall, const __m512i *w,
                          __m512 s[][TILE_MAXV])
{
	SIMD_UNROLL
	for (int r = 0; r < rows; r++) {
		const __m512i t = _mm512_set1_epi32((int)tall[r]);
		SIMD_UNROLL
		for (int v = 0; v < nv; v++)
			s[r][v] = _mm512_dpbf16_ps(s[r][v], (__m512bh)w[v], (__m512bh)t);
	}
}

/* `first` goes to the lower half of each word, where the first pixel of a pair belongs. */
TILE_INLINE __m512i pair(__m512i first, __m512i second)
{
	return _mm512_or_si512(first, _mm512_slli_epi32(second, 16));
}

/* Pairing two vectors at once mixes them: each 128 bits of the first result hold 4 of every 8
 * channels, those of the second result the other 4. The sums keep this order until unmix(). */
TILE_INLINE void load_two(const uint16_t *a, const uint16_t *b, bool last, __mmask16 mask,
                          __m512i *w)
{
	const __mmask32 m = last ? (__mmask32)mask << 16 | 0xFFFF : 0xFFFFFFFF;
	const __m512i first = last ? _mm512_maskz_loadu_epi16(m, a) : _mm512_loadu_si512(a);
	const __m512i second = last ? _mm512_maskz_loadu_epi16(m, b) : _mm512_loadu_si512(b);
	w[0] = _mm512_unpacklo_epi16(first, second);
	w[1] = _mm512_unpackhi_epi16(first, second);
}

/* Loads the two pixels at `wide` as pairs. */
TILE_INLINE void load_pair(const int nv, const struct tile_pixels *p, const uint16_t *wide,
                           __mmask16 mask, __m512i *w)
{
	const uint16_t *next = wide + p->wide_step;
	if (nv > 1)
		load_two(wide, next, nv == 2, mask, w);
	if (nv % 2)
		w[nv - 1] = pair(load(wide + (nv - 1) * TILE_VECTOR, true, mask),
		                 load(next + (nv - 1) * TILE_VECTOR, true, mask));
	_mm_prefetch((const char *)(wide + p->wide_ahead), _MM_HINT_T1);
	_mm_prefetch((const char *)(next + p->wide_ahead), _MM_HINT_T1);
}

/* Loads one pixel of a pair; the other one counts as 0. */
TILE_INLINE void load_bf16(const int nv, const uint16_t *wide, bool second, __mmask16 mask,
                           __m512i *w)
{
	const __m512i zero = _mm512_setzero_si512();
	if (nv > 1) {
		const __mmask32 m = nv == 2 ? (__mmask32)mask << 16 | 0xFFFF : 0xFFFFFFFF;
		const __m512i v = _mm512_maskz_loadu_epi16(m, wide);
		w[0] = second ? _mm512_unpacklo_epi16(zero, v) : _mm512_unpacklo_epi16(v, zero);
		w[1] = second ? _mm512_unpackhi_epi16(zero, v) : _mm512_unpackhi_epi16(v, zero);
	}
	if (nv % 2) {
		const __m512i v = load(wide + (nv - 1) * TILE_VECTOR, true, mask);
		w[nv - 1] = second ? pair(zero, v) : v;
	}
}

/* Restores the order of the channels in mixed vectors of sums. */
TILE_INLINE void unmix(__m512 *s)
{
	const __m512i lo = _mm512_set_epi32(23, 22, 21, 20, 7, 6, 5, 4, 19, 18, 17, 16, 3, 2, 1, 0);
	const __m512i hi = _mm512_add_epi32(lo, _mm512_set1_epi32(8));
	const __m512 a = s[0];
	s[0] = _mm512_permutex2var_ps(a, lo, s[1]);
	s[1] = _mm512_permutex2var_ps(a, hi, s[1]);
}

TILE_INLINE void outer(const int nv, const int rows, const struct tile_pixels *p, int64_t wide_at,
                       int64_t tall_at, __mmask16 mask, float *sum)
{
	__m512 s[TILE_MAXROWS][TILE_MAXV];
	__m512i w[TILE_MAXV];

	tile_clear(nv, rows, s);
	for (int seg = 0; seg < p->n; seg++) {
		const uint16_t *wide = (const uint16_t *)p->wide[seg] + wide_at;
		const uint32_t *tall = (const uint32_t *)p->tall[seg] + tall_at;
		int64_t left = p->len;
		if (p->head) {
			load_bf16(nv, wide, true, mask, w);
			multiply(nv, rows, tall, w, s);
			wide += p->wide_step;
			tall += p->tall_step;
			left--;
		}
		for (; left > 1; left -= 2) {
			load_pair(nv, p, wide, mask, w);
			multiply(nv, rows, tall, w, s);
			wide += 2 * p->wide_step;
			tall += p->tall_step;
		}
		if (left) {
			load_bf16(nv, wide, false, mask, w);
			multiply(nv, rows, tall, w, s);
		}
	}
	SIMD_UNROLL
	for (int r = 0; r < rows; r++) {
		if (nv > 1)
			unmix(s[r]);
		tile_add_row(nv, s[r], sum + r * nv * TILE_VECTOR);
	}
}

TILE_SIZES(tile_outer_bf16)

__attribute__((target(TILE_TARGET))) void tile_pair(const struct tile_row *r, uint32_t *to)
{
	const __mmask16 m = (__mmask16)((1u << r->channels) - 1);

	for (int64_t i = 0; i < r->n; i += r->every, to += TILE_VECTOR) {
		const uint16_t *at = r->from + i * r->step;
		__m512i v = load(at, true, m);
		if (i + r->partner < r->n)
			v = pair(v, load(at + r->partner * r->step, true, m));
		_mm512_storeu_si512(to, v);
	}
}

#else

bool tile_bf16_supported(void)
{
	return false;
}

tile_outer_fn *tile_outer_bf16(int v, int rows)
{
	BUG("no tile of %d x %d on this CPU", v, rows);
}

void tile_pair(const struct tile_row *r, uint32_t *to)
{
	BUG("no pairs of %d channels on this CPU", r->channels);
}

#endif
