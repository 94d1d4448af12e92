// A relay to the gateway that can go silent, like a network while a machine sleeps: connections stay open, but no data
// arrives.

import { connect, createServer } from "node:net";

export class Relay {
  constructor(url) {
    this.to = new URL(url);
    this.pairs = new Set();
  }

  /** Starts relaying; returns the URL to use instead of the gateway's. */
  async start() {
    this.server = createServer((near) => {
      const pair = { near, far: connect(this.to.port, this.to.hostname), silent: false };
      this.pairs.add(pair);
      near.pipe(pair.far).pipe(near);
      const ended = () => {
        if (pair.silent && !near.destroyed) return;
        this.pairs.delete(pair);
        near.destroy();
        pair.far.destroy();
      };
      for (const end of [near, pair.far]) end.on("error", () => {}).on("close", ended);
    });
    await new Promise((ready) => this.server.listen(0, "127.0.0.1", ready));
    return `http://127.0.0.1:${this.server.address().port}`;
  }

  /** Silences the current connections; new ones work. */
  silence() {
    for (const pair of this.pairs) {
      pair.silent = true;
      pair.near.unpipe(pair.far);
      pair.far.unpipe(pair.near);
      pair.near.resume();
      pair.far.destroy();
    }
  }

  stop() {
    this.server.close();
    for (const { near, far } of this.pairs) {
      near.destroy();
      far.destroy();
    }
  }
}
