#!/usr/bin/env python3
"""What scipy says of some pairs of samples: python3 reference/two_samples.py > reference/two_samples.csv

With scipy 1.10.1. The tests of src/analysis/two_samples.rs compare.
"""

import numpy as np
from scipy import stats

PAIRS = [
    ([1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0]),
    ([10.1, 9.9, 10.0, 10.2, 9.8, 10.05], [10.6, 10.4, 10.7, 10.55, 10.3, 10.45]),
    ([5.0, 5.5, 6.1, 4.8, 5.2, 5.9, 5.1, 5.4], [5.3, 5.2, 5.8, 5.0, 5.6, 4.9, 5.7, 5.15]),
    ([100.0, 101.5, 99.2, 100.7, 98.9, 100.2, 101.1, 99.8, 100.4, 99.5],
     [97.0, 112.5, 89.4, 105.1, 92.8, 110.3, 95.2, 101.9, 108.8, 90.6]),
    ([3.0, 3.0, 3.0, 4.0, 4.0, 5.0], [3.0, 4.0, 4.0, 5.0, 5.0, 5.0, 6.0]),
    ([1.2, 0.8, 15.0, 1.1, 0.9, 1.0, 1.3], [2.4, 2.2, 2.6, 2.1, 2.3]),
    ([7.0, 7.1, 6.9, 7.05, 6.95, 7.2, 6.8, 7.02, 6.98, 7.11, 6.89, 7.01],
     [7.07, 7.17, 6.97, 7.12, 7.02, 7.27, 6.87, 7.09, 7.05, 7.18, 6.96, 7.08]),
]


def row(a, b):
    x, y = np.array(a), np.array(b)
    differences = np.subtract.outer(y, x)
    return [
        " ".join(map(repr, a)),
        " ".join(map(repr, b)),
        stats.ttest_ind(x, y, equal_var=False).pvalue,
        stats.mannwhitneyu(x, y, alternative="two-sided").pvalue,
        stats.levene(x, y, center="median").pvalue,
        np.median(differences),
        np.mean(np.sign(differences)),
    ]


print("a,b,welch_p,mann_whitney_p,brown_forsythe_p,hodges_lehmann,cliffs_delta")
for a, b in PAIRS:
    print(",".join(map(str, row(a, b))))
