/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Guesses what a user meant by a word that is not an allowed name: another program's word for one
 * of the names, a feature that dlx offers differently (then advice), or a typing error. */
#ifndef DLX_YAML_SYNONYM_H
#define DLX_YAML_SYNONYM_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/suggest.h"

/* Values of synonym.from: the program that a word comes from. */
#define PYTORCH "PyTorch"
#define KERAS "Keras"
#define MONAI "MONAI"

struct synonym {
	const char *word;      /* compared without case, '_', '-' and any prefix up to a '.' */
	const char *from;      /* the program that uses the word; NULL: no particular one */
	const char *name;      /* dlx's name for it, or NULL */
	const char *advice;    /* the advice printed if `name` is not an allowed name here, or NULL */
	bool here;             /* the word never refers to `name` in another section of the config */
};
/* The tables by topic; each ends with a row whose word is NULL. */
extern const struct synonym synonyms_of_learning[], synonyms_of_models[], synonyms_of_runs[];
/* Iterates over the rows of all tables: returns the row after s (the first one if s is NULL), or
 * NULL after the last. */
const struct synonym *synonym_next(const struct synonym *s);

struct hint {
	struct suggest near;           /* the nearest candidate by spelling */
	const struct synonym *row;     /* the first row of the word whose name was offered */
	const char *same;              /* the candidate that differs in case and '_' alone */
};

/* Begins a search. word must live as long as the hint. */
void hint_begin(struct hint *h, const char *word);
void hint_offer(struct hint *h, const char *candidate);
/* The candidate that the word most likely means, or NULL. A known word of another program is never
 * treated as a typing error: 'gpu' does not become 'cpu'. */
const char *hint_name(const struct hint *h);
/* The first advice for the word, or NULL. */
const char *hint_advice(const struct hint *h);
/* If the word is another program's word for a name that was not offered (one of another section):
 * that name; else NULL. */
const char *hint_elsewhere(const struct hint *h);
/* Appends "; did you mean 'NAME' (PyTorch's 'WORD')?" or "; ADVICE"; false: nothing is known. */
bool hint_put(struct buf *out, const struct hint *h);
/* The same for the names of a list that ends with NULL. */
bool hint_of(struct buf *out, const char *word, const char *const *names);

#endif
