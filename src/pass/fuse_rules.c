/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The rewrite rules of the pass `fuse`. Each row of the table has the backends for which it is, the
 * nodes that must exist and are kept (`given`), the nodes that are replaced (`from`), and the new
 * node (`to`). Letters stand for tensors; the same letter is the same tensor everywhere:
 *
 *   given  z m s v = batch_norm x g b
 *   from   t = relu_grad z d ; p q u = batch_norm_grad/1 x t g m s
 *   to     p q u = batch_norm_grad/0 x d g m s b
 *
 * A dash stands for an optional input that is absent; c? for one that may be absent or present: if
 * a node of `from` or `given` lacks it, so does the new node. Ops separated by a bar are
 * alternatives: relu|leaky_relu. A number after an op is the value that its attribute `slope` must
 * have; a norm whose slope is 1 has no activation yet. In `to` the number is the slope of the new
 * node, unless a replaced node has a slope (leaky_relu has one, relu has none).
 *
 * On a GPU a convolution and its epilogue (bias, norm with running statistics, add, ReLU or its
 * gradient) become one node. It is one cuDNN graph if cuDNN recommends an engine for it; otherwise
 * dlx's kernel (cuda/k_epilogue.cu) follows the convolution. --plan shows which: `cudnn:eng7,
 * whole` or `cudnn:eng22, then a kernel`. cuDNN 9.19 proposes the following engines for an H200 and
 * compiles them at run time (seen with a stand-in for the driver):
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
 * In full float32 cuDNN has only generic engines, which are not used. For a 16-bit bias there are
 * precompiled engines too, but dlx uses a float32 bias, which is exact. */
#include "pass/fuse_rules.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"

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
	{ CPU, NULL, "p = pad y ; o = add a p", "o = pad_add a y" },
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
static int parse(const char *s, struct fuse_term *term, int room)
{
	int n = 0;
	while (s && *s) {
		struct fuse_term *t = &term[n];
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

int fuse_rules(void)
{
	return (int)(sizeof rules / sizeof *rules);
}

bool fuse_rule(struct fuse_pattern *p, int i, enum backend backend)
{
	const struct rule *r = &rules[i];
	char name[64];
	memset(p, 0, sizeof *p);
	p->across = r->across;
	p->ngiven = parse(r->given, p->given, MAX_TERMS);
	p->nfrom = parse(r->from, p->from, MAX_TERMS);
	parse(r->to, p->to, 1);
	snprintf(name, sizeof name, "%.*s", (int)strcspn(p->to->op, " /"), p->to->op);
	p->op = op_find(name);
	BUG_IF(!p->op, "no op is called '%s'", name);
	return r->backends >> backend & 1;
}
