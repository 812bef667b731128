/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where the first values of a step come from that are not finite. It has no pointers, so that one
 * rank can send it to the others. */
#ifndef DLX_TRAIN_FINDING_H
#define DLX_TRAIN_FINDING_H

#include "base/buf.h"
#include "graph/graph.h"

#define FINDING_VALUES 8
#define FINDING_SAMPLES 8

enum finding_of {
	FOUND_OUTPUT,                  /* the node made them of finite values */
	FOUND_DATA,                    /* the batch has them */
	FOUND_STORED                   /* a param or state had them before the step */
};

struct finding_sample {
	int64_t index, window;         /* in the training set; of its windows */
	int64_t partner;               /* that it is blended with; -1: none */
	char key[64];                  /* "": it has none */
};

/* Of the kernel of a node whose output is not finite while its inputs are: see
 * train/diagnose/kernel_check.h. */
enum kernel_verdict {
	KERNEL_UNCHECKED,
	KERNEL_TOO_LARGE,              /* to be made again in float64 in a minute or two */
	KERNEL_UNKNOWN,                /* that failed, or inputs are so large that float32 may, too */
	KERNEL_RIGHT,                  /* in float64 the values are too large for the type, or nearly */
	KERNEL_WRONG
};

struct finding_kernel {
	enum kernel_verdict verdict;
	char impl[64], type[8];        /* "brgconv:avx512_core"; of its first input */
	char device[160], sample[320]; /* its description; the node as optest takes it */
	bool on_cpu;
	int64_t at;                    /* KERNEL_WRONG: the place of a value, row-major, */
	double right;                  /* and what it should be */
};

struct finding {
	nid node;                      /* of the plan; NONE: nothing was found */
	int64_t micro;                 /* micro-batch of the rank's */
	int rank;
	char host[64];
	enum finding_of of;
	char op[32], layer[160], place[256];   /* place: FILE:LINE:COLUMN of the layer, or "" */
	enum phase phase;
	char tensor[160];              /* FOUND_DATA, FOUND_STORED: its name */
	char rounded[8];               /* FOUND_DATA: the type that the host has rounded the batch to;
	                                * "": to none */
	struct shape shape;            /* of the tensor that has them, */
	int64_t count;                 /* values that are not finite */
	int nvalue;                    /* of them that are kept, the first ones */
	struct { int64_t at; double v; } value[FINDING_VALUES];        /* at: row-major */
	/* FOUND_OUTPUT: the largest magnitude among the node's inputs, -1 if they are there no more; in
	 * which sample of the set it is, -1: not known. */
	double largest;
	int64_t largest_sample;
	struct finding_kernel kernel;  /* FOUND_OUTPUT */
	bool attributed;               /* the samples are those with such values, not all of the
	                                * batch */
	int64_t samples;               /* so many */
	int nsample;                   /* of them that are kept */
	struct finding_sample sample[FINDING_SAMPLES];
};

/* For people: lines without a stop at the end, one after the other; i from 0, NULL: there is no
 * such line. Valid until b is changed. */
const char *finding_line(const struct finding *f, int i, struct buf *b);
/* Appends members of an object, each after a comma. */
void finding_json(const struct finding *f, struct buf *b);

#endif
