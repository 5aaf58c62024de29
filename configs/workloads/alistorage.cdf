# SPDX-License-Identifier: BSD-3-Clause
# Distributed storage of Alibaba, 2019. Published as data, not as a figure, with Y. Li et al., "HPCC: High Precision
# Congestion Control", SIGCOMM 2019 (traffic generator, AliStorage2019).
# bytes probability
0        0
4000     0.2293
8000     0.6921
16000    0.8061
32000    0.9047
64000    0.9353
128000   0.9677
256000   0.9753
2000000  1
