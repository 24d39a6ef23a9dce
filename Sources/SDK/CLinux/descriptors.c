#define _GNU_SOURCE
#include "CLinux.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

int relay_pipe(int ends[2]) {
    return pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno;
}

int relay_set_nonblocking(int fd) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) return errno;
    return 0;
}

void relay_enlarge_pipe(int fd, int bytes) {
    (void)fcntl(fd, F_SETPIPE_SZ, bytes);
}

void relay_name_thread(const char *name) {
    (void)prctl(PR_SET_NAME, name, 0, 0, 0);
}

const void *relay_find(const void *bytes, size_t length, const void *needle, size_t needle_length) {
    return memmem(bytes, length, needle, needle_length);
}

int relay_pidfd_open(pid_t pid) {
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

int relay_peer_credentials(int fd, pid_t *pid, uid_t *uid) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0) return errno;
    *pid = credentials.pid;
    *uid = credentials.uid;
    return 0;
}

int relay_open_descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) return -1;
    int count = -1; // the folder's own descriptor
    while (readdir(folder)) count++;
    closedir(folder);
    return count - 2; // "." and ".."
}

long relay_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return -1;
    return limit.rlim_cur == RLIM_INFINITY ? -1 : (long)limit.rlim_cur;
}

unsigned long relay_file_system_type(const char *path, unsigned *device_major, unsigned *device_minor) {
    struct statfs system;
    struct stat file;
    if (statfs(path, &system) < 0 || stat(path, &file) < 0) return 0;
    *device_major = major(file.st_dev);
    *device_minor = minor(file.st_dev);
    return (unsigned long)system.f_type;
}
