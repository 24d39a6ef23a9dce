// A plugin whose two pipes lead to a Unix socket of the test: the test itself then speaks the plugin protocol, while a
// real process stands in between to be killed, stopped and restarted. The socket's path is in the file beside the
// executable, with ".socket" appended to its name.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int copy(int from, int to) {
    char buffer[65536];
    ssize_t count = read(from, buffer, sizeof buffer);
    if (count <= 0) return 0;
    for (ssize_t done = 0; done < count;) {
        ssize_t written = write(to, buffer + done, (size_t)(count - done));
        if (written < 0) return 0;
        done += written;
    }
    return 1;
}

int main(int argc, char **argv) {
    (void)argc;
    char name[512];
    snprintf(name, sizeof name, "%s.socket", argv[0]);
    FILE *file = fopen(name, "re");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!file || !fgets(address.sun_path, sizeof address.sun_path, file)) {
        fprintf(stderr, "splice: %s cannot be read\n", name);
        return 1;
    }
    address.sun_path[strcspn(address.sun_path, "\n")] = 0;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
        fprintf(stderr, "splice: %s: %s\n", address.sun_path, strerror(errno));
        return 1;
    }
    fprintf(stderr, "splice: connected\n");
    struct pollfd ends[2] = {{.fd = 0, .events = POLLIN}, {.fd = fd, .events = POLLIN}};
    while (poll(ends, 2, -1) >= 0) {
        if (ends[0].revents && !copy(0, fd)) return 0;
        if (ends[1].revents && !copy(fd, 1)) return 0;
    }
    return 1;
}
