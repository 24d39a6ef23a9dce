#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

// A source descriptor below 4 could be overwritten by an earlier dup2, so each is first copied out of the way.
static int copy_high(int fd) {
    return fcntl(fd, F_DUPFD_CLOEXEC, 16);
}

int relay_spawn(const relay_spawn_request *request, pid_t *pid) {
    enum { count = 3 };
    int wanted[count] = {request->standard_input, request->standard_output, request->standard_error};
    int copies[count] = {-1, -1, -1};
    int error = 0;

    for (int i = 0; i < count && !error; i++) {
        copies[i] = copy_high(wanted[i]);
        if (copies[i] < 0) error = errno;
    }

    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    for (int i = 0; i < count && !error; i++) error = posix_spawn_file_actions_adddup2(&actions, copies[i], i);
    if (!error) error = posix_spawn_file_actions_addclosefrom_np(&actions, count);
    if (!error && request->cwd) error = posix_spawn_file_actions_addchdir_np(&actions, request->cwd);

    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    if (!error) error = posix_spawnattr_setsigmask(&attributes, &none);
    if (!error) error = posix_spawnattr_setsigdefault(&attributes, &all);
    if (!error) error = posix_spawnattr_setpgroup(&attributes, 0);
    int leads = request->new_session ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
    if (!error)
        error = posix_spawnattr_setflags(&attributes, leads | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (!error) error = posix_spawn(pid, request->path, &actions, &attributes, request->argv, request->envp);

    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    for (int i = 0; i < count; i++)
        if (copies[i] >= 0) close(copies[i]);
    return error;
}
