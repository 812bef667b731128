/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Point-to-point messages between ranks. exchange.h documents the two nodes; comm/exchange.h
 * transports the messages that they pack and unpack. Each message is copied twice: into the send
 * buffer, and out of the receive buffer. */
#include "op/exchange.h"

#include <limits.h>
#include <string.h>

#include "backend/device.h"
#include "base/err.h"
#include "base/mem.h"
#include "comm/exchange.h"
#include "comm/reducer.h"
#include "comm/sum.h"
#include "op/lib/check.h"
#include "op/lib/cuda.h"
#include "op/lib/emit.h"
#include "op/lib/fork.h"
#include "op/update/all_reduce.h"

/* --- attributes --- */

#define RANK_MOST (1 << 24)
#define ID_MOST INT64_C(0x7fffffffffffffff)

static const struct field fields[] = {
	FIELD_INTS(struct exchange_attr, to, NULL, 0, RANK_MOST, "ranks to which inputs are sent"),
	FIELD_INTS(struct exchange_attr, to_id, NULL, 0, ID_MOST, "numbers of these messages"),
	FIELD_STRINGS(struct exchange_attr, to_name, NULL, "their names"),
	FIELD_INTS(struct exchange_attr, to_shape, NULL, 0, INT64_MAX,
	           "their shapes, each preceded by its axes"),
	FIELD_INTS(struct exchange_attr, from, NULL, 0, RANK_MOST, "ranks from which outputs come"),
	FIELD_INTS(struct exchange_attr, from_id, NULL, 0, ID_MOST, "numbers of these messages"),
	FIELD_STRINGS(struct exchange_attr, from_name, NULL, "their names"),
	FIELD_INTS(struct exchange_attr, from_shape, NULL, 0, INT64_MAX,
	           "their shapes, each preceded by its axes"),
	FIELD_ENUM(struct exchange_attr, wire, "f32", all_reduce_wires, "element type between ranks"),
	FIELD_INT(struct exchange_attr, depth, "1", 1, INT16_MAX,
	          "messages of each kind that may be under way"),
	FIELD_END
};

/* --- shape --- */

/* Reads the shape that begins at v[*at]. Returns false if the list ends too early. */
static bool next_shape(const struct ints *list, int *at, struct shape *s)
{
	*s = (struct shape){ 0 };
	if (*at >= list->n || list->v[*at] > MAXD || *at + list->v[*at] >= list->n)
		return false;
	s->nd = (int)list->v[(*at)++];
	for (int d = 0; d < s->nd; d++)
		s->d[d] = list->v[(*at)++];
	return true;
}

static int check_list(const struct graph *g, const char *what, const struct ints *rank,
                      const struct ints *id, const struct strings *name, const struct ints *shapes)
{
	struct shape s;
	int at = 0, n = 0;
	while (n < rank->n && next_shape(shapes, &at, &s))
		n++;
	if (id->n == rank->n && name->n == rank->n && n == rank->n && at == shapes->n)
		return 0;
	return ERR(E_CONFIG, &g->cur_loc, "%d ranks are %s, but there are %d numbers, %d names and %d "
	           "shapes of messages", rank->n, what, id->n, name->n, n);
}

static int check_lists(const struct graph *g, const struct exchange_attr *at)
{
	TRY(check_list(g, "sent to", &at->to, &at->to_id, &at->to_name, &at->to_shape));
	return check_list(g, "received from", &at->from, &at->from_id, &at->from_name,
	                  &at->from_shape);
}

static int send_shape(struct graph *g, struct node *n)
{
	const struct exchange_attr *at = n->attr;
	struct shape want;
	int place = 0;
	TRY(check_lists(g, at));
	if (n->nin < at->to.n || n->nin > at->to.n + 1)
		return ERR(E_SHAPE, &g->cur_loc, "layer '%s': %d messages of %d inputs", check_layer(n),
		           at->to.n, n->nin);
	for (int i = 0; i < n->nin; i++)
		TRY(check_float(g, n, i));
	for (int i = 0; i < at->to.n && next_shape(&at->to_shape, &place, &want); i++)
		TRY(check_shape(g, n, i, &want));
	return graph_out(g, n, 0, DTYPE_F32, &(struct shape){ 0 });
}

static int wait_shape(struct graph *g, struct node *n)
{
	const struct exchange_attr *at = n->attr;
	struct shape y = { 0 };
	int place = 0;
	TRY(check_lists(g, at));
	TRY(check_shape(g, n, 0, &(struct shape){ 0 }));
	for (int i = 0; i < at->from.n && next_shape(&at->from_shape, &place, &y); i++)
		TRY(graph_out(g, n, i, DTYPE_F32, &y));
	return at->from.n ? 0 : graph_out(g, n, 0, DTYPE_F32, &(struct shape){ 0 });
}

/* --- gradients --- */

static bool lists(const struct ints *rank, const struct ints *id, int64_t peer, int64_t number)
{
	for (int i = 0; i < rank->n; i++)
		if (rank->v[i] == peer && id->v[i] == number)
			return true;
	return false;
}

static bool is_taken(const struct graph *g, bool sends, int64_t peer, int64_t number)
{
	for (int i = 0; i < g->nnode; i++) {
		const struct exchange_attr *at = exchange_sends(g->node[i]);
		if (at && (sends ? lists(&at->to, &at->to_id, peer, number) :
		           lists(&at->from, &at->from_id, peer, number)))
			return true;
	}
	return false;
}

/* Sender and receiver compute the same numbers, since both have emitted the same messages between
 * them. */
static struct ints gradient_ids(struct graph *g, bool sends, const struct ints *rank,
                                const struct ints *id)
{
	int64_t *v = ARENA_ARRAY(g->arena, int64_t, rank->n + 1);
	for (int i = 0; i < rank->n; i++) {
		v[i] = id->v[i] + EXCHANGE_GRADIENT;
		while (is_taken(g, sends, rank->v[i], v[i]))
			v[i] += EXCHANGE_GRADIENT;
	}
	return (struct ints){ rank->n, v };
}

static struct strings gradient_names(struct graph *g, const struct strings *name)
{
	const char **v = ARENA_ARRAY(g->arena, const char *, name->n + 1);
	for (int i = 0; i < name->n; i++)
		v[i] = arena_printf(g->arena, "gradient of %s", name->v[i]);
	return (struct strings){ .n = name->n, .v = v };
}

/* The attributes of the gradient: messages that were received are sent back, and those that were
 * sent come back. */
static struct exchange_attr turned(struct graph *g, const struct exchange_attr *at)
{
	return (struct exchange_attr){
		.to = at->from, .to_id = gradient_ids(g, true, &at->from, &at->from_id),
		.to_name = gradient_names(g, &at->from_name), .to_shape = at->from_shape,
		.from = at->to, .from_id = gradient_ids(g, false, &at->to, &at->to_id),
		.from_name = gradient_names(g, &at->to_name), .from_shape = at->to_shape,
		.wire = at->wire, .depth = at->depth,
	};
}

/* The wait's ticket is the anchor of the gradient's send, so that a gradient of the gradient
 * depends on it. */
static int wait_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	const struct exchange_attr *at = n->attr, back = turned(g, at);
	tid *in = ARENA_ARRAY(g->arena, tid, at->from.n + 1);
	for (int i = 0; i < at->from.n; i++) {
		in[i] = dy[i];
		if (in[i] == NONE)
			TRY(emit_fill(g, 0, node_out_shape(g, n, i), &in[i]));
	}
	in[at->from.n] = n->in[0];
	return graph_emit1(g, "exchange_send", &back, at->from.n + 1, in, &dx[0]);
}

static int send_grad(struct graph *g, const struct node *n, const tid *dy, tid *dx)
{
	const struct exchange_attr *at = n->attr, *begun = NULL;
	nid from = graph_t(g, dy[0])->producer;
	if (from != NONE)
		begun = exchange_sends(g->node[from]);
	const struct exchange_attr back = begun ? *begun : turned(g, at);
	return graph_emit(g, "exchange_wait", &back, 1, dy, at->to.n, dx);
}

/* --- kernels --- */

static const struct exchange_attr *attr_of(const struct kplan *k)
{
	return k->n->attr;
}

static struct exchange *exchange_of(const struct kargs *a)
{
	return a->sums ? a->sums->messages : NULL;
}

enum dtype exchange_wire(const struct device *dev, const struct node *n)
{
	const struct exchange_attr *at = n->attr;
	return backend_is_double(dev->backend) ? DTYPE_F64 : all_reduce_dtype(at->wire);
}

static enum dtype stored(const struct kplan *k, tid t)
{
	return device_dtype(k->dev, graph_t(k->g, t)->dtype);
}

/* Conversion between different 16-bit types, in pieces that stay in the first-level cache. */
#define PIECE 1024

static void convert_range(enum dtype td, char *dst, enum dtype ts, const char *src, int64_t n)
{
	float wide[PIECE];
	for (int64_t i = 0, m; i < n; i += m) {
		m = n - i < PIECE ? n - i : PIECE;
		char *to = dst + (size_t)i * dtype_size(td);
		const char *from = src + (size_t)i * dtype_size(ts);
		if (ts != DTYPE_F32)
			sum_widen(ts, td == DTYPE_F32 ? (float *)(void *)to : wide, from, m);
		if (td != DTYPE_F32)
			sum_narrow(td, to, ts == DTYPE_F32 ? (const float *)(const void *)from : wide, m);
	}
}

static void copy_range(enum dtype td, char *dst, enum dtype ts, const char *src, int64_t n)
{
	if (td == ts)
		memcpy(dst, src, (size_t)n * dtype_size(td));
	else
		convert_range(td, dst, ts, src, n);
}

/* Copies n elements between a tensor and a message, and converts their type. */
static void copy(enum dtype td, void *dst, enum dtype ts, const void *src, int64_t n)
{
	int64_t pieces = (n + FORK_FLOATS - 1) / FORK_FLOATS;
#pragma omp parallel for schedule(static) if (pieces > 1)
	for (int64_t p = 0; p < pieces; p++) {
		int64_t i = p * FORK_FLOATS, m = n - i < FORK_FLOATS ? n - i : FORK_FLOATS;
		copy_range(td, (char *)dst + (size_t)i * dtype_size(td), ts,
		           (const char *)src + (size_t)i * dtype_size(ts), m);
	}
}

static int edge(struct exchange *x, int64_t peer, bool sends, int64_t id)
{
	int k = exchange_find(x, (int)peer, sends, id);
	BUG_IF(k < 0, "message %lld with rank %lld is not in the exchange", (long long)id,
	       (long long)peer);
	return k;
}

static int send_run(const struct kplan *k, const struct kargs *a)
{
	const struct exchange_attr *at = attr_of(k);
	struct exchange *x = exchange_of(a);
	enum dtype wire = exchange_wire(k->dev, k->n);
	void *p;
	memset(a->out[0], 0, dtype_size(stored(k, k->n->out[0])));
	for (int i = 0; x && i < at->to.n; i++) {
		int e = edge(x, at->to.v[i], true, at->to_id.v[i]);
		TRY(exchange_room(x, e, &p));
		copy(wire, p, stored(k, k->n->in[i]), a->in[i], kplan_in_elements(k, i));
		exchange_send(x, e);
	}
	return 0;
}

static int wait_run(const struct kplan *k, const struct kargs *a)
{
	const struct exchange_attr *at = attr_of(k);
	struct exchange *x = exchange_of(a);
	enum dtype wire = exchange_wire(k->dev, k->n);
	const void *p;
	for (int i = 0; i < k->n->nout; i++) {
		enum dtype t = stored(k, k->n->out[i]);
		int64_t n = kplan_out_elements(k, i);
		if (!x || i >= at->from.n) {
			memset(a->out[i], 0, (size_t)n * dtype_size(t));
			continue;
		}
		int e = edge(x, at->from.v[i], false, at->from_id.v[i]);
		TRY(exchange_wait(x, e, &p));
		copy(t, a->out[i], wire, p, n);
		exchange_taken(x, e);
	}
	return 0;
}

#ifdef HAVE_CUDA
struct send_cuda {
	int node;                    /* its number among the nodes that send */
	int edge[];
};

static int send_cuda_plan(struct kplan *k)
{
	struct send_cuda *s = mem_calloc(1, sizeof *s + sizeof *s->edge * (size_t)attr_of(k)->to.n);
	for (int i = 0; k->g->node[i] != k->n; i++)
		s->node += exchange_sends(k->g->node[i]) != NULL;
	k->state = s;
	return 0;
}

static void send_cuda_free(struct kplan *k)
{
	mem_free(k->state);
}

/* What a node sends is sent, and what its wait receives is received, at one place of the stream. */
static int send_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct exchange_attr *at = attr_of(k);
	struct exchange *x = exchange_of(a);
	struct send_cuda *s = k->state;
	TRY(cuda_clear(k->dev, a->out[0], dtype_size(stored(k, k->n->out[0]))));
	for (int i = 0; x && i < at->to.n; i++)
		s->edge[i] = edge(x, at->to.v[i], true, at->to_id.v[i]);
	return x ? exchange_swap(x, s->node, s->edge, (const void *const *)a->in, at->to.n) : 0;
}

static int wait_cuda(const struct kplan *k, const struct kargs *a)
{
	const struct exchange_attr *at = attr_of(k);
	struct exchange *x = exchange_of(a);
	for (int i = 0; i < k->n->nout; i++) {
		const size_t bytes = (size_t)kplan_out_elements(k, i) *
		                     dtype_size(stored(k, k->n->out[i]));
		const void *from = x && i < at->from.n ?
			exchange_received(x, edge(x, at->from.v[i], false, at->from_id.v[i])) : NULL;
		TRY(from ? cuda_move(k->dev, a->out[i], from, bytes) :
		    cuda_clear(k->dev, a->out[i], bytes));
	}
	return 0;
}
#endif

/* --- samples --- */

static const char *const send_samples[] = {
	"2x3x5x1 2x3x5x1; to: [0, 2], to_id: [3, 4], to_name: [a, b], "
	"to_shape: [4, 2, 3, 5, 1, 4, 2, 3, 5, 1], from: [2], from_id: [5], from_name: [c], "
	"from_shape: [4, 2, 3, 5, 2]",
	"7; wire: bf16, to: [1], to_id: [7], to_name: [c], to_shape: [1, 7], depth: 2",
	NULL
};
static const char *const wait_samples[] = {
	"s; to: [0], to_id: [3], to_name: [a], to_shape: [4, 2, 3, 5, 1], from: [2, 2], "
	"from_id: [5, 6], from_name: [c, d], from_shape: [4, 2, 3, 5, 2, 1, 3]",
	"s; to: [1], to_id: [7], to_name: [c], to_shape: [1, 7], depth: 2",
	NULL
};

/* --- records --- */

static const struct op op_send = {
	.name = "exchange_send",
	.doc = "sends inputs to other ranks; the ticket is for exchange_wait",
	.flags = OP_NODCE | OP_BEGINS,
	.min_in = 0, .max_in = INT_MAX, .nout = 1,
	.attr_size = sizeof(struct exchange_attr), .attrs = fields,
	.shape = send_shape, .grad = send_grad,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = send_run),
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .run = send_run, .bf16_in = ~0u },
		CUDA_KERNEL(.layouts = KL_PLAIN, .plan = send_cuda_plan, .run = send_cuda,
		            .free = send_cuda_free)
	},
	.samples = send_samples,
};

static const struct op op_wait = {
	.name = "exchange_wait",
	.doc = "what other ranks have sent, once they have",
	.flags = OP_NODCE | OP_AWAITS,
	.min_in = 1, .max_in = 1, .nout = -1,
	.attr_size = sizeof(struct exchange_attr), .attrs = fields,
	.diff_out = ~0u,
	.shape = wait_shape, .grad = wait_grad,
	.kernel = {
		REFERENCE_AND_DOUBLE(.layouts = KL_PLAIN, .run = wait_run),
		[BACKEND_CPU] = { .layouts = KL_NATIVE, .run = wait_run, .bf16_out = ~0u },
		CUDA_KERNEL(.layouts = KL_PLAIN, .run = wait_cuda)
	},
	.samples = wait_samples,
};

OPSET(exchange_nodes, &op_send, &op_wait);

const struct exchange_attr *exchange_sends(const struct node *n)
{
	return n->op == &op_send ? n->attr : NULL;
}

const struct exchange_attr *exchange_waits(const struct node *n)
{
	return n->op == &op_wait ? n->attr : NULL;
}
