# SPDX-License-Identifier: BSD-3-Clause
# RPCs of all applications in a Google data center, 2008 ("Some Measured Google Flow Sizes", an internal memo, which Homa,
# SIGCOMM 2018, uses as workload W3). Published as data with the traffic generator of HPCC (SIGCOMM 2019,
# GoogleRPC2008), which has 800 points; here are those at powers of two, and some in the tail.
# bytes probability
0         0
3         0.0648826
32        0.0973239
64        0.155271
128       0.351573
256       0.497901
512       0.784921
1024      0.863200
2048      0.908862
4096      0.934955
8192      0.964309
16384     0.984694
32768     0.990402
65536     0.993256
131072    0.997129
262144    0.998453
524288    0.999498
1027982   0.999753
2034108   0.999884
4135977   0.999952
8231141   0.999985
15158197  1
