/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Did you mean: the name that was meant by a word that is none. */
#ifndef DLX_BASE_SUGGEST_H
#define DLX_BASE_SUGGEST_H

/* The name of names[] (NULL-terminated) nearest to s, NULL if none is near enough to be meant. */
const char *did_you_mean(const char *s, const char *const *names);

/* The search of it, for candidates that are not in one list. */
struct suggest {
	const char *word;
	const char *best;      /* NULL: none near enough so far */
	int distance;          /* of best */
};

/* Offers a candidate; keeps it if it is near enough to be meant and nearer than the best. */
void suggest_offer(struct suggest *s, const char *candidate);

#endif
