"""A terminal: runs a command on a real pty and emulates its screen.

Arguments: columns, rows, the command. Reads requests from standard input, one JSON document per line, and answers
each with one line: {"lines": […], "ended": null or the exit code}.

{"wait": "text"}      until the text is on the screen
{"wait_gone": "text"} until the text is gone
{"press": "q"}        keys as a terminal sends them
{"resize": [80, 24]}  columns and rows
{"signal": "SIGTERM"} to the command
{"end": true}         until the command has ended; adds "restored": whether the terminal has its original state, and
                      "colours": whether the command wrote in colour
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time

import pyte

PATIENCE_SECONDS = 60


class Terminal:
    def __init__(self, columns, rows, command):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.ended = None
        self.master, self.slave = pty.openpty()
        self.set_size(columns, rows)
        self.before = termios.tcgetattr(self.slave)
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
            for descriptor in (0, 1, 2):
                os.dup2(self.slave, descriptor)
            os.closerange(3, 256)
            os.execvp(command[0], command)

    def set_size(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def resize(self, columns, rows):
        self.screen.resize(rows, columns)
        self.set_size(columns, rows)

    def pump(self):
        """Reads what the command writes within 50 ms."""
        ready, _, _ = select.select([self.master], [], [], 0.05)
        if ready:
            data = os.read(self.master, 65536)
            self.raw += data
            self.stream.feed(data)
        elif self.ended is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.ended = os.waitstatus_to_exitcode(status)

    def until(self, condition):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (self.is_whole() and condition()):
            if time.monotonic() > deadline:
                self.give_up()
            self.pump()

    def is_whole(self):
        """Whether the last frame is complete: a frame is written between these two."""
        return self.raw.rfind(b"\x1b[?2026h") <= self.raw.rfind(b"\x1b[?2026l")

    def give_up(self):
        os.kill(self.pid, signal.SIGKILL)
        sys.exit("timed out; the screen:\n" + "\n".join(self.screen.display))

    def shows(self, text):
        return any(text in line for line in self.screen.display)

    def restored(self):
        left = self.raw.rfind(b"\x1b[?1049l") > self.raw.rfind(b"\x1b[?1049h")
        visible = self.raw.rfind(b"\x1b[?25h") > self.raw.rfind(b"\x1b[?25l")
        return left and visible and termios.tcgetattr(self.slave) == self.before

    def has_colours(self):
        return re.search(rb"\x1b\[(\d+;)*3[0-7](;\d+)*m", self.raw) is not None

    def answer(self, **more):
        lines = [line.rstrip() for line in self.screen.display]
        print(json.dumps({"lines": lines, "ended": self.ended, **more}), flush=True)


def main():
    terminal = Terminal(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            terminal.until(lambda: terminal.shows(request["wait"]))
        elif "wait_gone" in request:
            terminal.until(lambda: not terminal.shows(request["wait_gone"]))
        elif "press" in request:
            os.write(terminal.master, request["press"].encode())
        elif "resize" in request:
            terminal.resize(*request["resize"])
        elif "signal" in request:
            os.kill(terminal.pid, getattr(signal, request["signal"]))
        elif "end" in request:
            terminal.until(lambda: terminal.ended is not None)
            terminal.answer(restored=terminal.restored(), colours=terminal.has_colours())
            return
        terminal.answer()


main()
