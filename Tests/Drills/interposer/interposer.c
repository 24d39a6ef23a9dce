// Preloaded into a program, stands between it and the C library. By environment, for the program of this name only:
//
//   PI_RELAY_KILLPOINT=FILE:ROLE:PROGRAM  counts boundaries (each write, send, flush, rename and spawn) over all threads and
//                                         lives, and kills with SIGKILL at the one it is told to. FILE is shared with
//                                         whoever set it up, one row for each role.
//   PI_RELAY_TRACE=FILE:PROGRAM           appends what is read, written and flushed, in order, to FILE.
//   PI_RELAY_CLOCK=FILE:PROGRAM           adds the seconds in FILE (8 bytes, shared) to the time of day.
//   PI_RELAY_FAULT=CALL:ERRNO:PATH:FIRST:COUNT:PROGRAM
//                                         lets CALL fail on descriptors or paths that hold PATH, from the FIRST time on
//                                         and COUNT times.
//   PI_RELAY_FAULT_WHEN=FILE              the same, and only while FILE exists.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { roles = 16 };

struct row {
    _Atomic unsigned long count;
    _Atomic unsigned long limit; // 0: count only
    _Atomic unsigned long fired;
};

static struct row *row;
static int trace = -1;
static _Atomic int64_t *clock_offset;
static struct {
    char call[32], path[128], when[256];
    int error;
    long first, count;
    _Atomic long seen;
} fault;

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))

static int is_program(const char *name) { return strcmp(name, program_invocation_short_name) == 0; }

__attribute__((constructor)) static void set_up(void) {
    const char *text;
    char path[256], program[64];
    unsigned role;
    if ((text = getenv("PI_RELAY_KILLPOINT")) && sscanf(text, "%255[^:]:%u:%63s", path, &role, program) == 3 &&
        role < roles && is_program(program)) {
        int file = open(path, O_RDWR | O_CLOEXEC);
        struct row *rows = mmap(NULL, roles * sizeof *rows, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (file >= 0) close(file);
        if (rows != MAP_FAILED) row = &rows[role];
    }
    if ((text = getenv("PI_RELAY_FAULT")) &&
        sscanf(text, "%31[^:]:%d:%127[^:]:%ld:%ld:%63s", fault.call, &fault.error, fault.path, &fault.first,
               &fault.count, program) == 6 && !is_program(program))
        fault.call[0] = 0;
    if ((text = getenv("PI_RELAY_FAULT_WHEN"))) snprintf(fault.when, sizeof fault.when, "%s", text);
    if ((text = getenv("PI_RELAY_CLOCK")) && sscanf(text, "%255[^:]:%63s", path, program) == 2 && is_program(program)) {
        int file = open(path, O_RDONLY | O_CLOEXEC);
        void *offset = mmap(NULL, sizeof *clock_offset, PROT_READ, MAP_SHARED, file, 0);
        if (file >= 0) close(file);
        if (offset != MAP_FAILED) clock_offset = offset;
    }
    if ((text = getenv("PI_RELAY_TRACE")) && sscanf(text, "%255[^:]:%63s", path, program) == 2 && is_program(program))
        trace = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void boundary(void) {
    if (!row) return;
    unsigned long number = atomic_fetch_add(&row->count, 1) + 1;
    if (number != atomic_load(&row->limit)) return;
    atomic_store(&row->fired, 1);
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

static const char *path_of(int fd, char *buffer, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, buffer, size - 1);
    buffer[length < 0 ? 0 : length] = 0;
    return buffer;
}

static int fails(const char *call, const char *path) {
    if (!fault.call[0] || strcmp(fault.call, call) != 0 || !strstr(path, fault.path)) return 0;
    if (fault.when[0] && access(fault.when, F_OK) != 0) return 0;
    long number = atomic_fetch_add(&fault.seen, 1) + 1;
    if (number < fault.first || number >= fault.first + fault.count) return 0;
    errno = fault.error;
    return 1;
}

static int fails_on(const char *call, int fd) {
    char path[512];
    return fault.call[0] && fails(call, path_of(fd, path, sizeof path));
}

// Kind (r, w, s), whether the descriptor is a write-ahead log, its number, the length, and the bytes.
static void note(char kind, int fd, const void *bytes, size_t count) {
    if (trace < 0) return;
    char path[512];
    size_t length = strlen(path_of(fd, path, sizeof path));
    uint8_t is_log = length > 4 && strcmp(path + length - 4, "-wal") == 0;
    if (!is_log && strncmp(path, "pipe:", 5) != 0) return;
    struct { uint8_t kind, is_log; uint16_t zero; int32_t fd; uint64_t count; } head = {kind, is_log, 0, fd, count};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)bytes, count}};
    int before = errno;
    REAL(writev)(trace, parts, 2);
    errno = before;
}

#define FAIL_OR(name, fd) \
    static __typeof__(name) *original; \
    if (!original) original = REAL(name); \
    boundary(); \
    if (fails_on(#name, fd)) return -1

ssize_t read(int fd, void *bytes, size_t count) {
    static __typeof__(read) *original;
    if (!original) original = REAL(read);
    ssize_t done = original(fd, bytes, count);
    if (done > 0) note('r', fd, bytes, (size_t)done);
    return done;
}

ssize_t write(int fd, const void *bytes, size_t count) {
    FAIL_OR(write, fd);
    note('w', fd, bytes, count);
    return original(fd, bytes, count);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    FAIL_OR(writev, fd);
    return original(fd, parts, count);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    FAIL_OR(pwrite, fd);
    note('w', fd, bytes, count);
    return original(fd, bytes, count, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset) {
    FAIL_OR(pwrite64, fd);
    note('w', fd, bytes, count);
    return original(fd, bytes, count, offset);
}

// A request on its way to a platform.
ssize_t send(int fd, const void *bytes, size_t count, int flags) {
    static __typeof__(send) *original;
    if (!original) original = REAL(send);
    boundary();
    return original(fd, bytes, count, flags);
}

int fsync(int fd) {
    FAIL_OR(fsync, fd);
    int result = original(fd);
    if (result == 0) note('s', fd, "", 0);
    return result;
}

int fdatasync(int fd) {
    FAIL_OR(fdatasync, fd);
    int result = original(fd);
    if (result == 0) note('s', fd, "", 0);
    return result;
}

int ftruncate(int fd, off_t length) {
    FAIL_OR(ftruncate, fd);
    return original(fd, length);
}

int ftruncate64(int fd, off64_t length) {
    FAIL_OR(ftruncate64, fd);
    return original(fd, length);
}

int open(const char *path, int flags, ...) {
    static __typeof__(open) *original;
    if (!original) original = REAL(open);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return fails("open", path) ? -1 : original(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    static __typeof__(open64) *original;
    if (!original) original = REAL(open64);
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    return fails("open", path) ? -1 : original(path, flags, mode);
}

int rename(const char *from, const char *to) {
    static __typeof__(rename) *original;
    if (!original) original = REAL(rename);
    boundary();
    return fails("rename", from) ? -1 : original(from, to);
}

int unlink(const char *path) {
    static __typeof__(unlink) *original;
    if (!original) original = REAL(unlink);
    boundary();
    return original(path);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    static __typeof__(clock_gettime) *original;
    if (!original) original = REAL(clock_gettime);
    int result = original(clock, time);
    if (clock == CLOCK_REALTIME && clock_offset) time->tv_sec += atomic_load(clock_offset);
    return result;
}

int posix_spawn(
    pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
    char *const arguments[], char *const environment[]) {
    static __typeof__(posix_spawn) *original;
    if (!original) original = REAL(posix_spawn);
    boundary();
    return original(pid, path, actions, attributes, arguments, environment);
}

int execve(const char *path, char *const arguments[], char *const environment[]) {
    static __typeof__(execve) *original;
    if (!original) original = REAL(execve);
    boundary();
    return original(path, arguments, environment);
}
