/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a user meant by a word that is not one of the names allowed: another program's word for one
 * of them, advice where dlx does it in another way, or a typing error. */
#ifndef DLX_YAML_SYNONYM_H
#define DLX_YAML_SYNONYM_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/suggest.h"

/* The vocabularies that words come from; NULL: no program's in particular. */
#define PYTORCH "PyTorch"
#define KERAS "Keras"
#define MONAI "MONAI"

struct synonym {
	const char *word;      /* case, '_', '-' and what is before a '.' do not count */
	const char *from;      /* whose word it is, or NULL */
	const char *name;      /* dlx's name for it, or NULL */
	const char *advice;    /* what to write where that name is not among those allowed, or NULL */
	bool here;             /* it never means that name of another section */
};
/* The tables, by what the words are for; each ends with a word of NULL. */
extern const struct synonym synonyms_of_learning[], synonyms_of_models[], synonyms_of_runs[];
/* The row after s in all tables, one after the other; NULL: the first. NULL after the last. */
const struct synonym *synonym_next(const struct synonym *s);

struct hint {
	struct suggest near;           /* by spelling */
	const struct synonym *row;     /* the first row of the word whose name was offered */
	const char *same;              /* the candidate that differs in case and '_' alone */
};

/* word: borrowed as long as the hint. */
void hint_begin(struct hint *h, const char *word);
void hint_offer(struct hint *h, const char *candidate);
/* The candidate that was meant, or NULL. A word of another program is never taken for a typing
 * error: 'gpu' is not 'cpu'. */
const char *hint_name(const struct hint *h);
/* The first advice for the word, or NULL. */
const char *hint_advice(const struct hint *h);
/* Another program's word for a name that was not offered: the name, or NULL. */
const char *hint_elsewhere(const struct hint *h);
/* Appends "; did you mean 'NAME' (PyTorch's 'WORD')?" or "; ADVICE"; false: nothing is known. */
bool hint_put(struct buf *out, const struct hint *h);
/* The same for the names of a list that ends with NULL. */
bool hint_of(struct buf *out, const char *word, const char *const *names);

#endif
