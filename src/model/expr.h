/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Expressions of the config: the equations, conditions and objectives of networks that solve
 * differential equations.
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
 * Operators and functions are applied component by component. A value with one component, a scalar
 * or a number is broadcast to any other value; otherwise the numbers of components must be equal.
 * Values at different sets can be combined if both have the same number of points and realizations:
 * point p of one is then combined with point p of the other.
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
 * Errors. Mistakes in a text are E_CONFIG at the word (ynode_place). expr_parse ends at the first
 * one; expr_check continues and reports each once. Nothing here needs to be freed: expressions live
 * in the arena in which they were parsed. */
#ifndef DLX_MODEL_EXPR_H
#define DLX_MODEL_EXPR_H

#include "graph/graph.h"
#include "yaml/ytree.h"

#define EXPR_EPSILON 1e-12   /* under the root of norm and of slope */

/* --- reading --- */

struct expr;

/* Parses the expression in the YAML scalar n. n and its text must live as long as *out. */
int expr_parse(struct arena *a, const struct ynode *n, const struct expr **out);
bool expr_is_function(const char *name);        /* false for "d": a network may have this name */
const struct loc *expr_loc(const struct expr *e);   /* location of the outermost operator or word in
                                                     * the config */
/* Whether the text of e has this name, of an array or anything else. */
bool expr_names(const struct expr *e, const char *name);
/* Appends the tree with all parentheses, for tests: "(-(x ^ 2))", "d(u, x)", "(u @ walls)". */
void expr_print(struct buf *out, const struct expr *e);

/* --- the scope: what names mean --- */

enum expr_what {
	EXPR_COORDINATE,     /* a coordinate of the sets; derivatives are taken with respect to
	                      * coordinates */
	EXPR_NETWORK,
	EXPR_LET,
	EXPR_VARIABLE,       /* an unknown number that is trained: a scalar */
	EXPR_ARRAY,          /* given values at the points of those sets that have this array */
	EXPR_NOISE           /* random numbers, drawn for each realization and equal at all its
	                      * points */
};

struct expr_input {
	/* name in the scope of the network's input, which the network gets when an expression names the
	 * network without arguments. An input that is not in the scope must be passed as an argument:
	 * D(fake) */
	const char *name;
	int components;              /* number of components; 0: that of the argument, which must be
	                              * equal in all uses */
};

struct expr_name {
	const char *name;
	enum expr_what what;
	int components;              /* number of components of a network, an array or noise */
	const struct expr *let;      /* the expression that a `let` stands for */
	const struct expr_input *input;   /* inputs of a network */
	int ninput;
	const char *kinked;          /* the name of a network's piecewise linear activation ("relu"),
	                              * whose second derivatives are zero; else NULL */
	const char *mixes;           /* the name of a network's layer that makes rows depend on each
	                              * other ("batch_norm"), so that no derivative can be taken; else
	                              * NULL */
};

struct expr_axis {
	const char *name;            /* a coordinate of the scope */
	bool spatial;                /* grad, div, laplacian and dn use this axis if the expression
	                              * names no coordinate; false for time */
};

struct expr_set {
	const char *name;
	int64_t points, realizations;     /* each at least 1 */
	const struct expr_axis *axis;     /* its coordinates, including those with only one value in
	                                   * this set */
	int naxis;
	const char *const *array;    /* names of the scope's arrays that this set has */
	int narray;
	bool normals;
};

struct expr_scope {
	struct arena *arena;         /* memory for the results of checks and emissions */
	const struct expr_name *name;     /* names are unique, except that an array may share its name
	                                   * with something else: then only SET.ARRAY refers to it */
	int nname;
	const struct expr_set *set;
	int nset;
	void *checked;               /* private to expr_check: NULL at first */
	int ranks;                   /* number of ranks that share the points; sums over points are
	                              * multiplied by it. 0: one rank */
};

/* --- checking --- */

enum expr_extent { EXPR_OF_NUMBER, EXPR_OF_SCALAR, EXPR_OF_POINTS, EXPR_OF_SNAPSHOTS };

struct expr_type {
	enum expr_extent extent;
	int set;                     /* of points or snapshots: index into scope.set, or one of the
	                              * constants below */
	int components;              /* number of components; 0: unknown, after a mistake */
	uint64_t depends;            /* bit i: the value depends on coordinate i, counting only the
	                              * coordinates among the scope's names; for bound names, on bound
	                              * name i */
	bool located;                /* the expression itself says at which points it is evaluated, by
	                              * '@' */
};

#define EXPR_NOWHERE (-1)        /* only the expression itself says where it is evaluated */
#define EXPR_ANYWHERE (-2)       /* a `let` checked by itself: assumes some set that has all names
                                  * it needs */
#define EXPR_ONE_POINT (-3)      /* type of a network applied to numbers only, as u(0, 0.5): one
                                  * point */

/* Checks e at a set (an index, EXPR_NOWHERE or EXPR_ANYWHERE). Mistakes in a `let` are reported at
 * its first use, with their location in the text of the `let` and a line of context that names the
 * use; later uses do not report them again. */
int expr_check(struct expr_scope *s, const struct expr *e, int set, struct expr_type *out);
/* As expr_check, for a term of an objective: e must be a scalar that says itself where it is
 * evaluated and, if several ranks share the points, a linear function of means and sums. */
int expr_check_term(struct expr_scope *s, const struct expr *e);

/* A name that stands for a tensor and hides the same name of the scope. In the input and output
 * expressions of a network, its inputs are bound; in the output expression also its raw outputs. */
struct expr_bound {
	const char *name;
	int components;
	bool derivable;              /* d(e, name) is allowed: the name is a coordinate */
	const char *kinked;          /* for a network's outputs: as in struct expr_name */
	tid value;                   /* tensor (rows, components), with equal rows for all names; unused
	                              * by checks */
	const char *mixes;           /* for a network's outputs, as in struct expr_name */
};
/* Checks e with these names bound. Coordinates, arrays and noise of the scope that are not bound
 * are unknown here. A network that is named without arguments gets bound inputs too. Sets cannot be
 * named. */
int expr_check_bound(struct expr_scope *s, const struct expr *e, int nbound,
                     const struct expr_bound *bound, struct expr_type *out);

/* --- emission --- */

struct expr_emission;

/* Callbacks of the host (the caller) that make the leaf tensors of expressions. Each returns 0 or
 * an error. Each is called only once for each (name, set) or (network, inputs), because results are
 * kept. `user` is the host's. Tensors of sets have R P rows. */
struct expr_host {
	void *user;
	/* The coordinate, (rows, 1): one tensor for each (name, set). Every value that depends on this
	 * coordinate is computed from it, so that derivatives can be taken with respect to it. */
	int (*coordinate)(void *user, struct graph *g, int set, const char *name, tid *out);
	/* The unit normals, (rows, axes): a column for each spatial axis, in the order of set.axis. */
	int (*normal)(void *user, struct graph *g, int set, tid *out);
	int (*array)(void *user, struct graph *g, int set, const char *name, tid *out);
	/* Noise, (R, components), for the R realizations of the set `like`. Emission repeats it to (R
	 * P, components). Sets with the same R get the same noise if the host returns the same
	 * tensor. */
	int (*noise)(void *user, struct graph *g, int like, const char *name, tid *out);
	int (*variable)(void *user, struct graph *g, const char *name, tid *out);   /* one value */
	/* Random numbers for a penalty, (rows, 1): uniform in [0, 1), different in each call and each
	 * step. */
	int (*uniform)(void *user, struct graph *g, int64_t rows, tid *out);
	/* Applies the network to its inputs, each (rows, components). The result is (rows, components).
	 * The host must also emit the network's own `input` and `output` expressions, by
	 * expr_emit_bound on m. */
	int (*network)(void *user, struct expr_emission *m, const struct expr_name *network,
	               const tid *in, tid *out);
};

/* Begins an emission into g, in s->arena. All expressions of one graph use the same emission, so
 * that what they share is emitted once: values of a `let` at a set, of a network at equal inputs,
 * and derivatives. s and host are borrowed. */
struct expr_emission *expr_emission_new(struct graph *g, struct expr_scope *s,
                                        const struct expr_host *host);
struct graph *expr_graph(const struct expr_emission *m);
/* Call this before anything is emitted, with all n expressions that will be emitted, in that order,
 * and their sets. It finds out which derivatives of networks are needed, so that these can be
 * propagated forward through the layers (forward mode, expr_emit_layers). Without this call, and
 * where forward mode is impossible, derivatives are computed in reverse mode over the emitted
 * nodes, one pass for each component and order. */
int expr_foresee(struct expr_emission *m, int n, const struct expr *const *e, const int *set);
/* A text that says how the derivatives emitted so far are computed; NULL: there are none.
 * unforeseen: the reason why expr_foresee was not called, or NULL. */
const char *expr_derivation(const struct expr_emission *m, const char *unforeseen);
/* Emits e, which must have passed expr_check at the same set or at EXPR_NOWHERE. *out has one of
 * the forms above; a number becomes a scalar. All nodes get the graph's current phase and, except
 * those of derivatives, its current name and the config location of their word. Nodes of
 * derivatives that are not needed are left to pass_dce. E_CONFIG remains possible: the divisor may
 * be a `let` with the value 0. */
int expr_emit(struct expr_emission *m, const struct expr *e, int set, tid *out);
/* As expr_emit, with names bound; a value without rows is repeated for each row of `bound`. */
int expr_emit_bound(struct expr_emission *m, const struct expr *e, int nbound,
                    const struct expr_bound *bound, tid *out);

/* The layers of a network, which a host passes to expr_emit_layers: dense layers with activations
 * between them, or others. */
struct expr_layers {
	const char *name;            /* for messages */
	int n;                       /* number of dense layers; 0: the layers are of other kinds */
	int activation;              /* enum taylor_of; NONE: forward mode does not support the
	                              * activation */
	int outputs;                 /* number of outputs of the last layer */
	void *user;
	/* Makes the weight and the bias of layer i, whose input has this many columns, and sets the
	 * name and config location that the graph gives to nodes emitted next. */
	int (*weights)(void *user, struct graph *g, int i, int64_t columns, tid *weight, tid *bias);
	/* Emits all layers without derivatives. */
	int (*plain)(void *user, struct graph *g, tid x, tid *y);
};
/* Emits the layers on x (rows, width); y is (rows, outputs). Call it once for each application of a
 * network. */
int expr_emit_layers(struct expr_emission *m, const struct expr_layers *l, tid x, tid *y);

#endif
