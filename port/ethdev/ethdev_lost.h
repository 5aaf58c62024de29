/* SPDX-License-Identifier: BSD-3-Clause */
/* What a device lost, as it says. It begins anew when it is set up anew, and says nothing while it is gone: what it had
 * said is remembered, so that the numbers never fall. They are the device's, whichever of its engines asks. */
#ifndef WEFT_ETHDEV_LOST_H
#define WEFT_ETHDEV_LOST_H

#include <stdint.h>

struct lost {
	uint64_t nombuf; /* frames without a free buffer */
	uint64_t missed; /* frames that found the receive ring full */
};

/* Since the device was opened first; any thread. Also to be called before the device is set up anew, and after it. */
struct lost lost_look(uint16_t id);
/* Nobody has the device any more: another one may get its number. */
void lost_forget(uint16_t id);

#endif
