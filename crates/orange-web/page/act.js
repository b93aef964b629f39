/** Changes, one at a time, and how each of them ended. */

import { Refusal, isRefused } from "./api.js";
import { draw } from "./draw.js";
import { html } from "./lit-html.js";
import { sentence } from "./text.js";

/** How long buttons are off after they may have moved below a finger. */
const SETTLING_TIME = 400;

/** How long good news stays. */
const READING_TIME = 5_000;

let isActing = false;
let settledAt = 0;

/** @type {Notice} */
let notice;

/**
 * Makes a change, and says why if it was refused. Meanwhile every button is off, so that a double
 * tap does one thing.
 *
 * @type {<T>(change: () => Promise<T>) => Promise<T | void>}
 */
export async function act(change) {
  if (isActing) return;
  isActing = true;
  dismiss();
  try {
    return await change();
  } catch (error) {
    tellError(error);
  } finally {
    isActing = false;
    draw();
  }
}

/** Turns the buttons off for a moment, because what stands below a finger has changed. */
export function settle() {
  settledAt = performance.now() + SETTLING_TIME;
  setTimeout(draw, SETTLING_TIME + 1);
}

/** @type {(label: string, press: () => void, kind?: string, name?: string) => unknown} */
export const button = (label, press, kind = "", name = label) =>
  html`<button
    class=${kind}
    aria-label=${name}
    ?disabled=${isActing || performance.now() < settledAt}
    @click=${press}
  >
    ${label}
  </button>`;

/** @param {string} message */
export function tell(message) {
  /** @type {Notice} */
  const told = { message, hints: [] };
  notice = told;
  draw();
  setTimeout(() => notice === told && dismiss(), READING_TIME);
}

/** @param {unknown} error */
export function tellError(error) {
  // The page says it instead.
  if (isRefused()) return draw();
  const isAnswer = error instanceof Refusal;
  const message = isAnswer ? error.message : "orange does not answer. Is `orange web` running?";
  notice = { message, hints: isAnswer ? error.hints : [], isBad: true, isOffline: !isAnswer };
  draw();
}

/** The server has answered, whatever was said of it before. */
export function dismissOffline() {
  if (notice?.isOffline) dismiss();
}

export const hasError = () => !!notice?.isBad;

function dismiss() {
  notice = undefined;
  draw();
}

/** What went wrong on one screen is not about the next one. */
export function dismissError() {
  if (notice?.isBad) dismiss();
}

/** What screen readers read out. */
export const noticeView = () =>
  html`<div class="notice ${notice?.isBad ? "bad" : "good"}" role="status">
    ${
      notice &&
      html`<div>
          ${[notice.message, ...notice.hints].map((line) => html`<p>${sentence(line)}</p>`)}
        </div>
        <button class="plain" aria-label="Dismiss" @click=${dismiss}>✕</button>`
    }
  </div>`;
