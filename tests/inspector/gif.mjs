// A GIF from screenshots. Pixels that do not change are transparent, which keeps it small.

import { createRequire } from "node:module";

const require = createRequire(new URL("../../.tools/browser/package.json", import.meta.url));
const { GIFEncoder, nearestColorIndex, quantize } = require("gifenc");
const { PNG } = require("pngjs");

/** Kept exactly: the colours of backgrounds, cards and most of the text. The palette's other colours are averages. */
const EXACT = 160;
const COLORS = 255;
const UNCHANGED = COLORS;

/** `frames` are `{ png, delay }` in milliseconds; equal ones in a row become one. */
export function gif(frames) {
  const images = frames.map(({ png, delay }) => ({ ...PNG.sync.read(png), delay }));
  const palette = commonPalette(images);
  const index = indexer(palette);
  const encoder = GIFEncoder();
  let before = null;
  for (const { width, height, pixels, delay } of merged(images.map((image) => ({ ...image, pixels: index(image.data) })))) {
    const shown = before ? pixels.map((color, at) => (color === before[at] ? UNCHANGED : color)) : pixels;
    const options = { delay, dispose: 1, transparent: before !== null, transparentIndex: UNCHANGED };
    encoder.writeFrame(shown, width, height, before ? options : { ...options, palette: [...palette, [0, 0, 0]] });
    before = pixels;
  }
  encoder.finish();
  return encoder.bytes();
}

function merged(frames) {
  const kept = [];
  for (const frame of frames) {
    const last = kept.at(-1);
    if (last && Buffer.compare(last.pixels, frame.pixels) === 0) last.delay += frame.delay;
    else kept.push(frame);
  }
  return kept;
}

const packed = (data, at) => (data[at] << 16) | (data[at + 1] << 8) | data[at + 2];
const unpacked = (color) => [color >> 16, (color >> 8) & 255, color & 255];

function commonPalette(images) {
  const counts = new Map();
  for (const { data } of images) {
    for (let at = 0; at < data.length; at += 4) {
      const color = packed(data, at);
      counts.set(color, (counts.get(color) ?? 0) + 1);
    }
  }
  const colors = [...counts].sort(([, one], [, other]) => other - one).map(([color]) => unpacked(color));
  const rare = colors.slice(EXACT).flatMap((color) => [...color, 255]);
  const averages = rare.length ? quantize(Uint8Array.from(rare), COLORS - EXACT) : [];
  return [...colors.slice(0, EXACT), ...averages];
}

function indexer(palette) {
  const known = new Map();
  return (data) => {
    const pixels = new Uint8Array(data.length / 4);
    for (let at = 0; at < data.length; at += 4) {
      const color = packed(data, at);
      if (!known.has(color)) known.set(color, nearestColorIndex(palette, unpacked(color)));
      pixels[at / 4] = known.get(color);
    }
    return pixels;
  };
}
