/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks the class labels of decoded samples. A label that is neither a class nor the ignored value
 * ends the run, with the file, the sample and the position in it. */
#ifndef DLX_DATA_LABELS_STORED_H
#define DLX_DATA_LABELS_STORED_H

#include "data/loader.h"

struct label_rule {
	int64_t classes;       /* number of classes; 0: targets are not labels, or are not read */
	int64_t ignore;        /* label that is ignored; INT64_MIN: none */
};

/* labels: the stored target of sample `sample` of d. E_DATA. */
int labels_stored_check(const struct label_rule *r, const struct dataset *d, int64_t sample,
                        const void *labels);

/* Checks all samples of those files whose header does not say which labels occur. */
int labels_stored_check_all(const struct label_rule *r, const struct dataset *d);

#endif
