// Functions of Linux that Swift cannot import: variadic calls, newer system calls, and posix_spawn's non-portable actions.
#ifndef CLINUX_H
#define CLINUX_H

#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/types.h>

/// Makes a pipe whose two ends are closed on exec. Returns 0, or errno.
int relay_pipe(int ends[2]);

/// Turns O_NONBLOCK on. Returns 0, or errno.
int relay_set_nonblocking(int fd);

/// Asks the kernel for a larger pipe buffer; a refusal is harmless and ignored.
void relay_enlarge_pipe(int fd, int bytes);

/// Names the calling thread, as `ps -L` shows it (15 bytes at most).
void relay_name_thread(const char *name);

/// memmem: the first place of `needle` in `bytes`, or NULL.
const void *relay_find(const void *bytes, size_t length, const void *needle, size_t needle_length);

/// The parameters of a child. Descriptors are this process's numbers; they become 0, 1 and 2.
typedef struct {
    const char *path;
    char *const *argv;
    char *const *envp;
    const char *cwd; // NULL: this process's
    int standard_input;
    int standard_output;
    int standard_error;
    int new_session; // leads a session of its own, without a terminal
} relay_spawn_request;

/// Starts a child as leader of its own process group (or session), with default signals and no other descriptor of ours.
/// Returns 0 and the pid, or the errno of the step that failed (an exec failure included).
int relay_spawn(const relay_spawn_request *request, pid_t *pid);

/// A descriptor that becomes readable when the process ends, or -1 with errno set.
int relay_pidfd_open(pid_t pid);

/// The user and process at the other end of a Unix socket. Returns 0, or errno.
int relay_peer_credentials(int fd, pid_t *pid, uid_t *uid);

/// Listens on a Unix socket of this user only, replacing what is at the path. Returns the descriptor, or -errno.
int relay_listen_unix(const char *path);

/// Connects to a Unix socket. Returns the descriptor, or -errno.
int relay_connect_unix(const char *path);

/// Connects to a Unix socket, whose listener may be slow to accept; 0 waits without a limit. Returns the descriptor, or
/// -errno (-EAGAIN: the time is over).
int relay_connect_unix_within(const char *path, int milliseconds);

/// The next waiting connection, or -errno (-EAGAIN: none).
int relay_accept(int listener);

/// Tells the service manager something (sd_notify), if there is one.
void relay_notify_service_manager(const char *state);

/// Takes SIGTERM, SIGINT and SIGHUP: each is a byte, its number, on the descriptor returned. -1 with errno set.
int relay_signal_descriptor(void);

/// A timer on the monotonic clock, to be waited for like any descriptor; -1 with errno set.
int relay_timer_descriptor(void);

/// Lets it ring once, at this time since the start of the machine.
void relay_timer_set(int timer, long long seconds, long nanoseconds);

/// How many of this process's descriptors are in use, and its soft limit; -1 when unknown.
int relay_open_descriptors(void);
long relay_descriptor_limit(void);

/// The magic number of the file system that `path` is on, as statfs(2) has it, and its device; 0 with errno set on
/// failure.
unsigned long relay_file_system_type(const char *path, unsigned *device_major, unsigned *device_minor);

/// A file in memory that is closed on exec. Returns the descriptor, or -1 with errno set.
int relay_memory_file(const char *name);

/// Whether a descriptor stays open on exec. Returns 0, or errno.
int relay_keep_on_exec(int fd, int keep);

/// Becomes another program. Returns only when that fails, with errno.
int relay_execute(const char *path, char *const argv[], char *const envp[]);

/// The start time of a process in clock ticks since boot (field 22 of its stat), or 0 when it does not exist.
uint64_t relay_process_start_time(pid_t pid);

/// The parent of a process, or -1.
pid_t relay_process_parent(pid_t pid);

/// Sends a signal to every process of this user whose environment holds `marker` (a whole "NAME=value"), except
/// `spare`, and except those that have daemonised: reparented, leading their own session, standard descriptors not
/// pipes. Returns how many were signalled.
int relay_signal_marked(const char *marker, int signal, pid_t spare);

/// The environment variable that everything carries that is started within one guarded run.
#define RELAY_RUN "PI_RELAY_RUN"

/// Marks what this process starts from now on, and begins to guard it: when this process ends, or its parent does
/// (unless SIGHUP is ignored), however that happens, everything marked is killed. For a process without threads; does
/// nothing within a guarded run. Returns 0, or errno.
int relay_guard_run(void);

/// Whether a process carries `marker` in its environment.
int relay_process_is_marked(pid_t pid, const char *marker);

/// Copies the value of a variable in a process's environment, if it is shorter than `size`. Returns whether it did.
int relay_process_variable(pid_t pid, const char *name, char *value, size_t size);

#endif
