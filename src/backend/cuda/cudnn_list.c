/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cuDNN needs time to make each configuration, so only a few are requested at first. */
#include "backend/cuda/cudnn_list.h"

#include <stdio.h>
#include <string.h>

#include "backend/proof/passed.h"
#include "base/debug.h"

#define FEW 4                 /* number of configurations requested at first */
#define MAXNOTE 16

static void ask(struct cudnn_list *l, const struct cudnn *c, desc graph)
{
	const cudnnBackendHeurMode_t mode = l->mode == 'a' ? CUDNN_HEUR_MODE_A :
	                                    CUDNN_HEUR_MODE_FALLBACK;
	struct cudnn_set *s = &l->set;
	l->heuristics = cudnn_make(s, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
	cudnn_put_desc(s, l->heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
	cudnn_put(s, l->heuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
	if (c->device)
		cudnn_put_desc(s, l->heuristics, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, c->device);
	cudnn_finalize(s, l->heuristics);
}

/* Requests the first `most` configurations. */
static void fetch(struct cudnn_list *l, int most)
{
	for (int i = 0; i < most; i++)
		l->config[i] = cudnn_make(&l->set, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
	l->n = (int)cudnn_get(&l->set, l->heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS,
	                      CUDNN_TYPE_BACKEND_DESCRIPTOR, most, l->config);
	l->wanted = most;
}

bool cudnn_list_has(struct cudnn_list *l, const struct cudnn *c, desc graph, int i)
{
	if (l->wanted == 0) {
		ask(l, c, graph);
		fetch(l, FEW);
	}
	if (i >= l->n && l->n == FEW && l->wanted == FEW)
		fetch(l, CUDNN_LIST_MAX);
	return i < l->n;
}

/* Whether an engine with these notes may be used. Inputs of 32 bits are never made 16 bits, which
 * have another range; what rounds them to TF32 is called a tensor core. */
static bool allowed(const struct cudnn_demand *want, const cudnnBackendNumericalNote_t *note,
                    int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		if (note[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC && want->deterministic)
			return false;
		if (note[i] == CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION ||
		    note[i] == CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)
			return false;
		if (want->exact && note[i] == CUDNN_NUMERICAL_NOTE_TENSOR_CORE)
			return false;
	}
	return true;
}

/* Whether cuDNN would compile the engine. */
static bool is_compiled(struct cudnn_set *s, desc engine)
{
	cudnnBackendBehaviorNote_t note[MAXNOTE];
	int64_t n = cudnn_get(s, engine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
	                      MAXNOTE, note);
	for (int64_t i = 0; i < n; i++)
		if (note[i] == CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION)
			return true;
	return false;
}

/* Whether engines that cuDNN compiles may be taken. */
static bool compiles(const struct cudnn *c)
{
	return debug.engines ? strcmp(debug.engines, "precompiled") != 0 : !c->leave_unknown;
}

bool cudnn_list_look(const struct cudnn_list *l, const struct cudnn *c,
                     const struct cudnn_demand *want, int i, struct cudnn_candidate *out)
{
	desc config = l->config[i];
	struct cudnn_set s = { .status = CUDNN_STATUS_SUCCESS };
	cudnnBackendNumericalNote_t note[MAXNOTE];
	char impl[CUDNN_IMPL];
	*out = (struct cudnn_candidate){ .index = -1 };
	desc engine = cudnn_make(&s, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
	cudnn_get(&s, config, CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &engine);
	cudnn_get(&s, engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, &out->index);
	out->compiled = is_compiled(&s, engine);
	int64_t n = cudnn_get(&s, engine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
	                      MAXNOTE, note);
	bool ok = s.status == CUDNN_STATUS_SUCCESS && out->index != want->wrong &&
	          allowed(want, note, n) && (compiles(c) || !out->compiled);
	cudnn_release(&s);
	snprintf(out->name, sizeof out->name, "%c%d:eng%d", l->mode, i, (int)out->index);
	return ok && !passed_over(want->key, cudnn_engine_impl(out->name, impl));
}
