// When a run of the tests or of the drills ends, by SIGKILL too, all processes that it has started are killed.
#include "CLinux.h"
#include "RunGuard.h"

#include <stdio.h>
#include <string.h>

// Before main: later there are threads, and the environment may be read by any of them.
__attribute__((constructor)) static void guard_run(void) {
    int error = relay_guard_run();
    if (error) fprintf(stderr, "this run is not guarded, and may leave processes behind: %s\n", strerror(error));
}
