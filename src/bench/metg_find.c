/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/metg_find.h"

#include "base/err.h"

#define SUSPICIOUS 1.5

/* The point of smallest granularity at the threshold or above; -1: there is none. */
static int smallest(const struct metg_point *p, int n, double threshold)
{
	int best = -1;
	for (int i = 0; i < n; i++)
		if (p[i].efficiency >= threshold && (best < 0 || p[i].granularity < p[best].granularity))
			best = i;
	return best;
}

int metg_find(const struct metg_point *p, int n, double threshold, double *seconds)
{
	const int at = smallest(p, n, threshold);
	for (int i = 0; i < n; i++)
		if (p[i].efficiency >= SUSPICIOUS)
			return ERR(E_DATA, NULL, "the efficiency is %.2f with %lld iterations, but none can be "
			           "%.1f: the reference rate (--peak, or that of the largest size) is wrong",
			           p[i].efficiency, (long long)p[i].iterations, SUSPICIOUS);
	if (at < 0)
		return ERR(E_DATA, NULL, "no size has an efficiency of %.2f: begin with more iterations "
		           "(--largest)", threshold);
	if (at + 1 == n)
		return ERR(E_DATA, NULL, "the smallest size, of %.3g us, still has an efficiency of %.2f",
		           p[at].granularity * 1e6, p[at].efficiency);
	const struct metg_point *next = &p[at + 1];
	if (next->repetitions < p[at].repetitions)
		return ERR(E_DATA, NULL, "the last size has %d repetitions, and the one before %d",
		           next->repetitions, p[at].repetitions);
	*seconds = p[at].granularity;
	if (next->granularity < *seconds)
		*seconds -= (p[at].granularity - next->granularity) * (p[at].efficiency - threshold) /
		            (p[at].efficiency - next->efficiency);
	return 0;
}
