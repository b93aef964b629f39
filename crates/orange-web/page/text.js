/** Words for people: safe text, ages, counts, links. */

import { html } from "./lit-html.js";

/** What moves the cursor of a terminal, or sets its colours, title, links or clipboard. */
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])/g;

/** What is left of that, and characters that reorder or hide the text around them. */
const CONTROLS =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** A text of an agent without what a terminal or a browser would obey. @param {string} text */
export const clean = (text) =>
  text.replaceAll("\r\n", "\n").replace(ESCAPES, "").replace(CONTROLS, "\ufffd");

/** In one unit. @param {number} seconds */
export function duration(seconds) {
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} d`;
}

/** How long ago it was. @param {string | null} at */
export function age(at) {
  const seconds = Math.max(0, (Date.now() - Date.parse(at ?? "")) / 1000);
  return at && html`<time datetime=${at}>${duration(seconds)}</time>`;
}

/** @type {(count: number, noun: string) => string} */
export const count = (count, noun) => `${count.toLocaleString()} ${noun}${count === 1 ? "" : "s"}`;

/** @param {string} word */
export const title = (word) => word.charAt(0).toUpperCase() + word.slice(1).replaceAll("-", " ");

/** A text in which `code` between backquotes is set as code. @param {string} text */
export const sentence = (text) =>
  text.split("`").map((part, index) => (index % 2 ? html`<code>${part}</code>` : part));

/** A link if it leads to the web, else its text. @type {(address: string, text: string) => unknown} */
export const link = (address, text) =>
  /^https?:\/\//.test(address)
    ? html`<a href=${address} target="_blank" rel="noopener noreferrer">${text}</a>`
    : text;

/** A part of a screen. @type {(name: string, ...content: unknown[]) => unknown} */
export const section = (name, ...content) =>
  html`<section aria-label=${name}>
    <h2>${name}</h2>
    ${content}
  </section>`;
