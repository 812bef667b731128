/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of TensorFlow's type Example: a map of named features, each a list of bytes, of floats
 * or of integers. Nothing is copied or allocated: a feature points into the message. */
#ifndef DLX_DATA_TOOLS_TF_EXAMPLE_H
#define DLX_DATA_TOOLS_TF_EXAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum feature_kind { FEATURE_NONE, FEATURE_BYTES, FEATURE_FLOATS, FEATURE_INTS };

struct feature {
	const char *name;            /* of name_length bytes, without a zero behind them */
	size_t name_length;
	enum feature_kind kind;
	const uint8_t *list;         /* the list's message */
	size_t size;
	uint64_t count;              /* bytes (of all values together), floats or integers */
};

/* Walks through the features of a message of n bytes; zeroed to begin with. */
struct example {
	const uint8_t *message;
	size_t n;
	size_t at;                   /* in the message */
	size_t end;                  /* of the Features that are being read */
	const char *wrong;           /* what is damaged, at `at`; else NULL */
};

/* The next feature; false at the end, or if the message is damaged. */
bool example_next(struct example *e, struct feature *out);
/* The feature of this name, the last one if it is there twice; false if there is none. Sets what
 * example_next sets. */
bool example_find(struct example *e, const char *name, struct feature *out);
/* Its values: bytes as they are, float or int64_t. */
void feature_values(const struct feature *f, void *out);

#endif
