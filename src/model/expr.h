/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The expressions of a config: equations, conditions and objectives of networks that solve them.
 *
 *   text  --expr_parse-->  struct expr  --expr_check-->  its type  --expr_emit-->  nodes of a graph
 *
 * GRAMMAR, loosest first. Names have letters, digits, '_' and any character beyond ASCII.
 *
 *   e @ SET                e at the points of a set
 *   a + b   a - b
 *   a * b   a / b
 *   -a   +a
 *   a ^ b                  right associative: -x^2 is -(x^2), 2^-1 is 1/2
 *   e[k]                   component k, from 0
 *   1e-3  .5  pi           numbers; what has only numbers in it is computed when it is read
 *   x  u  nu  residual     a name of the scope
 *   SET.ARRAY              an array of a set, at its points
 *   NAME(at.SET)           the same as (NAME @ SET)
 *   f(a, ...)              a function; else the network of that name, applied to what is given
 *
 * d(e, x, ...) is the derivative; d(e), of one argument, is the network named d. The other
 * functions are rows of a table in expr.c, whose names expr_is_function knows: a scope must not
 * give them, 'pi' or 'at' to anything else.
 *
 * VALUES. A value is a number, a scalar (a variable, a mean or a sum), a value at points, or
 * snapshots. Tensors are F32:
 *
 *   scalar     ()
 *   at points  (R P, C): C components at P points for each of R realizations of a set (1 where a
 *              set has none); row r P + p is point p of realization r
 *   snapshots  (R, W): all that join() takes together, a row for each realization
 *
 * Operators and functions take each component for itself. Values of one component, scalars and
 * numbers fit any other value; else components are equal. Values at different sets fit where both
 * have the same number of points and realizations: point p of one then meets point p of the other.
 *
 *   d, grad, div, laplacian, dn    of values at points. Points are independent of each other: a row
 *              of the value depends on the same row of the coordinates alone
 *   grad(e)    of one component; as many components as coordinates, which are those that are named,
 *              else those of the set that are `spatial`; so are those of div, laplacian, dn
 *   norm(v)    sqrt(sum of v[k]^2 + EXPR_EPSILON)
 *   mean, sum  over all rows and components, of what is emitted: where ranks share the points, the
 *              mean over ranks of what each has is that of all points
 *   join(a, ...)   where no argument says where: components, one after another. Where all do
 *              ('@', 'at.', 'SET.'): snapshots, in which the values of one argument after another
 *              come, of each point after point, of each point component after component. All sets
 *              have the same R
 *   slope(D, v)        norm(dD/dv) in each row of v, D a network of one input. Rows are points or
 *              snapshots
 *   penalty(D, a, b)   mean((slope(D, v) - 1)^2) at v = b + alpha (a - b), alpha uniform in [0, 1)
 *              for each row
 *   select(c, a, b)    a where c >= 0, else b
 *
 * A name of `let` stands for its expression, evaluated on the set where the name is used.
 *
 * Errors. Mistakes in a text are E_CONFIG at the word (ynode_place): expr_parse ends at the first
 * one, expr_check goes on and reports each once. Nothing here is freed: expressions live in the
 * arena that they were read into. */
#ifndef DLX_MODEL_EXPR_H
#define DLX_MODEL_EXPR_H

#include "graph/graph.h"
#include "yaml/ytree.h"

#define EXPR_EPSILON 1e-12   /* under the root of norm and of slope */

/* --- reading --- */

struct expr;

/* Reads the expression that the scalar n holds. n, and its text, must live as long as *out. */
int expr_parse(struct arena *a, const struct ynode *n, const struct expr **out);
bool expr_is_function(const char *name);        /* "d" is none: a network may have this name */
const struct loc *expr_loc(const struct expr *e);   /* of its outermost word */
/* The tree with all parentheses, for tests: "(-(x ^ 2))", "d(u, x)", "(u @ walls)". */
void expr_print(struct buf *out, const struct expr *e);

/* --- the scope: what names mean --- */

enum expr_what {
	EXPR_COORDINATE,     /* of sets; what may be derived by */
	EXPR_NETWORK,
	EXPR_LET,
	EXPR_VARIABLE,       /* an unknown number: a scalar */
	EXPR_ARRAY,          /* of the sets that have it: values at points that are given */
	EXPR_NOISE           /* given for each realization, the same at all points of it */
};

struct expr_input {
	const char *name;            /* of the scope: what the network gets where it is only named. One
	                              * that is not in the scope has to be given: D(fake) */
	int components;              /* 0: as many as are given, the same at all places */
};

struct expr_name {
	const char *name;
	enum expr_what what;
	int components;              /* of networks, arrays and noise */
	const struct expr *let;      /* EXPR_LET */
	const struct expr_input *input;   /* networks */
	int ninput;
	const char *kinked;          /* a network's activation that is piecewise linear, so that its
	                              * second derivatives are zero: "relu"; else NULL */
	const char *mixes;           /* a network's layer through which its rows depend on each other,
	                              * so that it cannot be derived: "batch_norm"; else NULL */
};

struct expr_axis {
	const char *name;            /* a coordinate of the scope */
	bool spatial;                /* grad, div, laplacian and dn mean it where no coordinate is
	                              * named; a host leaves time out */
};

struct expr_set {
	const char *name;
	int64_t points, realizations;     /* each at least 1 */
	const struct expr_axis *axis;     /* its coordinates; those that have one value here too */
	int naxis;
	const char *const *array;    /* arrays of the scope that it has */
	int narray;
	bool normals;
};

struct expr_scope {
	struct arena *arena;         /* where checks and emissions keep what they know */
	const struct expr_name *name;     /* no two of one name, but that an array may have that of
	                              * something else: then it is only found as SET.ARRAY */
	int nname;
	const struct expr_set *set;
	int nset;
	void *checked;               /* of expr_check's: NULL at first */
	int ranks;                   /* that share the points, by which sums over points are multiplied;
	                              * 0: one */
};

/* --- checking --- */

enum expr_extent { EXPR_OF_NUMBER, EXPR_OF_SCALAR, EXPR_OF_POINTS, EXPR_OF_SNAPSHOTS };

struct expr_type {
	enum expr_extent extent;
	int set;                     /* of points, or snapshots: an index of scope.set, or as below */
	int components;              /* 0: not known, after a mistake */
	uint64_t depends;            /* bit i: on coordinate i of the scope's names, which count alone;
	                              * where names are bound, on that of number i */
	bool located;                /* the value says itself at which points it is: '@' */
};

#define EXPR_NOWHERE (-1)        /* nothing but the expression says where it is evaluated */
#define EXPR_ANYWHERE (-2)       /* a `let` for itself: at some set that has all it needs */
#define EXPR_ONE_POINT (-3)      /* of a type: u(0, 0.5), a network of numbers alone */

/* Checks e at a set, or one of the first two above. Mistakes of a `let` are reported where it is
 * used first, in its own text, with a line of context that says where it is used; they are not
 * repeated where it is used again in the same way. */
int expr_check(struct expr_scope *s, const struct expr *e, int set, struct expr_type *out);
/* The same, and e is a term of an objective: a scalar that says itself where it is evaluated, and
 * where several ranks share the points a linear function of means and sums. */
int expr_check_term(struct expr_scope *s, const struct expr *e);

/* A name that stands for a tensor, ahead of the scope's: the inputs of a network in its own input
 * and output expressions, and its outputs before the latter. */
struct expr_bound {
	const char *name;
	int components;
	bool derivable;              /* d(e, name) is allowed: a coordinate */
	const char *kinked;          /* of a network's outputs: as in struct expr_name */
	tid value;                   /* (rows, components), the same rows of all; not for checks */
	const char *mixes;           /* of a network's outputs, too */
};
/* Checks e where these names are bound and coordinates, arrays and noise that are not are none.
 * Networks that are only named get bound inputs as well; sets cannot be named. */
int expr_check_bound(struct expr_scope *s, const struct expr *e, int nbound,
                     const struct expr_bound *bound, struct expr_type *out);

/* --- emission --- */

struct expr_emission;

/* What makes the leaves. Each returns 0 or an error. Called once for each (name, set), or
 * (network, inputs): results are kept. `user` is the host's. Tensors of sets have R P rows. */
struct expr_host {
	void *user;
	/* (rows, 1). A tensor of its own for each (name, set), from which every value that depends on
	 * this coordinate is computed: derivatives are taken by it. */
	int (*coordinate)(void *user, struct graph *g, int set, const char *name, tid *out);
	/* (rows, axes): a column for each spatial axis, in the order of set.axis */
	int (*normal)(void *user, struct graph *g, int set, tid *out);
	int (*array)(void *user, struct graph *g, int set, const char *name, tid *out);
	/* (R, components): of the realizations that `like`, a set, has. Emission repeats it to
	 * (R P, components). Sets of the same R get the same noise if the host gives one tensor. */
	int (*noise)(void *user, struct graph *g, int like, const char *name, tid *out);
	int (*variable)(void *user, struct graph *g, const char *name, tid *out);   /* one value */
	/* (rows, 1), for a penalty: uniform in [0, 1), other ones at each call and in each step */
	int (*uniform)(void *user, struct graph *g, int64_t rows, tid *out);
	/* The network applied to its inputs, (rows, components) each: (rows, components). Its own
	 * `input` and `output` expressions are the host's to emit, by expr_emit_bound on m. */
	int (*network)(void *user, struct expr_emission *m, const struct expr_name *network,
	               const tid *in, tid *out);
};

/* An emission into g, in s->arena; of one graph and all its expressions, so that what they share
 * is emitted once: values of a `let` at a set, of a network at equal inputs, derivatives. s and
 * host are borrowed. */
struct expr_emission *expr_emission_new(struct graph *g, struct expr_scope *s,
                                        const struct expr_host *host);
struct graph *expr_graph(const struct expr_emission *m);
/* To be called before anything is emitted, with all that will be, n expressions at these sets and
 * in this order: learns which derivatives of networks are wanted, so that those travel forward
 * through their layers (expr_emit_layers). Without it, and where a derivative cannot travel so, all
 * are taken by reverse passes over what is emitted, one for each component and order. */
int expr_foresee(struct expr_emission *m, int n, const struct expr *const *e, const int *set);
/* How derivatives of what has been emitted so far are taken, in words; NULL: there are none.
 * unforeseen: why expr_foresee was not called, or NULL. */
const char *expr_derivation(const struct expr_emission *m, const char *unforeseen);
/* Emits e, which has been checked without a mistake at the same set or EXPR_NOWHERE. *out has one
 * of the forms above; a number becomes a scalar. Nodes have the graph's current phase, those of
 * derivatives too, of which pass_dce removes what was not needed; all but those have its current
 * name, and the place of their word. E_CONFIG remains possible: what is divided by may be a `let`
 * that is the number 0. */
int expr_emit(struct expr_emission *m, const struct expr *e, int set, tid *out);
/* The same where names are bound; a value without rows is repeated to those of `bound`. */
int expr_emit_bound(struct expr_emission *m, const struct expr *e, int nbound,
                    const struct expr_bound *bound, tid *out);

/* The layers of a network, for hosts: dense ones with activations between them, or others. */
struct expr_layers {
	const char *name;            /* for people */
	int n;                       /* dense layers; 0: they are others */
	int activation;              /* enum taylor_of; NONE: one whose derivatives cannot travel */
	int outputs;                 /* of the last layer */
	void *user;
	/* Makes the weight and the bias of layer i, whose input has this many columns, and gives the
	 * graph the name and place of what is emitted next. */
	int (*weights)(void *user, struct graph *g, int i, int64_t columns, tid *weight, tid *bias);
	/* Emits all layers without derivatives. */
	int (*plain)(void *user, struct graph *g, tid x, tid *y);
};
/* y (rows, outputs) of x (rows, width). To be called once for each application of a network. */
int expr_emit_layers(struct expr_emission *m, const struct expr_layers *l, tid x, tid *y);

#endif
