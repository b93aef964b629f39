/** Everything that needs you, and every open task: read once, and kept current. */

import { dismissOffline, settle, tellError } from "./act.js";
import { get } from "./api.js";
import { coalesce, draw } from "./draw.js";

/** @type {{ items: Item[], tasks: Row[] | null }} */
export const needs = { items: [], tasks: null };

/** Reads all of it; the last change that it shows. */
export async function load() {
  const [attention, list] = await Promise.all([get("attention"), get("tasks")]);
  dismissOffline();
  needs.tasks = list.tasks;
  setItems(attention.items);
  return Math.min(attention.as_of, list.as_of);
}

export const reload = coalesce(() => load().catch(tellError));

/** @param {Item[]} items */
export function setItems(items) {
  const keys = (/** @type {Item[]} */ of) => of.map((item) => item.key).join();
  // A tap may be meant for what stood there before.
  if (keys(items) !== keys(needs.items)) settle();
  needs.items = items;
  draw();
}
