#define _GNU_SOURCE
#include "CLinux.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Kills everything that carries the mark, daemons included. Returns how many there were.
static int kill_marked(const char *marker) {
    DIR *folder = opendir("/proc");
    if (!folder) return 0;
    int killed = 0;
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        if (!isdigit((unsigned char)entry->d_name[0])) continue;
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid != getpid() && relay_process_is_marked(pid, marker) && kill(pid, SIGKILL) == 0) killed++;
    }
    closedir(folder);
    return killed;
}

// The guard of a run: waits for the end of its process, or of its parent, and ends all the rest.
static void guard(int process, int parent, const char *marker) {
    setsid();
    // Apart from the two, nothing of what the process has open is to stay open because of the guard.
    if (dup2(process, 0) < 0 || (parent >= 0 && dup2(parent, 1) < 0)) _exit(1);
    close_range(parent >= 0 ? 2 : 1, ~0U, 0);
    for (int number = 1; number < NSIG; number++) signal(number, SIG_IGN);
    prctl(PR_SET_NAME, "relay-run-guard");
    struct pollfd ends[2] = {{.fd = 0, .events = POLLIN}, {.fd = parent >= 0 ? 1 : -1, .events = POLLIN}};
    while (poll(ends, 2, -1) < 0 && errno == EINTR) {}
    syscall(SYS_pidfd_send_signal, 0, SIGKILL, NULL, 0);
    // A process that was just being started shows its mark a moment later.
    struct timespec step = {0, 20 * 1000 * 1000};
    for (int quiet = 0; quiet < 10; quiet++) {
        if (kill_marked(marker) > 0) quiet = 0;
        nanosleep(&step, NULL);
    }
    _exit(0);
}

int relay_guard_run(void) {
    const char *present = getenv(RELAY_RUN);
    if (present && *present) return 0;
    char marker[96];
    int name = snprintf(marker, sizeof marker, "%s=", RELAY_RUN);
    snprintf(marker + name, sizeof marker - (size_t)name, "%d.%llu", (int)getpid(),
             (unsigned long long)relay_process_start_time(getpid()));
    if (setenv(RELAY_RUN, marker + name, 1) < 0) return errno;
    struct sigaction hangup;
    sigaction(SIGHUP, NULL, &hangup);
    pid_t starter = getppid();
    // A process under nohup is meant to outlive its parent.
    int outlives = starter <= 1 || hangup.sa_handler == SIG_IGN;
    int process = relay_pidfd_open(getpid());
    if (process < 0) return errno;
    int parent = outlives ? -1 : relay_pidfd_open(starter);
    pid_t first = fork();
    if (first == 0) {
        // No child of the process, which may wait for all of its children.
        if (fork() == 0) guard(process, parent, marker);
        _exit(0);
    }
    int error = first < 0 ? errno : 0;
    while (first > 0 && waitpid(first, NULL, 0) < 0 && errno == EINTR) {}
    close(process);
    if (parent >= 0) close(parent);
    return error;
}
