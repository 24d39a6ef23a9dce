#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static int writing_end = -1;

// A signal may arrive on any thread, and threads exist before main: so a handler, not a blocked mask.
static void note(int number) {
    int saved = errno;
    unsigned char byte = (unsigned char)number;
    (void)!write(writing_end, &byte, 1);
    errno = saved;
}

int relay_signal_descriptor(void) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0) return -1;
    writing_end = ends[1];
    struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    int signals[] = {SIGTERM, SIGINT, SIGHUP};
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], &action, NULL) < 0) return -1;
    return ends[0];
}
