/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The key parallel.spatial: a grid of planes divides each sample into subdomains, one for each rank
 * of a sample's team (Oyama et al., TPDS 2021; pass/cut.h). Ranks are numbered team by team:
 * subdomain p of team g is on rank g * parts + p. Teams take the place of ranks wherever samples
 * are shared out. */
#ifndef DLX_PLAN_SPATIAL_H
#define DLX_PLAN_SPATIAL_H

#include "plan/config.h"
#include "plan/session.h"

#define SPATIAL_MOST 4096        /* largest number of subdomains */

/* Parses the key's value, a list of one number for each spatial axis; axes 0 if it is null, auto or
 * all numbers are 1. E_CONFIG at the value. */
int spatial_parse(const struct ynode *n, struct cut_grid *grid);
/* Whether the value is `auto` (spatial_auto.h). */
bool spatial_is_auto(const struct ynode *n);
/* Checks that the config has no key that excludes spatial partition. E_CONFIG at that key. */
int spatial_check(const struct run_config *c);
/* The least number of ranks of a run with this config: those that share a sample, 1 without a cut
 * and with `auto`. */
int spatial_ranks(const struct run_config *c);
/* Sets the members of s that say which samples and which subdomain this rank has, before its data
 * are opened. An export has whole samples, and so has `auto` until spatial_set_cut. E_CONFIG if
 * s->nranks is no multiple of the number of subdomains. */
int spatial_begin(struct session *s);
/* Sets these members for a cut; s->nranks must be a multiple of the number of its subdomains. */
void spatial_set_cut(struct session *s, const struct cut_grid *grid);
/* plan_cut_typical for the run of s with its cut. */
int spatial_typical(const struct session *s, int *subdomain, int *largest);
/* E_UNSUPPORTED at a key if the device cannot compute what the config says, or what the session was
 * opened for needs whole samples. */
int spatial_check_device(const struct session *s);
/* Makes the team of the ranks that share a sample, s->sample, and begins to connect their GPUs.
 * Collective. */
int spatial_meet(struct session *s);
/* Gives each loader of s the rows of this rank's subdomain, after the shapes of samples are known.
 * Where ranks are only planned for, chooses the subdomain that is planned.
 * E_CONFIG, E_SHAPE at the key if they cannot be cut in this manner. */
int spatial_set_windows(struct session *s);

#endif
