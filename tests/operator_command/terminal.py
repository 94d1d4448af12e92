"""A terminal: runs a command on a real pty and keeps what it shows, as a person would see it.

Arguments: columns, rows, the command. Questions come on standard input, a JSON document a line; each is answered
with one line: {"lines": […], "ended": null or the exit code}.

{"wait": "text"}      until the text is on the screen
{"wait_gone": "text"} until it is not
{"press": "q"}        keys as a terminal sends them
{"resize": [80, 24]}  columns and rows
{"signal": "SIGTERM"} to the command
{"end": true}         until the command has ended; adds "restored": whether the terminal is as it was before, and
                      "colours": whether it ever wrote in colour
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
        """Takes what the command writes within a moment."""
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
        """Whether no frame has come half: a frame is written between these two."""
        return self.raw.rfind(b"\x1b[?2026h") <= self.raw.rfind(b"\x1b[?2026l")

    def give_up(self):
        os.kill(self.pid, signal.SIGKILL)
        sys.exit("waited in vain; the screen:\n" + "\n".join(self.screen.display))

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
        asked = json.loads(line)
        if "wait" in asked:
            terminal.until(lambda: terminal.shows(asked["wait"]))
        elif "wait_gone" in asked:
            terminal.until(lambda: not terminal.shows(asked["wait_gone"]))
        elif "press" in asked:
            os.write(terminal.master, asked["press"].encode())
        elif "resize" in asked:
            terminal.resize(*asked["resize"])
        elif "signal" in asked:
            os.kill(terminal.pid, getattr(signal, asked["signal"]))
        elif "end" in asked:
            terminal.until(lambda: terminal.ended is not None)
            terminal.answer(restored=terminal.restored(), colours=terminal.has_colours())
            return
        terminal.answer()


main()
