/** A task as it is shown: what a step is chosen from, and what has changed since. */

import { settle, tellError } from "./act.js";
import { Refusal, get } from "./api.js";
import { draw } from "./draw.js";

export class Shown {
  /** @type {Why} */ why;
  /** @type {Details} */ details;
  /** Absent if there is no branch yet. @type {BranchDiff} */ diff;
  /** @type {Past[]} */ history = [];
  /** What has happened since. @type {Past[]} */ newer = [];

  /** @param {string} id @param {boolean} isWhole whether the whole diff is shown */
  constructor(id, isWhole) {
    this.id = id;
    this.isWhole = isWhole;
  }

  async load() {
    const path = `tasks/${this.id}`;
    try {
      const [why, details, { events }] = await Promise.all([
        get(`${path}/why`),
        get(`${path}?document=true`),
        get(`${path}/history`),
      ]);
      const { state } = details.task.workspace;
      // The branch is made with the first worktree.
      const hasBranch = state === "bound" || (state !== "acquiring" && details.runs.length);
      // After the version was read, so that a change in between is noticed when a step is taken.
      const diff = hasBranch ? await this.#diff() : undefined;
      // A tap may be meant for a step from before.
      if (this.why && this.why.version !== why.version) settle();
      Object.assign(this, { why, details, diff, history: events });
    } catch (error) {
      tellError(error);
    }
    draw();
  }

  /** @returns {Promise<BranchDiff>} */
  async #diff() {
    try {
      return await get(`tasks/${this.id}/diff?stat=${!this.isWhole}`);
    } catch (error) {
      // For example because its branch was deleted.
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  }

  /** Finds out what has happened since, and leaves what is shown as it is. */
  async compare() {
    const { events } = await get(`tasks/${this.id}/history`);
    this.newer = events.filter((/** @type {Past} */ it) => it.version > this.why?.version);
    draw();
  }

  /** What you may do. */
  get steps() {
    return this.why.next_steps.filter((step) => step.is_open_to_user);
  }
}
