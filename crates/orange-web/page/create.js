/** A new task. */

import { act, tell, tellError } from "./act.js";
import { get, post } from "./api.js";
import { draw } from "./draw.js";
import { html } from "./lit-html.js";
import { reload } from "./needs.js";

/** The names to choose from. @type {Record<string, { name: string }[]> | undefined} */
let choices;

export const name = "New task";
export const back = "#/";

export async function load() {
  const lists = ["projects", "harnesses"].map((it) => get(it));
  choices = await Promise.all(lists).then((found) => Object.assign({}, ...found), tellError);
  draw();
}

/** @param {Event} event */
async function submit(event) {
  event.preventDefault();
  const fields = [...new FormData(/** @type {HTMLFormElement} */ (event.target))];
  // What is empty is left to orange.
  const body = Object.fromEntries(fields.filter(([, value]) => value));
  const created = await act(() => post("tasks", { ...body, no_spawn: "no_spawn" in body }));
  if (!created) return;
  tell(`Created \`${created.task.id}\`.`);
  reload();
  location.hash = "#/";
}

export const view = () =>
  choices &&
  html`<form @submit=${submit}>
    <label>What should be done?<input name="summary" required autocomplete="off" /></label>
    <label>Details (optional)<textarea name="context" rows="6"></textarea></label>
    <label
      >Project<select name="project">
        ${choices.projects.map(option)}
      </select></label
    >
    <label>
      Agent
      <select name="harness">
        <option value="">Default</option>
        ${choices.harnesses.map(option)}
      </select>
    </label>
    <label class="check"><input type="checkbox" name="no_spawn" />Do not start it yet</label>
    <nav class="bar"><button class="main">Create</button></nav>
  </form>`;

/** @param {{ name: string }} choice */
const option = ({ name }) => html`<option>${name}</option>`;
