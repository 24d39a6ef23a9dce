// A child that misbehaves. The last part of its name chooses the fault, so that copies of it can be put into a plugin
// folder: `x-silent`, `x-junk`, …
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void wait_for_ever(void) {
    for (;;) pause();
}

static void greet(const char *kinds) {
    char line[65536];
    if (!fgets(line, sizeof line, stdin)) exit(0);
    printf("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":1,\"name\":\"x\",\"version\":\"1\","
           "\"kinds\":[\"%s\"],\"capabilities\":{}}}\n", kinds);
    fflush(stdout);
}

// A formatter that ends at the first text it is given.
static int render(void) {
    char line[65536];
    while (fgets(line, sizeof line, stdin)) {
        char *id = strstr(line, "\"id\":");
        if (strstr(line, "\"format.render\"")) return 9;
        if (!id) continue;
        printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":%s}\n", strtol(id + 5, NULL, 10),
               strstr(line, "\"initialize\"") ? "{\"protocolVersion\":1,\"name\":\"x\",\"version\":\"1\",\"kinds\":[\"service\"],"
                                             "\"capabilities\":{\"services\":[\"format.render\"]}}"
                                           : "{}");
        fflush(stdout);
    }
    return 0;
}

static void note_pid(const char *file) {
    FILE *out = fopen("pid.tmp", "w");
    if (!out) _exit(1);
    fprintf(out, "%d", getpid());
    fclose(out);
    rename("pid.tmp", file);
}

// A helper, and a daemon as a plugin might start one on purpose: a session of its own, nothing of ours held open.
static void start_helper_and_daemon(void) {
    if (fork() == 0) {
        note_pid("helper.pid");
        for (;;) sleep(1000);
    }
    while (access("helper.pid", F_OK) != 0) usleep(1000);
    if (fork() == 0) {
        setsid();
        if (fork() != 0) _exit(0);
        setsid();
        freopen("/dev/null", "r", stdin);
        freopen("/dev/null", "w", stdout);
        freopen("/dev/null", "w", stderr);
        note_pid("daemon.pid");
        for (;;) sleep(1000);
    }
    while (access("daemon.pid", F_OK) != 0) usleep(1000);
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : strrchr(argv[0], '-') + 1;
    if (strcmp(name, "silent") == 0) wait_for_ever();
    if (strcmp(name, "junk") == 0) {
        puts("Loading plugins...");
        fflush(stdout);
        greet("service");
        wait_for_ever();
    }
    if (strcmp(name, "exits") == 0) {
        fputs("no reason at all\n", stderr);
        return 3;
    }
    if (strcmp(name, "floods") == 0) { // 10 MB on standard error before the handshake
        for (int i = 0; i < 100000; i++)
            fprintf(stderr, "%06d %s\n", i, "a line of one hundred bytes or so, to fill every pipe there is many times over, yes, all");
        greet("service");
        wait_for_ever();
    }
    if (strcmp(name, "closes") == 0) { // closes standard output and lives on
        greet("service");
        fclose(stdout);
        wait_for_ever();
    }
    if (strcmp(name, "renderer") == 0) return render();
    if (strcmp(name, "daemoniser") == 0) {
        start_helper_and_daemon();
        greet("service");
        wait_for_ever();
    }
    if (strcmp(name, "stubborn") == 0) { // ignores SIGTERM
        signal(SIGTERM, SIG_IGN);
        puts("ready");
        fflush(stdout);
        for (;;) sleep(1000);
    }
    if (strcmp(name, "grandchild") == 0) { // leaves a grandchild that holds the pipes and ignores SIGTERM
        if (fork() == 0) {
            signal(SIGTERM, SIG_IGN);
            for (;;) sleep(1000);
        }
        puts("ready");
        fflush(stdout);
        return 0;
    }
    if (strcmp(name, "half") == 0) { // half a line, then the end
        fputs("{\"half\":", stdout);
        fflush(stdout);
        return 0;
    }
    fprintf(stderr, "misbehaving-child: unknown kind %s\n", name);
    return 64;
}
