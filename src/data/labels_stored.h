/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Class labels of a decoded sample: each is a class or the ignored value, or the run ends with the
 * file, the sample and the place of the first that is not. */
#ifndef DLX_DATA_LABELS_STORED_H
#define DLX_DATA_LABELS_STORED_H

#include "data/loader.h"

struct label_rule {
	int64_t classes;       /* 0: targets are no labels, or are not read */
	int64_t ignore;        /* INT64_MIN: none */
};

/* labels: the target of sample `sample` of d as stored. E_DATA. */
int labels_stored_check(const struct label_rule *r, const struct dataset *d, int64_t sample,
                        const void *labels);

/* The same of all samples in files whose header does not say which labels they have. */
int labels_stored_check_all(const struct label_rule *r, const struct dataset *d);

#endif
