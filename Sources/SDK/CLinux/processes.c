#define _GNU_SOURCE
#include "CLinux.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    pid_t parent;
    pid_t session;
    uint64_t start_time;
} process_facts;

// /proc/PID/stat: "pid (name) state ppid pgrp session …"; the name may hold spaces and parentheses.
static int read_facts(pid_t pid, process_facts *facts) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t length = read(fd, text, sizeof text - 1);
    close(fd);
    if (length <= 0) return 0;
    text[length] = 0;
    char *after_name = strrchr(text, ')');
    if (!after_name) return 0;
    int parent, group, session;
    unsigned long long start;
    int found = sscanf(after_name + 1, " %*c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                       &parent, &group, &session, &start);
    if (found != 4) return 0;
    facts->parent = parent;
    facts->session = session;
    facts->start_time = start;
    return 1;
}

uint64_t relay_process_start_time(pid_t pid) {
    process_facts facts;
    return read_facts(pid, &facts) ? facts.start_time : 0;
}

pid_t relay_process_parent(pid_t pid) {
    process_facts facts;
    return read_facts(pid, &facts) ? facts.parent : -1;
}

int relay_process_is_marked(pid_t pid, const char *marker) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    char *entry = NULL;
    size_t capacity = 0;
    int found = 0;
    while (!found && getdelim(&entry, &capacity, 0, file) > 0) found = strcmp(entry, marker) == 0;
    free(entry);
    fclose(file);
    return found;
}

int relay_process_variable(pid_t pid, const char *name, char *value, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    char *entry = NULL;
    size_t capacity = 0, length = strlen(name);
    int found = 0;
    while (!found && getdelim(&entry, &capacity, 0, file) > 0) {
        if (strncmp(entry, name, length) != 0 || entry[length] != '=' || strlen(entry + length + 1) >= size) continue;
        strcpy(value, entry + length + 1);
        found = 1;
    }
    free(entry);
    fclose(file);
    return found;
}

static int has_pipe(pid_t pid) {
    for (int fd = 0; fd <= 2; fd++) {
        char path[64];
        struct stat status;
        snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
        if (stat(path, &status) == 0 && S_ISFIFO(status.st_mode)) return 1;
    }
    return 0;
}

// A daemon of the agent's own making (a tmux server, say) is not ours to end. A shell that the agent left behind is:
// it leads a session too and has been reparented, but still holds the pipes its output went through.
static int has_daemonised(pid_t pid, const char *marker) {
    process_facts facts;
    if (!read_facts(pid, &facts)) return 1; // gone
    if (facts.session != pid) {
        // Part of someone's session: it stays exactly when that session's leader is a daemon.
        return facts.session > 1 && relay_process_is_marked(facts.session, marker)
                   ? has_daemonised(facts.session, marker)
                   : 0;
    }
    if (has_pipe(pid)) return 0;
    // A pane of a tmux server leads a session of its own: it stays if the server does.
    return relay_process_is_marked(facts.parent, marker) ? has_daemonised(facts.parent, marker) : 1;
}

int relay_signal_marked(const char *marker, int signal, pid_t spare) {
    DIR *folder = opendir("/proc");
    if (!folder) return 0;
    int signalled = 0;
    struct dirent *entry;
    while ((entry = readdir(folder))) {
        if (!isdigit((unsigned char)entry->d_name[0])) continue;
        pid_t pid = (pid_t)atoi(entry->d_name);
        if (pid == getpid() || pid == spare || !relay_process_is_marked(pid, marker)) continue;
        if (has_daemonised(pid, marker)) continue;
        if (kill(pid, signal) == 0) signalled++;
    }
    closedir(folder);
    return signalled;
}
