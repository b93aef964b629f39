/** The stream of changes: open while the page is visible, resumed where it ended. */

import { isRefused, send } from "./api.js";
import { draw, sleep } from "./draw.js";

/** The server sends something every 15 seconds. */
const LONGEST_SILENCE = 40_000;
const LONGEST_PAUSE = 30_000;

/**
 * Calls the listener with the tasks that have changed; without one if any may have, or if requests
 * for permission have.
 *
 * @type {(position: number, listener: (changes: Change[]) => void) => Promise<void>}
 */
export async function listen(position, listener) {
  let pause = 1_000;
  while (!isRefused()) {
    while (document.hidden)
      await new Promise((wake) => addEventListener("visibilitychange", wake, { once: true }));
    try {
      for await (const { sequence, changes } of events(position)) {
        pause = 1_000;
        position = sequence;
        listener(changes);
      }
    } catch {
      // The network or the server is gone, or the page was hidden; the next turn finds out. A device
      // that was revoked learns it here.
      draw();
    }
    await sleep(pause);
    pause = Math.min(2 * pause, LONGEST_PAUSE);
  }
}

/** The events of one connection. @param {number} position */
async function* events(position) {
  const end = new AbortController();
  const hide = () => document.hidden && end.abort();
  const silence = () => setTimeout(() => end.abort(), LONGEST_SILENCE);
  let timer = silence();
  addEventListener("visibilitychange", hide);
  try {
    const headers = { "Last-Event-ID": String(position) };
    const { body } = await send("events", { headers, signal: end.signal });
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ""; ;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = silence();
      const blocks = (text + value).split("\n\n");
      text = blocks.pop();
      for (const block of blocks) {
        const found = /^data: (.*)$/m.exec(block);
        if (found) yield JSON.parse(found[1]);
      }
    }
  } finally {
    clearTimeout(timer);
    removeEventListener("visibilitychange", hide);
  }
}
