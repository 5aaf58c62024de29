# SPDX-License-Identifier: BSD-3-Clause
# Web search: background flows of a production search cluster. M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM
# 2010, Figure 4 (flow sizes). Points as read off the figure and rounded in the traffic generators of HPCC (SIGCOMM 2019)
# and of MQ-ECN (NSDI 2016).
# bytes probability
0         0
10000     0.15
20000     0.20
30000     0.30
50000     0.40
80000     0.53
200000    0.60
1000000   0.70
2000000   0.80
5000000   0.90
10000000  0.97
30000000  1
