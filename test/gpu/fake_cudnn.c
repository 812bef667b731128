/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cuDNN's graph API for the emulation, stricter than the library. Every attribute must be known for
 * its descriptor, of the right type and number, set once and before the descriptor is finalized;
 * whatever is required must be there; descriptors that are named must live and be finalized;
 * shapes, types, strides, ids, alignment and workspace must fit. What is wrong is printed and
 * refused.
 *
 * Engines: the first that is proposed rounds (tensor cores), the second is not deterministic, the
 * third reduces in low precision; the fourth is good for everything, and so are the fifth and the
 * slow one of the fallback; the sixth makes 16 bits of what it reads; two more are like the fifth.
 * As in the library, a single operation works in one type; no engine has groups and a chain, nor a
 * chain after a gradient in 16 bits whose channels are not in eights, nor what normalises before a
 * convolution other than in eights and, of gradients, in fp16. A chain after a forward convolution
 * takes windows of larger buffers where 16 bytes of channels can be moved at once, without
 * workspace; a single operation copies them there; no other chain takes them. Time is what the
 * engines say. */
#include "fake_cudnn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void emulate_submit_waiting(void *stream, int (*run)(void *), void *argument);
void emulate_spend(double us);
int emulate_records(void *stream);

static size_t size_of(cudnnBackendAttributeType_t t)
{
	switch (t) {
	case CUDNN_TYPE_BOOLEAN: return sizeof(bool);
	case CUDNN_TYPE_INT64: return sizeof(int64_t);
	case CUDNN_TYPE_FLOAT: return sizeof(float);
	case CUDNN_TYPE_DOUBLE: return sizeof(double);
	case CUDNN_TYPE_CHAR: return 1;
	case CUDNN_TYPE_HANDLE:
		case CUDNN_TYPE_VOID_PTR: case CUDNN_TYPE_BACKEND_DESCRIPTOR: return sizeof(void *);
	default: return sizeof(int);
	}
}

/* --- engines --- */

static const struct {
	int index, note;
	double us;
	bool fallback;
} engines[] = {
	{ 40, CUDNN_NUMERICAL_NOTE_TENSOR_CORE, 10, false },
	{ 41, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, 4, false },
	{ 42, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, 2, false }, { 43, -1, 20, false },
	{ 44, -1, 7, false },
	{ 45, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, 1, false },
	{ 46, -1, 6, false }, { 47, -1, 5, false },
	{ 0, -1, 90, true },
};

bool lists(const char *list, int index, const char **rest)
{
	for (const char *at = list; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (atoi(at) == index) {
			const size_t n = strcspn(at, ":,");
			*rest = at[n] == ':' ? at + n + 1 : "";
			return true;
		}
	return false;
}

/* Whether the heuristics propose an engine: with DLX_FAKE_CUDNN_PROPOSE=43,46 those alone, else all
 * but 46 and 47. */
static bool is_proposed(int index)
{
	const char *only = getenv("DLX_FAKE_CUDNN_PROPOSE"), *rest;
	return only ? lists(only, index, &rest) : index < 46;
}

int index_of(int engine)
{
	return engines[engine].index;
}

bool is_compiled(int engine)
{
	return index_of(engine) == 44 || index_of(engine) >= 46;
}

static int type_of(const fake *t)
{
	return whole(t, CUDNN_ATTR_TENSOR_DATA_TYPE);
}

static int mode_of(const fake *op)
{
	return op->type == POINTWISE ? whole(named(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR),
	                                     CUDNN_ATTR_POINTWISE_MODE) : -1;
}

static bool has_slope(const fake *op)
{
	return find(named(op, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR),
	            CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE) != NULL;
}

/* Channels-last without gaps, channels in eights. */
static bool in_eights(const fake *t)
{
	const int64_t *d = ints(t, CUDNN_ATTR_TENSOR_DIMENSIONS),
	              *s = ints(t, CUDNN_ATTR_TENSOR_STRIDES);
	return d[1] % 8 == 0 && s[1] == 1 && s[axes_of(t) - 1] == d[1];
}

/* What is before a convolution: its intermediate results are of its type, and for a gradient to the
 * weights it is scale, bias and ReLU, the vectors of its type too. */
static bool good_prologue(fake *const *op, int n, int type)
{
	static const int modes[] = { CUDNN_POINTWISE_MUL, CUDNN_POINTWISE_ADD,
		CUDNN_POINTWISE_RELU_FWD };
	fake *t[MAXOPERANDS];
	const bool weights = op[n]->type == FILTER;
	if (n == 0)
		return true;
	for (int i = 0; i < n; i++) {
		const int m = tensors_of(op[i], t);
		if (i >= 3 || mode_of(op[i]) != modes[i] || type_of(t[m - 1]) != type ||
		    !is_virtual(t[m - 1]) || (m > 2 && weights && type_of(t[1]) != type) ||
		    (m == 2 && has_slope(op[i])))
			return false;
	}
	tensors_of(op[0], t);
	return op[n]->type == FORWARD ? in_eights(t[0]) : weights && n == 3 &&
	       type == CUDNN_DATA_HALF && in_eights(t[0]);
}

/* The gradient to the data, the norm's input again, ReLU's gradient, sums. */
static bool good_norm_sums(fake *const *op, int n, int type)
{
	static const int modes[] = { -1, CUDNN_POINTWISE_SUB, CUDNN_POINTWISE_MUL, CUDNN_POINTWISE_MUL,
		CUDNN_POINTWISE_ADD, CUDNN_POINTWISE_RELU_BWD };
	fake *t[MAXOPERANDS];
	if (n != 7 || op[0]->type != DATA || type != CUDNN_DATA_HALF || has_slope(op[5]))
		return false;
	for (int i = 1; i < 6; i++)
		if (mode_of(op[i]) != modes[i])
			return false;
	tensors_of(op[6], t);
	return in_eights(t[0]) && in_eights(t[1]) && type_of(t[1]) == type && !is_virtual(t[1]);
}

bool is_window(const fake *t)
{
	const int64_t *d = ints(t, CUDNN_ATTR_TENSOR_DIMENSIONS),
	              *s = ints(t, CUDNN_ATTR_TENSOR_STRIDES);
	int64_t count = 1, span = 1;
	for (int i = 0; i < axes_of(t); i++) {
		count *= d[i];
		span += (d[i] - 1) * s[i];
	}
	return count != span;
}

static int64_t bytes_each(const fake *t)
{
	return type_of(t) == CUDNN_DATA_FLOAT ? 4 : 2;
}

/* Pixels of whole 16 bytes that begin at multiples of 16 bytes. */
static bool in_packs(const fake *t)
{
	const int64_t *d = ints(t, CUDNN_ATTR_TENSOR_DIMENSIONS),
	              *s = ints(t, CUDNN_ATTR_TENSOR_STRIDES), pack = 16 / bytes_each(t);
	bool all = d[1] % pack == 0 && s[1] == 1;
	for (int i = 0; i < axes_of(t); i++)
		all &= i == 1 || d[i] == 1 || s[i] % pack == 0;
	return all;
}

/* Returns how many windows a graph has. */
static int windows_of(const fake *graph, fake **out)
{
	fake *all[MAXTENSORS];
	int found = 0;
	for (int i = 0, n = graph_tensors(graph, all); i < n; i++)
		if (!is_virtual(all[i]) && is_window(all[i]))
			out[found++] = all[i];
	return found;
}

static bool good_windows(const fake *graph)
{
	fake *window[MAXTENSORS];
	int nop;
	fake *const *op = operations(graph, &nop);
	for (int i = 0, n = windows_of(graph, window); i < n && nop > 1; i++)
		if (op[0]->type != FORWARD || !in_packs(window[i]))
			return false;
	return true;
}

size_t workspace_of(const fake *graph)
{
	fake *window[MAXTENSORS];
	int nop;
	const int n = windows_of(graph, window);
	size_t bytes = 4096;
	operations(graph, &nop);
	if (n && nop > 1)
		return 0;
	for (int i = 0; i < n; i++) {
		size_t copy = (size_t)bytes_each(window[i]);
		for (int a = 0; a < axes_of(window[i]); a++)
			copy *= (size_t)ints(window[i], CUDNN_ATTR_TENSOR_DIMENSIONS)[a];
		bytes += copy;
	}
	return bytes;
}

/* As the library: a single operation in one type; a chain
 * after it if what is between is float32. */
static bool supported(const fake *graph)
{
	fake *t[MAXOPERANDS];
	int all;
	fake *const *first = operations(graph, &all);
	const int before = convolution_of(graph), nop = all - before;
	fake *const *op = first + before;
	tensors_of(op[0], t);
	const int type = type_of(t[0]);
	if (type_of(t[1]) != type || !good_prologue(first, before, type))
		return false;
	for (int i = 0; i < nop; i++) {
		fake *y = t[tensors_of(op[i], t) - 1];
		if (op[i]->type == STATISTICS || op[i]->type == NORM_SUMS)
			continue;
		if (type_of(y) != (is_virtual(y) ? (int)CUDNN_DATA_FLOAT : type))
			return false;
	}
	const fake *x = named(op[0], roles_of(op[0]->type)->x),
	           *w = named(op[0], roles_of(op[0]->type)->w);
	const bool grouped =
		ints(x, CUDNN_ATTR_TENSOR_DIMENSIONS)[1] != ints(w, CUDNN_ATTR_TENSOR_DIMENSIONS)[1];
	if (op[nop - 1]->type == NORM_SUMS && !good_norm_sums(op, nop, type))
		return false;
	if (op[nop - 1]->type == STATISTICS && (nop != 2 || op[0]->type != FORWARD))
		return false;
	if (nop > 1 && op[0]->type == DATA && type != CUDNN_DATA_FLOAT &&
	    ints(x, CUDNN_ATTR_TENSOR_DIMENSIONS)[1] % 8)
		return false;
	return good_windows(graph) && (all == 1 || ((nop == 1 || op[0]->type != FILTER) && !grouped));
}

static cudnnStatus_t propose(const fake *heuristics, int64_t room, int64_t *n, fake **out)
{
	const bool fallback = whole(heuristics, CUDNN_ATTR_ENGINEHEUR_MODE) == CUDNN_HEUR_MODE_FALLBACK;
	const fake *graph = named(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
	/* no engine before that one is proposed */
	const char *first = getenv("DLX_FAKE_CUDNN_FIRST");
	*n = 0;
	for (size_t i = 0; i < sizeof engines / sizeof *engines && supported(graph); i++) {
		if (engines[i].fallback != fallback || *n >= room || !is_proposed(engines[i].index) ||
		    (first && engines[i].index < atoi(first)))
			continue;
		fake *config = out[(*n)++];
		if (config->type != CUDNN_BACKEND_ENGINECFG_DESCRIPTOR || config->final)
			return refuse("results go into something else than new configurations");
		config->engine = (int)i;
		config->graph = graph;
		config->final = true;
	}
	return CUDNN_STATUS_SUCCESS;
}

/* DLX_FAKE_CUDNN_LARGE=44: this engine wants 300 MiB of workspace. */
static int64_t plan_workspace(const fake *plan)
{
	const char *rest;
	return lists(getenv("DLX_FAKE_CUDNN_LARGE"), index_of(plan->engine), &rest) ?
	       300 << 20 : (int64_t)workspace_of(plan->graph);
}

/* --- the interface --- */

cudnnStatus_t cudnnCreate(cudnnHandle_t *h)
{
	*h = mem_calloc(1, sizeof **h);
	(*h)->open = 1;
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t h)
{
	h->open = 0;
	mem_free(h);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t h, cudaStream_t s)
{
	h->stream = s;
	return CUDNN_STATUS_SUCCESS;
}

const char *cudnnGetErrorString(cudnnStatus_t s)
{
	return s == CUDNN_STATUS_SUCCESS ? "success" : "refused by the fake";
}

void cudnnGetLastErrorString(char *text, size_t room)
{
	snprintf(text, room, "it says why on stderr\n");
}

size_t cudnnGetVersion(void)
{
	const char *other = getenv("DLX_FAKE_CUDNN_VERSION");
	return other ? strtoul(other, NULL, 10) : CUDNN_VERSION;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *out)
{
	fake *d = mem_calloc(1, sizeof *d);
	d->magic = MAGIC;
	d->type = type;
	*out = d;
	return CUDNN_STATUS_SUCCESS;
}

/* What was given to the stream may still be under way: its graph stays. */
static bool executed;

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t p)
{
	fake *d = p;
	if (!d || d->magic != MAGIC)
		return refuse("something that is no descriptor, or no more, is destroyed");
	if (d->type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
		forget_graph(d);
	if (executed && d->type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {
		d->magic = 0;
		return CUDNN_STATUS_SUCCESS;
	}
	for (int i = 0; i < d->nattr; i++)
		mem_free(d->attr[i].value);
	d->magic = 0;
	mem_free(d);
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t p, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t n,
                                       const void *value)
{
	fake *d = p;
	if (!d || d->magic != MAGIC || d->final || !value)
		return refuse("attribute %d of no descriptor, or of one that is finalized", name);
	if (!fits(d, name, type, n))
		return refuse("attribute %d of descriptor type %d: unknown, of type %d, "
		              "%lld times, or set before", name, d->type, type, (long long)n);
	for (int64_t i = 0; type == DESC && i < n; i++) {
		const fake *other = ((fake *const *)value)[i];
		if (!other || other->magic != MAGIC || !other->final)
			return refuse("attribute %d of descriptor type %d: not finalized", name, d->type);
	}
	void *copy = mem_alloc(size_of(type) * (size_t)n);
	memcpy(copy, value, size_of(type) * (size_t)n);
	d->attr[d->nattr++] = (struct attribute){ name, type, n, copy };
	return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t p)
{
	fake *d = p;
	if (!d || d->magic != MAGIC || d->final)
		return refuse("finalizing no descriptor, or one twice");
	cudnnStatus_t s = check_descriptor(d);
	d->final = s == CUDNN_STATUS_SUCCESS;
	if (d->final && d->type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR)
		note_question(d);
	if (d->final && d->type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
		remember_graph(d);
	if (d->final && d->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
		s = finish_plan(d);
	d->final = s == CUDNN_STATUS_SUCCESS;
	return s;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t p, cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t room, int64_t *n,
                                       void *out)
{
	fake *d = p;
	if (!d || d->magic != MAGIC || !n)
		return refuse("attribute %d is asked of nothing", name);
	if (name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION && type == CUDNN_TYPE_CHAR &&
	    d->final)
		return plan_as_text(d, room, n, out);
	if (!out || room < 1)
		return refuse("attribute %d is asked for nothing", name);
	*n = 1;
	if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS && type == DESC && d->final)
		return propose(d, room, n, out);
	if (name == CUDNN_ATTR_ENGINECFG_ENGINE && type == DESC && d->final) {
		fake *engine = *(fake **)out;
		if (engine->type != CUDNN_BACKEND_ENGINE_DESCRIPTOR)
			return refuse("an engine goes into something else");
		engine->engine = d->engine;
		return CUDNN_STATUS_SUCCESS;
	}
	if (name == CUDNN_ATTR_ENGINE_GLOBAL_INDEX && type == CUDNN_TYPE_INT64) {
		*(int64_t *)out = engines[d->engine].index;
		return CUDNN_STATUS_SUCCESS;
	}
	if (name == CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE && type == CUDNN_TYPE_BEHAVIOR_NOTE) {
		*(int *)out = CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION;
		*n = is_compiled(d->engine);
		return CUDNN_STATUS_SUCCESS;
	}
	if (name == CUDNN_ATTR_ENGINE_NUMERICAL_NOTE && type == CUDNN_TYPE_NUMERICAL_NOTE) {
		*(int *)out = engines[d->engine].note;
		*n = engines[d->engine].note >= 0;
		return CUDNN_STATUS_SUCCESS;
	}
	if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CUDNN_TYPE_INT64 && d->final) {
		*(int64_t *)out = plan_workspace(d);
		return CUDNN_STATUS_SUCCESS;
	}
	return refuse("attribute %d of descriptor type %d is asked for", name, d->type);
}

/* DLX_FAKE_CUDNN_SLOW=44,46:19: these engines are slow here; microseconds, or 1000.
 * DLX_FAKE_CUDNN_CHAINS=7.5: what is more than one operation takes this many more. */
static double time_of(const fake *plan)
{
	const char *us, *more = getenv("DLX_FAKE_CUDNN_CHAINS");
	int nop;
	operations(plan->graph, &nop);
	const double chain = more && nop > 1 ? atof(more) : 0;
	if (!lists(getenv("DLX_FAKE_CUDNN_SLOW"), engines[plan->engine].index, &us))
		return engines[plan->engine].us + chain;
	return (*us ? atof(us) : 1000) + chain;
}

/* DLX_FAKE_CUDNN_LOG=FILE: a line for each engine that something is computed by. */
static void note_use(int index)
{
	const char *path = getenv("DLX_FAKE_CUDNN_LOG");
	FILE *f = path ? fopen(path, "a") : NULL;
	if (!f)
		return;
	fprintf(f, "%d\n", index);
	fclose(f);
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t h, cudnnBackendDescriptor_t plan_,
                                  cudnnBackendDescriptor_t pack_)
{
	fake *plan = plan_;
	const fake *pack = pack_;
	if (!h || h->open != 1 || !plan || !plan->final || !pack || !pack->final)
		return refuse("execution of what is not finalized");
	const fake *graph = plan->graph;
	const struct attribute *id = find(pack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
	fake *all[MAXTENSORS];
	struct job *j = mem_calloc(1, sizeof *j);    /* never freed: a replay may come at any time */
	int outside = 0;
	j->graph = graph;
	j->n = (int)id->n;
	memcpy(j->id, id->value, sizeof *j->id * (size_t)j->n);
	memcpy(j->pointer, find(pack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)->value,
	       sizeof *j->pointer * (size_t)j->n);
	j->ws = *(void **)find(pack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE)->value;
	for (int i = 0, n = graph_tensors(graph, all); i < n; i++) {
		if (is_virtual(all[i]))
			continue;
		outside++;
		const uintptr_t at = (uintptr_t)pointer_of(j, all[i]);
		if (!at || at % (uintptr_t)*ints(all[i], CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT))
			return refuse("tensor %lld has no memory, or not aligned",
			              (long long)*ints(all[i], CUDNN_ATTR_TENSOR_UNIQUE_ID));
	}
	if (outside != j->n || (workspace_of(graph) && !j->ws) || (uintptr_t)j->ws % 256)
		return refuse("%d pointers for %d tensors, or no workspace, or one "
		              "that is not aligned by 256", j->n, outside);
	if (!plan->ran && emulate_records(h->stream))
		return refuse("a plan runs for the first time while a step is recorded");
	plan->ran = executed = true;
	note_use(index_of(plan->engine));
	emulate_spend(time_of(plan));
	emulate_submit_waiting(h->stream, execute, j);
	return CUDNN_STATUS_SUCCESS;
}
