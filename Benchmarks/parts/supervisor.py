"""The daemon with its own two services: how long starts and restarts take, memory, and what it does while nothing happens."""
import os
import signal
import time

from harness import children, cpu_ms, memory_mb, wait_until

GOALS = {
    "start.ready_ms": ("<=", 300), "start.ms_per_further_plugin": ("<=", 15), "restart.ms": ("<=", 50),
    "memory.daemon_rss_mb": ("<=", 25), "memory.plugin_pss_mb_max": ("<=", 14), "memory.total_pss_mb": ("<=", 25),
    "memory.idle_pss_mb": ("<=", 25), "idle.cpu_ms_per_minute": ("<=", 20),
}
SERVICES = ("attachments", "formatter")


def start_time(bench, extra):
    """Milliseconds from the start until all plugins have shaken hands."""
    home = bench.home()
    for number in range(extra):
        home.add_plugin(bench.programs + "/pi-relay-formatter", f"extra{number}")
    with home.daemon() as daemon:
        wait_until(lambda: len(home.running()) == len(SERVICES) + extra)
        return (time.monotonic() - daemon.began) * 1000


def wake(home):
    """Starts both services, which the daemon ends while nobody needs them; a restart by hand also forgets crashes."""
    for name in SERVICES:
        home.command("plugins", "restart", name)
    wait_until(lambda: len(home.running()) == len(SERVICES))
    return [plugin["pid"] for plugin in home.running()]


def restart(home):
    wake(home)
    pid = next(plugin["pid"] for plugin in home.running() if plugin["name"] == "formatter")
    began = time.monotonic()
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: any(plugin["name"] == "formatter" and plugin["pid"] != pid for plugin in home.running()))
    return (time.monotonic() - began) * 1000


def measure(bench):
    four, twelve = bench.median(lambda: start_time(bench, 2)), bench.median(lambda: start_time(bench, 10))
    bench.note("start.ready_ms", four)
    bench.note("start.ms_per_further_plugin", (twelve - four) / 8)
    home = bench.home()
    with home.daemon() as daemon:
        wait_until(lambda: len(home.running()) == len(SERVICES))
        bench.note("restart.ms", bench.median(lambda: restart(home)))
        services = wake(home)
        bench.note("memory.daemon_rss_mb", memory_mb([daemon.pid], "Rss"))
        bench.note("memory.plugin_pss_mb_max", max(memory_mb([pid]) for pid in services))
        bench.note("memory.total_pss_mb", memory_mb([daemon.pid, *children(daemon.pid)]))
        # Idle is when the services have been ended, and threads that the restarts began.
        wait_until(lambda: not home.running())
        time.sleep(bench.amount(10, 0))
        everyone, seconds = [daemon.pid, *children(daemon.pid)], bench.amount(60, 1)
        bench.note("memory.idle_pss_mb", memory_mb(everyone))
        before = cpu_ms(everyone)
        time.sleep(seconds)
        bench.note("idle.cpu_ms_per_minute", (cpu_ms(everyone) - before) * 60 / seconds)
