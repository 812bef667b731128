/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads messages of TensorFlow's type Example: a map of named features, each a list of bytes, of
 * floats or of integers. A message of any size is read through a window in memory, and only the
 * requested values are decoded. */
#ifndef DLX_DATA_TOOLS_TF_EXAMPLE_H
#define DLX_DATA_TOOLS_TF_EXAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message of n bytes, a function that reads from it, and a window of its bytes in memory. */
struct message {
	uint64_t n;
	int (*read)(void *user, uint64_t at, void *out, size_t n);
	void *user;
	uint8_t *window;             /* the window: bytes from .. from + have - 1 of the message, with
	                              * room for `room` */
	uint64_t from;
	size_t have, room;           /* room: 16 at least */
	int rc;                      /* error of a failed read, else 0 */
};

enum feature_kind { FEATURE_NONE, FEATURE_BYTES, FEATURE_FLOATS, FEATURE_INTS };

/* The position of a value in a list: value number `value` is at byte `at` of the message. end: if
 * not 0, the value is in a packed field that ends at this byte. */
struct feature_mark {
	uint64_t value, at, end;
};

struct feature {
	uint64_t name, name_length;  /* byte offset and length of the name in the message */
	enum feature_kind kind;
	uint64_t list, size;         /* byte offset and bytes of the list */
	uint64_t count;              /* number of bytes (of all values together), of floats or of
	                              * integers */
	int nmarks;                  /* positions in a long list, from which reading starts near a
	                              * requested value */
	struct feature_mark *mark;
};

/* Iterates over the features of a message; all but m is zeroed at first. */
struct example {
	struct message *m;
	uint64_t at;                 /* byte offset in the message */
	uint64_t end;                /* byte offset of the end of the Features field being read */
	const char *wrong;           /* description of the damage at `at`; else NULL */
};

/* Gets the next feature, which the caller releases. Returns false at the end, if the message is
 * damaged, or if reading it failed (m->rc). */
bool example_next(struct example *e, struct feature *out);
/* Gets the feature of this name, the last one if there are several; false if there is none, or on
 * the errors of example_next. */
bool example_find(struct example *e, const char *name, struct feature *out);
void feature_release(struct feature *f);         /* a zeroed one is fine */
/* Reads n values from value `first` on, all within f->count, as bytes, float or int64_t. Returns
 * what message.read returns. */
int feature_read(struct message *m, const struct feature *f, uint64_t first, uint64_t n, void *out);
/* Reads n bytes of the message, all within it. Returns what message.read returns. */
int message_read(struct message *m, uint64_t at, void *out, size_t n);

#endif
