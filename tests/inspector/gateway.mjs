// A gateway that a script starts itself, so it can restart it.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const TOKEN = "a-token-of-more-than-32-characters-for-scripts";

export class Gateway {
  constructor(command, settings = {}) {
    this.command = command;
    this.settings = settings;
    this.data = mkdtempSync(join(tmpdir(), "postrider-"));
    this.listen = "127.0.0.1:0";
  }

  /** Starts it, again on the same port after a stop; returns its URL. */
  async start() {
    const env = { POSTRIDER_ADMIN_TOKEN: TOKEN, POSTRIDER_EGRESS_ALLOW: "127.0.0.1/32", POSTRIDER_LOG: "warn", ...this.settings };
    this.process = spawn(this.command, ["serve", "--listen", this.listen, "--data", this.data], { env, stdio: ["ignore", "pipe", "inherit"] });
    const first = await new Promise((read) => createInterface(this.process.stdout).once("line", read));
    const url = first.split(" ").at(-1);
    this.listen = new URL(url).host;
    return url;
  }

  async stop() {
    const ended = new Promise((end) => this.process.once("exit", end));
    if (this.process.exitCode !== null || this.process.signalCode !== null) return;
    this.process.kill();
    await ended;
  }

  async remove() {
    await this.stop();
    rmSync(this.data, { recursive: true });
  }
}
