// A gateway that a script starts itself, so that it can be stopped and started again.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const TOKEN = "a-token-of-more-than-32-characters-for-scripts";

export class Gateway {
  constructor(command) {
    this.command = command;
    this.data = mkdtempSync(join(tmpdir(), "postrider-"));
    this.listen = "127.0.0.1:0";
  }

  /** Starts it, a second time where it was before; its address. */
  async start() {
    const env = { POSTRIDER_ADMIN_TOKEN: TOKEN, POSTRIDER_EGRESS_ALLOW: "127.0.0.1/32", POSTRIDER_LOG: "warn" };
    this.process = spawn(this.command, ["serve", "--listen", this.listen, "--data", this.data], { env, stdio: ["ignore", "pipe", "inherit"] });
    const first = await new Promise((said) => createInterface(this.process.stdout).once("line", said));
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
