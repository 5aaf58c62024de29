# SPDX-License-Identifier: BSD-3-Clause
# Data mining (configs/workloads/datamining.cdf) with no flow longer than 10 MB: a flow of 1 GB alone takes 200 ms at 40 Gb/s.
# The mean falls from 12.7 MB to 0.6 MB; 95 % of the flows are the same.
# bytes probability
0           0
180         0.10
216         0.20
560         0.30
900         0.40
1100        0.50
1870        0.60
3160        0.70
10000       0.80
400000      0.90
3160000     0.95
10000000    0.952119
10000000    1
