// Preloaded into a program, counts its boundaries (each write, flush, rename and spawn) over all its threads and all
// its lives, and kills it with SIGKILL at the one it is told to. PI_RELAY_KILLPOINT is FILE:ROLE:PROGRAM; the file is
// shared with whoever set it up, one row for each role.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { roles = 16 };

struct row {
    _Atomic unsigned long count;
    _Atomic unsigned long limit; // 0: count only
    _Atomic unsigned long fired;
};

static struct row *row;

__attribute__((constructor)) static void set_up(void) {
    const char *text = getenv("PI_RELAY_KILLPOINT");
    char path[256], program[64];
    unsigned role;
    if (!text || sscanf(text, "%255[^:]:%u:%63s", path, &role, program) != 3 || role >= roles) return;
    if (strcmp(program, program_invocation_short_name) != 0) return;
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return;
    struct row *rows = mmap(NULL, roles * sizeof *rows, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (rows != MAP_FAILED) row = &rows[role];
}

static void boundary(void) {
    if (!row) return;
    unsigned long number = atomic_fetch_add(&row->count, 1) + 1;
    if (number != atomic_load(&row->limit)) return;
    atomic_store(&row->fired, 1);
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

#define ORIGINAL(name) \
    static __typeof__(name) *original; \
    if (!original) original = (__typeof__(name) *)dlsym(RTLD_NEXT, #name); \
    boundary()

ssize_t write(int fd, const void *bytes, size_t count) {
    ORIGINAL(write);
    return original(fd, bytes, count);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    ORIGINAL(writev);
    return original(fd, parts, count);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    ORIGINAL(pwrite);
    return original(fd, bytes, count, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
    ORIGINAL(pwrite64);
    return original(fd, bytes, count, offset);
}

int fsync(int fd) {
    ORIGINAL(fsync);
    return original(fd);
}

int fdatasync(int fd) {
    ORIGINAL(fdatasync);
    return original(fd);
}

int ftruncate(int fd, off_t length) {
    ORIGINAL(ftruncate);
    return original(fd, length);
}

int ftruncate64(int fd, off64_t length) {
    ORIGINAL(ftruncate64);
    return original(fd, length);
}

int rename(const char *from, const char *to) {
    ORIGINAL(rename);
    return original(from, to);
}

int unlink(const char *path) {
    ORIGINAL(unlink);
    return original(path);
}

int posix_spawn(
    pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
    char *const arguments[], char *const environment[]) {
    ORIGINAL(posix_spawn);
    return original(pid, path, actions, attributes, arguments, environment);
}

int execve(const char *path, char *const arguments[], char *const environment[]) {
    ORIGINAL(execve);
    return original(path, arguments, environment);
}
