/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The search behind did_you_mean, for candidates that are not in one list. */
#ifndef DLX_YAML_SUGGEST_H
#define DLX_YAML_SUGGEST_H

struct suggest {
	const char *word;
	const char *best;      /* NULL: none near enough so far */
	int distance;          /* of best */
};

/* Offers a candidate; keeps it if it is near enough to be meant and nearer than the best. */
void suggest_offer(struct suggest *s, const char *candidate);

#endif
