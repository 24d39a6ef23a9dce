#include "CLinux.h"

#include <sys/timerfd.h>
#include <time.h>

int relay_timer_descriptor(void) { return timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK); }

void relay_timer_set(int timer, long long seconds, long nanoseconds) {
    struct itimerspec time = {.it_value = {.tv_sec = seconds, .tv_nsec = nanoseconds}};
    // Only a wrong descriptor or time could be refused.
    timerfd_settime(timer, TFD_TIMER_ABSTIME, &time, NULL);
}
