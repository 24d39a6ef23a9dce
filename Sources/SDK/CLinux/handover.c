#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int relay_memory_file(const char *name) {
    return memfd_create(name, MFD_CLOEXEC);
}

int relay_keep_on_exec(int fd, int keep) {
    int flags = fcntl(fd, F_GETFD);
    if (flags < 0) return errno;
    flags = keep ? flags & ~FD_CLOEXEC : flags | FD_CLOEXEC;
    return fcntl(fd, F_SETFD, flags) < 0 ? errno : 0;
}

int relay_execute(const char *path, char *const argv[], char *const envp[]) {
    execve(path, argv, envp);
    return errno;
}
