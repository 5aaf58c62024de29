# SPDX-License-Identifier: BSD-3-Clause
# Data mining: flows of a 1,500-server cluster. A. Greenberg et al., "VL2: A Scalable and Flexible Data Center Network",
# SIGCOMM 2009, Figure 2 (flow sizes). Points as read off the figure in the traffic generator of MQ-ECN (NSDI 2016).
# The mean is about 12.7 MB, nearly all of it from 5% of the flows.
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
100000000   0.98
1000000000  1
