"""Runs a command and writes what it took to a file: ``watcher.py FILE SECONDS COMMAND …``.

A process begins with the memory of the one that it was forked from, and Linux counts that as its own. So this one,
which forks the measured process, imports almost nothing. The limit counts processor time, so other work on the machine
matters little; the wall time may be ten times as long.
"""

import os
import resource
import signal
import sys


def main() -> None:
    place, seconds, *command = sys.argv[1:]
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        most = max(1, round(float(seconds)))
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
        try:
            os.execvp(command[0], command)
        finally:
            os._exit(127)

    is_late = False

    def stop(*_: object) -> None:
        nonlocal is_late
        is_late = True
        os.killpg(child, signal.SIGKILL)

    for request in (signal.SIGALRM, signal.SIGTERM, signal.SIGINT):
        signal.signal(request, stop)
    signal.setitimer(signal.ITIMER_REAL, 10 * float(seconds))
    _, status, usage = os.wait4(child, 0)
    code = os.waitstatus_to_exitcode(status)
    is_late = is_late or code in {-signal.SIGXCPU, -signal.SIGKILL}
    with open(place, "w", encoding="ascii") as file:
        processor = usage.ru_utime + usage.ru_stime
        file.write(f"{processor} {usage.ru_maxrss} {code} {int(is_late)}")


main()
