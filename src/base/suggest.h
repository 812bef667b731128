/* SPDX-License-Identifier: BSD-3-Clause
 *
 * "Did you mean": finds the known name nearest to a misspelt word. */
#ifndef DLX_BASE_SUGGEST_H
#define DLX_BASE_SUGGEST_H

/* The name in names[] (NULL-terminated) nearest to s by edit distance; NULL if none is near
 * enough. */
const char *did_you_mean(const char *s, const char *const *names);

/* The state of such a search, for candidates that are not in one list. */
struct suggest {
	const char *word;
	const char *best;      /* NULL: none near enough so far */
	int distance;          /* edit distance of `best` */
};

/* Offers a candidate; keeps it if it is near enough to be meant and nearer than the best. */
void suggest_offer(struct suggest *s, const char *candidate);

#endif
