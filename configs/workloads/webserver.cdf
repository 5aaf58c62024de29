# SPDX-License-Identifier: BSD-3-Clause
# Web server of Facebook. A. Roy et al., "Inside the Social Network's (Datacenter) Network", SIGCOMM 2015, Figure 6
# (flow sizes, all destinations). Points as read off the figure for the workloads of ExpressPass (SIGCOMM 2017), in the
# form the ConWeave artifact (SIGCOMM 2023) publishes.
# bytes probability
150     0
300     0.12
300     0.20
600     0.20
1000    0.30
2000    0.40
3100    0.50
6000    0.60
20000   0.71
60000   0.80
150000  0.82
300000  0.90
500000  1
