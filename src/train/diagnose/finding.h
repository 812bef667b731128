/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A finding: the origin of the first values in a step that are not finite. It has no pointers, so
 * that one rank can send it to the others. */
#ifndef DLX_TRAIN_FINDING_H
#define DLX_TRAIN_FINDING_H

#include "base/buf.h"
#include "graph/graph.h"

#define FINDING_VALUES 8
#define FINDING_SAMPLES 8

enum finding_of {
	FOUND_OUTPUT,                  /* the node computed them from finite values */
	FOUND_DATA,                    /* the batch contains them */
	FOUND_STORED                   /* a param or state had them before the step */
};

struct finding_sample {
	int64_t index, window;         /* index in the training set; index of its window */
	int64_t partner;               /* index of the sample with which it is blended; -1: none */
	char key[64];                  /* key of the sample; "": it has none */
};

/* The verdict on the kernel of a node whose output is not finite although its inputs are
 * (train/diagnose/kernel_check.h). */
enum kernel_verdict {
	KERNEL_UNCHECKED,
	KERNEL_TOO_LARGE,              /* the node is too large to be recomputed in float64 within a
	                                * minute or two */
	KERNEL_UNKNOWN,                /* the recomputation failed, or inputs are so large that a
	                                * correct float32 kernel may overflow too */
	KERNEL_RIGHT,                  /* recomputed in float64, the values are too large for the type,
	                                * or nearly so */
	KERNEL_WRONG
};

struct finding_kernel {
	enum kernel_verdict verdict;
	char impl[64], type[8];        /* name of the kernel, as "brgconv:avx512_core"; type of its
	                                * first input */
	char device[160], sample[320]; /* description of the device; the node, in the format of optest's
	                                * samples */
	bool on_cpu;
	int64_t at;                    /* KERNEL_WRONG: row-major index of a wrong value */
	double right;                  /* the correct value */
};

struct finding {
	nid node;                      /* the node of the plan; NONE: nothing was found */
	int64_t micro;                 /* index of the rank's micro-batch */
	int rank;
	char host[64];
	enum finding_of of;
	char op[32], layer[160], place[256];   /* place: op of the node; name of its layer; the layer's
	                                        * place in the config, FILE:LINE:COLUMN, or "" */
	enum phase phase;
	char tensor[160];              /* FOUND_DATA, FOUND_STORED: name of the tensor */
	char rounded[8];               /* FOUND_DATA: the type to which the host rounded the batch; "":
	                                * it was not rounded */
	struct shape shape;            /* shape of the tensor that contains the values */
	int64_t count;                 /* number of its values that are not finite */
	int nvalue;                    /* number of entries in `value`, which are the first of these */
	struct { int64_t at; double v; } value[FINDING_VALUES];        /* at: row-major */
	/* FOUND_OUTPUT: the largest magnitude in the node's inputs, -1 if these were overwritten; the
	 * index of its sample in the set, -1: not known. */
	double largest;
	int64_t largest_sample;
	struct finding_kernel kernel;  /* FOUND_OUTPUT */
	bool attributed;               /* `sample` has only samples with such values; false: all samples
	                                * of the batch */
	int64_t samples;               /* number of these samples */
	int nsample;                   /* number of entries in `sample` */
	struct finding_sample sample[FINDING_SAMPLES];
};

/* Line i, from 0, of the finding's text for people, without a final full stop; NULL: there are no
 * more lines. Valid until b is changed. */
const char *finding_line(const struct finding *f, int i, struct buf *b);
/* Appends JSON members, each after a comma. */
void finding_json(const struct finding *f, struct buf *b);

#endif
