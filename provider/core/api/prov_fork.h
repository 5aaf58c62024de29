/* SPDX-License-Identifier: BSD-3-Clause */
/* Forked children.
 *
 * A forked child has copies of our objects, but the devices' rings and packet buffers are memory that it shares with
 * its parent, and the threads are gone. So a child may close what it inherited, and nothing it does reaches the device
 * or the file descriptors of wait objects; it cannot open a device after its parent has, because EAL has no threads in
 * it. A child that calls exec, or was forked before the parent's first fi_domain, is a process like any other. */
#ifndef PROV_FORK_H
#define PROV_FORK_H

/* `in_child` is called in each forked child, before fork(2) returns there. Once per process. */
void prov_fork_watch(void (*in_child)(void));
/* Forks between the process that loaded the provider and this one. */
unsigned prov_forks(void);

#endif
