/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fusion: nodes that one kernel can do in fewer passes over memory become one node. Each row of the
 * table says on which backends, what must be there (`given`, which stays), what is replaced
 * (`from`) and by what (`to`). Letters stand for tensors, the same letter for the same tensor
 * everywhere:
 *
 *   given  z m s v = batch_norm x g b
 *   from   t = relu_grad z d ; p q u = batch_norm_grad/1 x t g m s
 *   to     p q u = batch_norm_grad/0 x d g m s b
 *
 * A dash stands for an optional input that is left out, c? for one that may be left out or be
 * there; where a node of `from` or `given` lacks it, the new node does too. Ops with a bar between
 * them may each stand there: relu|leaky_relu. A number behind an op is its attribute `slope`, which
 * must be that; a norm whose slope is 1 has no activation yet. In `to` it is the slope unless
 * another replaced node has one, as leaky_relu has and relu has not.
 *
 * The last term of `from` is looked for; the others are found as producers of what is known by
 * then. A tensor that `to` does not make must have no reader but the nodes replaced. Attributes
 * carry over by their names, and those of one name must agree in `given` and `from`. The operands
 * of add may be swapped: the one made later is tried first, so that of two that fit the sum is made
 * where its last summand is.
 *
 * Replaced nodes are of one phase. In a row that goes `across` phases they need not be; then the
 * new node is of that of the first.
 *
 * The new node stands where the last replaced one stood. What was in between and depends on the
 * replaced nodes moves behind it, so that the order stays valid; a row does not apply if the new
 * node would depend on itself. Tensors keep their ids, and nodes take place, name and phase from
 * the replaced one that reads most, which is the layer with the parameters.
 *
 * On a GPU a convolution and its epilogue (bias, norm with running statistics, add, ReLU or its
 * gradient) are one node and one cuDNN graph where cuDNN recommends an engine for it; otherwise our
 * kernel (cuda/k_epilogue.cu) follows. --plan says which: `cudnn:eng7, whole` or `cudnn:eng22, then
 * a kernel`. cuDNN 9.19 proposes engines for an H200 as follows; it compiles them at run time (seen
 * with a stub in place of the driver):
 *
 *   chain                                     float32 (TF32)  bf16, fp16       never
 *   conv, scale, bias, add, ReLU (any part)   yes             yes              groups in bf16
 *   gradient to input, add, ReLU's gradient   yes             channels in 8s   strides; groups in
 *                                                                              bf16
 *   conv, sums and squares of channels        yes             yes              groups
 *   scale, bias, ReLU, conv (, sums)          yes             channels in 8s,  groups
 *                                                             16 bits between
 *   gradient to input, ReLU's, norm's sums    no              fp16, in 8s,     bf16, groups, wide
 *                                                             packed           dilation
 *   scale, bias, ReLU, gradient to weights    no              the same, fp16   the same, 7 x 7
 *                                                             vectors
 *
 * In full float32 cuDNN has generic engines only, which are not used. A bias in 16 bits has
 * precompiled engines too; a float32 bias is exact, and is what we ask for. */
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "graph/attr.h"
#include "graph/deps.h"
#include "pass/pass.h"
#include "pass/rewrite.h"

#define CPU (1u << BACKEND_CPU)
#define GPU (1u << BACKEND_CUDA)
#define ALL (CPU | GPU)

struct rule {
	unsigned backends;
	const char *given, *from, *to;
	bool across;
};

static const struct rule rules[] = {
	/* forward: normalise, add, activate */
	{ ALL, NULL, "y m s v = batch_norm/1 x g b ; z = relu|leaky_relu y",
	             "z m s v = batch_norm/0 x g b" },
	{ ALL, NULL, "y m s v = batch_norm/1 x g b ; e = add y r ; z = relu e",
	             "z m s v = batch_norm/0 x g b r" },
	{ ALL, NULL, "y = batch_norm_inference/1 x g b m v ; z = relu|leaky_relu y",
	             "z = batch_norm_inference/0 x g b m v" },
	{ ALL, NULL, "y = batch_norm_inference/1 x g b m v ; e = add y r ; z = relu e",
	             "z = batch_norm_inference/0 x g b m v r" },
	/* their gradients */
	{ ALL, "z m s v = batch_norm x g b",
	             "t = relu_grad|leaky_relu_grad z d ; p q u = batch_norm_grad/1 x t g m s",
	             "p q u = batch_norm_grad/0 x d g m s b" },
	{ ALL, "z m s v = batch_norm x g b r",
	             "d = add c e ; t = relu_grad z d ; p q u = batch_norm_grad/1 x t g m s",
	             "p q u t = batch_norm_grad/0 x c g m s - - z e" },
	{ ALL, "z m s v = batch_norm x g b r",
	             "t = relu_grad z d ; p q u = batch_norm_grad/1 x t g m s",
	             "p q u t = batch_norm_grad/0 x d g m s - - z" },
	/* relu and dropout: the gradient needs the output only, so relu's must have no other reader */
	{ ALL, NULL, "z = relu x ; y = dropout z k", "y z = relu_dropout x k" },
	{ ALL, "y z = relu_dropout x k",
	             "e = dropout d k ; t = relu_grad z e", "t = relu_dropout_grad y d" },
	{ ALL, NULL, "y z = relu_dropout x k", "y = relu_dropout x k" },
	/* the loss with its gradient: its divisor is known from the labels, before logits are read */
	{ CPU, NULL, "l w z = softmax_cross_entropy x y c? ; t = mean_seed w h s? ; "
	             "p = softmax_cross_entropy_grad x y z w t c?",
	             "l w p = softmax_cross_entropy_with_grad x y s? h c?", true },
	{ CPU, NULL, "l w z = softmax_cross_entropy x y c? ; "
	             "p = softmax_cross_entropy_grad x y z w d c?",
	             "l w p = softmax_cross_entropy_with_grad x y d - c?", true },
	/* sums of gradients: the kernel of the last summand adds the others */
	{ ALL, NULL, "p q u = batch_norm_grad x d g m s b? ; o = add p a",
	             "o q u = batch_norm_grad x d g m s b? a" },
	{ CPU, NULL, "p = conv_grad_input y w ; o = add p a", "o = conv_grad_input_add y w - a" },
	/* epilogues of a convolution, with its bias c or without */
	{ GPU, NULL, "y = conv x w c? ; z = batch_norm_inference/1 y g b m v",
	             "z = conv_norm x w c? g b m v" },
	{ GPU, NULL, "y = conv x w c? ; z = batch_norm_inference y g b m v r?",
	             "z = conv_norm_relu x w c? g b m v r?" },
	{ GPU, NULL, "y = conv x w c? ; e = add y r", "e = conv_add x w c? r" },
	{ GPU, NULL, "e = conv_add x w c? r ; z = relu|leaky_relu e", "z = conv_relu x w c? r" },
	{ GPU, NULL, "y = conv x w c? ; z = relu|leaky_relu y", "z = conv_relu x w c?" },
	/* epilogues of its gradient */
	{ GPU, NULL, "p = conv_grad_input y w ; o = add p a", "o = conv_grad_input_sum y w - a" },
	{ GPU, NULL, "o = conv_grad_input_sum y w - a ; t = relu_grad|leaky_relu_grad z o",
	             "t = conv_grad_input_relu y w - a z" },
	{ GPU, NULL, "p = conv_grad_input y w ; t = relu_grad|leaky_relu_grad z p",
	             "t = conv_grad_input_relu y w - - z" },
};

/* --- rows as terms --- */

enum { NO_LETTER = 26, LETTERS = 27, MAX_TENSORS = 10, MAX_TERMS = 4 };

struct term {
	const char *op;              /* names with a bar between them; ends at a space or slash */
	double slope;                /* NAN: any */
	int nin, nout;
	unsigned optional;           /* bit i: in[i] may be absent */
	int in[MAX_TENSORS], out[MAX_TENSORS];
};

struct pattern {
	unsigned backends;
	bool across;
	struct term given[MAX_TERMS], from[MAX_TERMS], to[1];
	int ngiven, nfrom;
	const struct op *op;         /* of the new node */
};

/* Letters, dashes and letters with a question mark, up to a word or the end. */
static const char *parse_letters(const char *s, int *list, int *n, unsigned *optional)
{
	for (s += strspn(s, " "); (*s >= 'a' && *s <= 'z') || *s == '-'; s += strspn(s, " ")) {
		const bool may_lack = s[1] == '?';
		if (s[1 + may_lack] != ' ' && s[1 + may_lack] != '\0')
			break;
		BUG_IF(*n == MAX_TENSORS, "too many tensors before '%s'", s);
		*optional |= (unsigned)may_lack << *n;
		list[(*n)++] = *s == '-' ? NO_LETTER : *s - 'a';
		s += 1 + may_lack;
	}
	return s;
}

/* "OUT... = OP|OP/SLOPE IN... ; ..." */
static int parse(const char *s, struct term *term, int room)
{
	int n = 0;

	while (s && *s) {
		struct term *t = &term[n];
		unsigned none = 0;
		BUG_IF(n++ == room, "too many terms before '%s'", s);
		s = parse_letters(s, t->out, &t->nout, &none);
		BUG_IF(*s != '=' || none, "no = before '%s'", s);
		t->op = s + 1 + strspn(s + 1, " ");
		s = t->op + strcspn(t->op, " /");
		t->slope = *s == '/' ? s[1] - '0' : NAN;
		s = parse_letters(s + strcspn(s, " "), t->in, &t->nin, &t->optional);
		BUG_IF(*s && *s != ';', "not a letter: '%s'", s);
		s += *s == ';';
	}
	return n;
}

static void pattern_init(struct pattern *p, const struct rule *r)
{
	char name[64];

	memset(p, 0, sizeof *p);
	p->backends = r->backends;
	p->across = r->across;
	p->ngiven = parse(r->given, p->given, MAX_TERMS);
	p->nfrom = parse(r->from, p->from, MAX_TERMS);
	parse(r->to, p->to, 1);
	snprintf(name, sizeof name, "%.*s", (int)strcspn(p->to->op, " /"), p->to->op);
	p->op = op_find(name);
	BUG_IF(!p->op, "no op is called '%s'", name);
}

/* --- matching --- */

struct fuse {
	struct graph *g;
	int *uses;                   /* by tensor: inputs that read it */
	struct node **early, **late; /* room for a stretch of the order */
	int nearly, nlate;
	int *derived, *touched;      /* by tensor: the attempt in which it was found so */
	int attempt;
};

struct match {
	const struct pattern *p;
	tid bind[LETTERS];           /* UNBOUND: nothing yet */
	struct node *node[MAX_TERMS], *given[MAX_TERMS];
	unsigned swap;               /* bit k: the operands of the k-th add are swapped */
	int adds;
};
#define UNBOUND (-2)

static bool bind(struct match *m, int letter, tid t)
{
	if (m->bind[letter] == UNBOUND)
		m->bind[letter] = t;
	return m->bind[letter] == t;
}

/* Whether the operands of an add are to be read as (1, 0). */
static bool swapped(const struct graph *g, struct match *m, const struct node *n)
{
	bool later = g->tensor[n->in[1]]->producer > g->tensor[n->in[0]]->producer;

	return later ^ (m->swap >> m->adds++ & 1);
}

/* Whether the op is one of the term's. */
static bool is_op_of(const struct term *t, const struct op *op)
{
	const size_t all = strcspn(t->op, " /"), length = strlen(op->name);

	for (size_t at = 0; at < all; at += strcspn(t->op + at, "| /") + 1)
		if (strcspn(t->op + at, "| /") == length && !memcmp(t->op + at, op->name, length))
			return true;
	return false;
}

/* Whether the node's slope is what the term says, if it says one. */
static bool has_slope(const struct term *t, const struct node *n)
{
	const double *slope = attr_find(n->op, n->attr, "slope", FT_FLOAT);

	return isnan(t->slope) || (slope && *slope == t->slope);
}

static bool unify(const struct graph *g, struct match *m, const struct term *t,
                  const struct node *n)
{
	if (!is_op_of(t, n->op) || n->nout != t->nout || !has_slope(t, n))
		return false;
	const bool swap = rewrite_is(n, "add") && swapped(g, m, n);
	for (int i = 0; i < t->nin || i < n->nin; i++) {
		const tid in = i < n->nin ? n->in[swap ? 1 - i : i] : NONE;
		if (i >= t->nin ? in != NONE : !bind(m, t->in[i], in))
			return false;
		if (in == NONE && i < t->nin && t->in[i] != NO_LETTER && !(t->optional >> i & 1))
			return false;
	}
	for (int i = 0; i < n->nout; i++)
		if (!bind(m, t->out[i], n->out[i]))
			return false;
	return true;
}

/* The node that makes one of the term's outputs known by now, or NULL. */
static struct node *producer_of(const struct graph *g, const struct match *m, const struct term *t)
{
	struct node *n = NULL;

	for (int i = 0; i < t->nout && !n; i++)
		if (m->bind[t->out[i]] != UNBOUND)
			n = rewrite_producer(g, m->bind[t->out[i]]);
	return n;
}

static bool find(const struct graph *g, struct match *m, struct node *last)
{
	const struct pattern *p = m->p;
	struct node *n;

	for (int i = 0; i < LETTERS; i++)
		m->bind[i] = i == NO_LETTER ? NONE : UNBOUND;
	m->adds = 0;
	for (int k = p->nfrom - 1; k >= 0; k--) {
		n = m->node[k] = k == p->nfrom - 1 ? last : producer_of(g, m, &p->from[k]);
		if (!n || (n->phase != last->phase && !p->across) || !unify(g, m, &p->from[k], n))
			return false;
	}
	for (int k = p->ngiven - 1; k >= 0; k--) {
		n = m->given[k] = producer_of(g, m, &p->given[k]);
		if (!n || !unify(g, m, &p->given[k], n))
			return false;
	}
	return true;
}

static bool is_replaced(const struct match *m, const struct node *n)
{
	for (int k = 0; k < m->p->nfrom; k++)
		if (m->node[k] == n)
			return true;
	return false;
}

static bool has_letter(const int *list, int n, int letter)
{
	for (int i = 0; i < n; i++)
		if (list[i] == letter)
			return true;
	return false;
}

/* Whether tensors that will no longer be made have no other reader. */
static bool is_private(const struct fuse *f, const struct match *m)
{
	const struct pattern *p = m->p;

	for (int k = 0; k < p->nfrom; k++)
		for (int i = 0; i < p->from[k].nout; i++) {
			int letter = p->from[k].out[i], inside = 0;
			tid t = m->bind[letter];
			if (t == NONE || has_letter(p->to->out, p->to->nout, letter))
				continue;
			for (int r = 0; r < p->nfrom; r++)
				for (int q = 0; q < m->node[r]->nin; q++)
					inside += m->node[r]->in[q] == t;
			if (f->g->tensor[t]->output || f->uses[t] != inside)
				return false;
		}
	return true;
}

/* Whether all floating-point tensors are of one type. */
static bool is_of_one_type(const struct graph *g, const struct match *m)
{
	const struct tensor *first = NULL;

	for (int i = 0; i < LETTERS; i++) {
		const struct tensor *t = m->bind[i] < 0 ? NULL : g->tensor[m->bind[i]];
		if (!t || !dtype_is_float(t->dtype))
			continue;
		first = first ? first : t;
		if (t->dtype != first->dtype)
			return false;
	}
	return true;
}

/* The term that the i-th of the nodes stands for, replaced ones first. */
static const struct term *term_of(const struct pattern *p, int i)
{
	return i < p->nfrom ? &p->from[i] : &p->given[i - p->nfrom];
}

/* Whether attributes of one name have one value in all nodes whose slope the rule does not say. */
static bool agrees(const struct match *m)
{
	const struct pattern *p = m->p;

	for (int k = 0; k < p->nfrom; k++) {
		const struct node *a = m->node[k];
		for (int i = 0; i < p->nfrom + p->ngiven; i++) {
			const struct node *b = i < p->nfrom ? m->node[i] : m->given[i - p->nfrom];
			if (isnan(term_of(p, k)->slope) && isnan(term_of(p, i)->slope) &&
			    !attr_agree(a->op, a->attr, b->op, b->attr))
				return false;
		}
	}
	return true;
}

/* --- order --- */

static bool reads(const struct fuse *f, const struct node *n, const int *mark, bool storage)
{
	for (int k = 0; k < n->nin; k++)
		if (n->in[k] != NONE &&
		    mark[storage ? graph_root(f->g, n->in[k]) : n->in[k]] == f->attempt)
			return true;
	return false;
}

/* Whether a replaced node reads a tensor that other nodes derive from outputs of replaced ones. */
static bool reads_derived(const struct fuse *f, const struct match *m, const struct node *n)
{
	for (int k = 0; k < n->nin; k++)
		if (n->in[k] != NONE && f->derived[n->in[k]] == f->attempt &&
		    !is_replaced(m, rewrite_producer(f->g, n->in[k])))
			return true;
	return false;
}

/* Sorts the nodes from the first to the last replaced one into those that come before the new node
 * and those that depend on it. False if that cannot be: the new node would depend on itself, or
 * something would be read after it was overwritten. */
static bool part(struct fuse *f, const struct match *m, int from, int to)
{
	struct graph *g = f->g;

	f->nearly = f->nlate = 0;
	f->attempt++;
	for (int i = from; i <= to; i++) {
		struct node *n = g->node[i];
		bool replaced, late;
		if (!n)
			continue;
		replaced = is_replaced(m, n);
		late = replaced || reads(f, n, f->derived, false);
		if (replaced && reads_derived(f, m, n))
			return false;
		if (late && reads(f, n, f->touched, true))
			return false;
		for (int k = 0; k < n->nout; k++) {
			if (n->out[k] != NONE && late)
				f->derived[n->out[k]] = f->attempt;
			if (!late && overwrites(g, n, k))
				f->touched[graph_root(g, n->out[k])] = f->attempt;
		}
		if (!replaced && late)
			f->late[f->nlate++] = n;
		else if (!replaced)
			f->early[f->nearly++] = n;
	}
	return true;
}

/* --- replacing --- */

static void put(struct graph *g, int at, struct node *n)
{
	g->node[at] = n;
	if (!n)
		return;
	n->id = at;
	for (int k = 0; k < n->nout; k++)
		if (n->out[k] != NONE)
			g->tensor[n->out[k]]->producer = at;
}

static void count_uses(struct fuse *f, const struct node *n, int by)
{
	for (int k = 0; k < n->nin; k++)
		if (n->in[k] != NONE)
			f->uses[n->in[k]] += by;
}

static const struct node *widest(const struct match *m)
{
	const struct node *n = m->node[0];

	for (int k = 1; k < m->p->nfrom; k++)
		n = m->node[k]->nin > n->nin ? m->node[k] : n;
	return n;
}

/* The attributes of the new node; *fits: it has all of the replaced ones, but for a slope that the
 * rule says. */
static int make_attr(struct graph *g, const struct match *m, void **attr, bool *fits)
{
	const struct pattern *p = m->p;

	TRY(rewrite_attr(g, p->op, p->nfrom, (const struct node *const *)m->node, attr));
	if (!isnan(p->to->slope))
		*(double *)attr_find(p->op, *attr, "slope", FT_FLOAT) = p->to->slope;
	*fits = true;
	for (int k = 0; k < p->nfrom; k++)
		if (isnan(p->from[k].slope))
			*fits &= attr_carry(p->op, *attr, m->node[k]->op, m->node[k]->attr);
	return 0;
}

/* Emits the new node and takes it off the end of the order;
 * its outputs become the existing tensors. */
static int make_node(struct fuse *f, const struct match *m, const void *attr, struct node **out)
{
	struct graph *g = f->g;
	const struct term *to = m->p->to;
	struct graph_context saved = graph_enter(g, widest(m));
	int rc, ntensor = g->ntensor, nin = to->nin;
	tid in[MAX_TENSORS];

	if (m->p->across)
		g->cur_phase = m->node[0]->phase;
	for (int i = 0; i < to->nin; i++)
		in[i] = m->bind[to->in[i]];
	while (nin > 0 && in[nin - 1] == NONE)
		nin--;
	rc = graph_emit(g, m->p->op->name, attr, nin, in, 0, NULL);
	graph_leave(g, saved);
	TRY(rc);
	*out = g->node[--g->nnode];
	for (int i = 0; i < to->nout; i++) {
		const struct tensor *made = g->tensor[(*out)->out[i]];
		tid t = m->bind[to->out[i]];
		BUG_IF(t != NONE && (!shape_equal(&made->shape, &g->tensor[t]->shape) ||
		                     made->dtype != g->tensor[t]->dtype),
		       "output %d of '%s' is not what it replaces", i, m->p->op->name);
		(*out)->out[i] = t;
	}
	for (int i = to->nout; i < (*out)->nout; i++)    /* not asked for */
		(*out)->out[i] = NONE;
	g->ntensor = ntensor;
	return 0;
}

static int replace(struct fuse *f, const struct match *m, const void *attr, int from, int to)
{
	struct graph *g = f->g;
	struct node *made;
	int at = from;

	TRY(make_node(f, m, attr, &made));
	for (int k = 0; k < m->p->nfrom; k++) {
		count_uses(f, m->node[k], -1);
		for (int i = 0; i < m->node[k]->nout; i++)
			if (m->node[k]->out[i] != NONE)
				g->tensor[m->node[k]->out[i]]->producer = NONE;
	}
	count_uses(f, made, 1);
	for (int i = 0; i < f->nearly; i++)
		put(g, at++, f->early[i]);
	put(g, at++, made);
	for (int i = 0; i < f->nlate; i++)
		put(g, at++, f->late[i]);
	while (at <= to)
		put(g, at++, NULL);
	return 0;
}

/* Applies the row at node `last` if it matches. */
static int apply(struct fuse *f, const struct pattern *p, int last, bool *done)
{
	struct match m = { .p = p };
	void *attr;
	int from = last;
	bool fits;

	for (m.swap = 0; m.swap < 1u << MAX_TERMS; m.swap++) {
		if (find(f->g, &m, f->g->node[last]) && is_private(f, &m) &&
		    is_of_one_type(f->g, &m) && agrees(&m))
			break;
		if (m.swap + 1 >= 1u << m.adds)
			return 0;
	}
	for (int k = 0; k < p->nfrom; k++)
		from = m.node[k]->id < from ? m.node[k]->id : from;
	if (!part(f, &m, from, last))
		return 0;
	TRY(make_attr(f->g, &m, &attr, &fits));
	if (!fits)
		return 0;
	*done = true;
	return replace(f, &m, attr, from, last);
}

static void close_gaps(struct graph *g)
{
	int n = 0;

	for (int i = 0; i < g->nnode; i++)
		if (g->node[i])
			put(g, n++, g->node[i]);
	g->nnode = n;
}

static int apply_everywhere(struct fuse *f, const struct rule *rule)
{
	struct pattern p;
	bool done = false;

	pattern_init(&p, rule);
	for (int i = 0; i < f->g->nnode; i++)
		if (f->g->node[i])
			TRY(apply(f, &p, i, &done));
	if (done)
		close_gaps(f->g);
	return 0;
}

int pass_fuse(struct graph *g, struct pass_env *env)
{
	struct fuse f = { .g = g };
	size_t ntensor = (size_t)g->ntensor + 1, nnode = (size_t)g->nnode + 1;
	int rc = 0;

	f.uses = mem_calloc(ntensor, sizeof *f.uses);
	f.derived = mem_calloc(ntensor, sizeof *f.derived);
	f.touched = mem_calloc(ntensor, sizeof *f.touched);
	f.early = mem_alloc(nnode * sizeof *f.early);
	f.late = mem_alloc(nnode * sizeof *f.late);
	for (int i = 0; i < g->nnode; i++)
		count_uses(&f, g->node[i], 1);
	for (size_t i = 0; rc == 0 && i < sizeof rules / sizeof *rules; i++)
		if (rules[i].backends >> env->backend & 1)
			rc = apply_everywhere(&f, &rules[i]);
	mem_free(f.uses);
	mem_free(f.derived);
	mem_free(f.touched);
	mem_free(f.early);
	mem_free(f.late);
	return rc;
}
