/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The values that outlive a step: params and states, by name, in the physical layout the first plan
 * chose. Several plans (training, evaluation, a short last batch) share one store. */
#ifndef DLX_BACKEND_STORE_H
#define DLX_BACKEND_STORE_H

#include "backend/device.h"

struct store_entry {
	const char *name;
	enum role role;              /* ROLE_PARAM or ROLE_STATE */
	struct shape shape;
	enum dtype dtype;            /* on the device */
	struct layout layout;
	struct init init;
	enum state_use use;          /* of a state */
	const struct device *dev;
	void *data;                  /* in the device's memory; code that
	                              * writes there calls store_touch */
	size_t bytes;
	uint64_t *changes;           /* the store's counter of changes (store_changes) */
};

struct store;

struct store *store_new(const struct device *dev, uint64_t seed);
void store_free(struct store *s);                 /* NULL is fine */
/* Before pass_layout: gives the params and states of g the layouts the store has already. */
void store_preset(const struct store *s, struct graph *g);
/* Sets the memory in which the value of this name, which store_add will create, is to be kept:
 * zeroed, of at least the bytes it needs, borrowed by the store. */
void store_place(struct store *s, const char *name, void *memory);
bool store_is_placed(const struct store *s, const char *name);
/* Bytes that the store allocates for a value of this many bytes. */
size_t store_padded(size_t bytes);
/* After planning: makes an entry with initial values for each param and state of g that has none. A
 * shape that differs is E_SHAPE. E_NOMEM with a table of what is needed if memory is refused. */
int store_add(struct store *s, const struct graph *g);
/* Makes the entries without memory and values, for plans that will not run; store_add must not be
 * called on such a store. */
int store_note(struct store *s, const struct graph *g);
/* Resets every entry to its initial value. */
int store_begin_again(struct store *s);
int store_count(const struct store *s);
struct store_entry *store_at(const struct store *s, int i);           /* in order of first use */
struct store_entry *store_find(const struct store *s, const char *name);   /* or NULL */
/* Values in plain layout, converted to/from dtype t. Only a
 * device with a memory of its own can fail. */
int store_get(const struct store_entry *e, enum dtype t, void *plain);
int store_set(struct store_entry *e, enum dtype t, const void *plain);
/* store_get in two parts, concurrent with kernels, in the entry's own dtype, on a device with its
 * own memory: store_get_begin starts the copy (copy_beside) to store_room bytes of alloc_host
 * memory; store_get_end, in any thread after copy_wait, makes the values row-major in place. */
size_t store_room(const struct store_entry *e);          /* bytes; without device memory those of
                                                          * the row-major values */
int store_get_begin(const struct store_entry *e, void *room);
int store_get_end(const struct store_entry *e, void *room);
/* A number that changes whenever values are written: by store_set, by a plan's update, or by
 * store_touch. Data derived from values are valid as long as it stays the same. */
uint64_t store_changes(const struct store *s);
void store_touch(struct store_entry *e);
uint64_t store_touch_all(struct store *s);               /* the new number */
/* Sets a function that plans in host memory call in each run with updates, before the first update
 * overwrites a stored value (so that a snapshot can be finished); call NULL: none. Plans call it by
 * store_meet_update. */
void store_before_update(struct store *s, void (*call)(void *arg), void *arg);
void store_meet_update(const struct store *s);
/* Whether the entry is part of the network: a param or a running statistic, not an optimizer's
 * state. */
bool store_is_weight(const struct store_entry *e);

#endif
