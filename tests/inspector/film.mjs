// Films a page of the Inspector: its screenshots appear in a second page, which adds a cursor, a terminal and captions.

/** Wide enough for all columns of a table. The film is smaller, so a README shows it in full size. */
const VIEWPORT = { width: 1200, height: 760 };
const SCALE = 0.775;
const BAR = 54;
const SIZE = { width: VIEWPORT.width * SCALE, height: VIEWPORT.height * SCALE + BAR };
const FRAME_MS = 60;

export const LAYOUT = { viewport: VIEWPORT, deviceScaleFactor: SCALE, colorScheme: "light" };

const STUDIO = `<!doctype html><style>
  * { box-sizing: border-box; margin: 0 }
  body { width: ${SIZE.width}px; height: ${SIZE.height}px; overflow: hidden; position: relative; background: #181c2a; font-family: sans-serif }
  #screen { display: block; width: ${SIZE.width}px; height: ${SIZE.height - BAR}px }
  #bar { height: ${BAR}px; display: flex; align-items: center; gap: 14px; padding: 0 20px; color: #fff; font-size: 18px }
  #step { flex: none; width: 30px; height: 30px; border-radius: 50%; background: #6f6ee8; display: grid; place-items: center; font-weight: bold; font-size: 16px }
  #terminal { position: absolute; left: 120px; right: 120px; bottom: ${BAR + 20}px; min-height: 112px; padding: 38px 18px 16px; border-radius: 10px; background: #181c2a; color: #e8ebf1;
    font: 15px/1.6 monospace; white-space: pre-wrap; overflow-wrap: anywhere }
  #terminal::before { content: "● ● ●"; position: absolute; left: 16px; top: 6px; color: #566074; letter-spacing: 2px }
  #cursor { position: absolute; left: 0; top: 0; width: 26px; height: 26px }
  #ring { position: absolute; border-radius: 50%; border: 3px solid #4a49c9; transform: translate(-50%, -50%) }
</style>
<img id="screen" alt=""><div id="bar"><span id="step"></span><span id="caption"></span></div><div id="terminal"></div><div id="ring"></div>
<svg id="cursor" viewBox="0 0 26 26"><path d="M3 2v19l5.2-4.6 3.4 7.6 3.6-1.6-3.4-7.4 7-.4z" fill="#111" stroke="#fff" stroke-width="1.6"/></svg>`;

const smooth = (part) => part * part * (3 - 2 * part);

export class Film {
  constructor(page, studio) {
    Object.assign(this, { page, studio, frames: [], shown: { at: [640, 420], terminal: "", ring: 0 } });
  }

  static async of(page, studio) {
    await studio.setViewportSize(SIZE);
    await studio.setContent(STUDIO);
    return new Film(page, studio);
  }

  /** Adds a frame of what the studio shows. */
  async frame(delay = FRAME_MS) {
    await this.studio.evaluate(({ at: [x, y], terminal, ring, screen, step, caption }) => {
      const place = (id, style) => Object.assign(document.getElementById(id).style, style);
      const image = document.getElementById("screen");
      if (image.src !== screen) image.src = screen;
      document.getElementById("step").textContent = step;
      document.getElementById("caption").textContent = caption;
      document.getElementById("terminal").textContent = terminal;
      place("terminal", { display: terminal ? "block" : "none" });
      place("cursor", { left: `${x - 3}px`, top: `${y - 2}px` });
      place("ring", { display: ring ? "block" : "none", left: `${x}px`, top: `${y}px`, width: `${ring}px`, height: `${ring}px` });
      return image.decode();
    }, this.shown);
    this.frames.push({ png: await this.studio.screenshot(), delay });
  }

  /** Looks at the page again and holds the picture. */
  async look(delay) {
    this.shown.screen = `data:image/png;base64,${(await this.page.screenshot()).toString("base64")}`;
    await this.frame(delay);
  }

  caption(step, caption) {
    Object.assign(this.shown, { step, caption });
  }

  /** Types a command at a prompt. */
  async type(command) {
    for (let end = 0; end <= command.length; end += 3) {
      this.shown.terminal = `$ ${command.slice(0, end)}▌`;
      await this.frame();
    }
    this.shown.terminal = `$ ${command}▌`;
    await this.frame(500);
  }

  print(output) {
    this.shown.terminal = `${this.shown.terminal.replace("▌", "")}\n${output}`;
  }

  async point(target) {
    const box = await target.boundingBox();
    const to = [(box.x + Math.min(box.width / 2, 60)) * SCALE, (box.y + box.height / 2) * SCALE];
    const from = this.shown.at;
    const steps = 12;
    for (let step = 1; step <= steps; step += 1) {
      this.shown.at = from.map((start, axis) => Math.round(start + (to[axis] - start) * smooth(step / steps)));
      await this.frame();
    }
    await target.hover();
    await this.look(250);
  }

  async click(target) {
    await this.point(target);
    for (const ring of [14, 24, 34]) {
      this.shown.ring = ring;
      await this.frame();
    }
    this.shown.ring = 0;
    await target.click();
  }
}
