# SPDX-License-Identifier: BSD-3-Clause
# Cache follower of Facebook. A. Roy et al., "Inside the Social Network's (Datacenter) Network", SIGCOMM 2015, Figure 6
# (flow sizes, all destinations). Points as read off the figure for the workloads of ExpressPass (SIGCOMM 2017), in the
# form the ConWeave artifact (SIGCOMM 2023) publishes.
# bytes probability
70       0
70       0.01
150      0.015
150      0.04
300      0.08
350      0.10
350      0.19
450      0.20
500      0.28
600      0.30
700      0.35
1100     0.40
2000     0.42
10000    0.48
30000    0.50
100000   0.52
200000   0.60
400000   0.68
600000   0.70
1500000  0.701
2000000  0.80
2400000  0.90
3000000  1
