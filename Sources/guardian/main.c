// pi-relay-guardian -- COMMAND [ARGUMENTS]: becomes the command, and leaves behind nothing that it has started.
//
// Without arguments, the guardian: ends the daemon's children when the daemon is gone, kill -9 included.
//
// Standard input is a pipe whose other end only the daemon holds, across exec too. Lines:
//   marker NAME=value   processes with this in their environment are the daemon's descendants
//   leftovers keep|kill whether those in no recorded group are ended as well
//   grace MILLISECONDS  between SIGTERM and SIGKILL
//   + PID START         a child leads group PID and started at START (clock ticks since boot)
//   - PID               it is gone
// End of file means the daemon is gone. No memory is allocated after the first lines, and nothing is shared with it.
#include "CLinux.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct {
    pid_t pid;
    uint64_t start;
} child;

static child *children;
static size_t count, capacity;
static char marker[256];
static int ends_leftovers = 1;
static long grace = 2000;

static void record(pid_t pid, uint64_t start) {
    if (count == capacity) {
        size_t larger = capacity ? capacity * 2 : 64;
        child *grown = realloc(children, larger * sizeof *children);
        if (!grown) return; // the marker still finds its descendants
        children = grown;
        capacity = larger;
    }
    children[count++] = (child){pid, start};
}

static void forget(pid_t pid) {
    for (size_t i = 0; i < count; i++)
        if (children[i].pid == pid) children[i--] = children[--count];
}

static void obey(char *line) {
    line[strcspn(line, "\n")] = 0;
    int pid;
    unsigned long long start;
    if (strncmp(line, "marker ", 7) == 0) {
        snprintf(marker, sizeof marker, "%s", line + 7);
    } else if (strncmp(line, "leftovers ", 10) == 0) {
        ends_leftovers = strcmp(line + 10, "keep") != 0;
    } else if (strncmp(line, "grace ", 6) == 0) {
        grace = atol(line + 6);
    } else if (sscanf(line, "+ %d %llu", &pid, &start) == 2) {
        record(pid, start);
    } else if (sscanf(line, "- %d", &pid) == 1) {
        forget(pid);
    }
}

// A recorded group may be signalled only while its leader is the recorded process, or while the group outlives its
// leader: the kernel gives no new process a number that is in use as a group.
static int signal_all(int number) {
    int reached = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t start = relay_process_start_time(children[i].pid);
        if (start != 0 && start != children[i].start) continue;
        if (kill(-children[i].pid, number) == 0) reached++;
    }
    if (marker[0] && ends_leftovers) reached += relay_signal_marked(marker, number, getpid());
    return reached;
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "--") == 0) {
        int error = relay_guard_run();
        if (error) fprintf(stderr, "pi-relay-guardian: what is started may stay behind: %s\n", strerror(error));
        execvp(argv[2], argv + 2);
        fprintf(stderr, "pi-relay-guardian: %s: %s\n", argv[2], strerror(errno));
        return 127;
    }
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    char line[512];
    while (fgets(line, sizeof line, stdin)) obey(line);

    if (signal_all(SIGTERM) == 0) return 0;
    struct timespec step = {0, 20 * 1000 * 1000};
    for (long waited = 0; waited < grace; waited += 20) {
        nanosleep(&step, NULL);
        if (signal_all(0) == 0) return 0;
    }
    signal_all(SIGKILL);
    return 0;
}
