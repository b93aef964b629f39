/** The first screen: what needs you, and what every other task does. */

import { mayAct } from "./device.js";
import { html } from "./lit-html.js";
import { needs } from "./needs.js";
import { permission } from "./permission.js";
import { age, section, sentence, title } from "./text.js";

/** Kinds of items in which something is wrong. */
const TROUBLE = ["stuck", "trouble", "effect-failed", "undelivered", "exited", "parked", "policy"];

/** The kinds of statuses, and what is said of the tasks in them. */
const GROUPS = [
  ["agent", "Working"],
  ["waiting", "Waiting"],
  ["queued", "Queued"],
  ["human", "With you"],
];

export const name = "Tasks";

export function view() {
  const { items, tasks } = needs;
  if (!tasks) return undefined;
  const shown = new Set(items.map((item) => item.task));
  const groups = GROUPS.map(([kind, label]) => {
    const rows = tasks.filter((task) => task.kind === kind && !shown.has(task.id)).map(row);
    return rows.length
      ? section(
          `${label} ${rows.length}`,
          html`<ul class="rows">
            ${rows}
          </ul>`,
        )
      : "";
  });
  return html`
    ${section(
      items.length ? `Needs you ${items.length}` : "Needs you",
      items.length
        ? html`<ul class="cards">
            ${items.map(card)}
          </ul>`
        : html`<p>Nothing.</p>`,
    )}
    ${groups}
    ${mayAct() ? html`<nav class="bar"><a class="button main" href="#/new">New task</a></nav>` : ""}
  `;
}

/** @param {Item} item */
function card({ kind, project, since, summary, text, task, request, question, command }) {
  const tone = TROUBLE.includes(kind) ? "bad" : kind === "review" ? "good" : "warn";
  const heading = summary || text;
  return html`<li>
    <p class="meta">
      <span class="chip ${tone}">${title(kind)}</span><span>${project}</span>${age(since)}
    </p>
    <h3>${task ? html`<a class="whole" href="#/task/${task}">${heading}</a>` : heading}</h3>
    ${request ? permission(request) : summary && html`<p>${sentence(text)}</p>`}
    ${question && html`<p class="code">${question}</p>`}
    ${task ? "" : html`<p class="quiet">Run <code>${command}</code></p>`}
  </li>`;
}

/** @param {Row} task */
const row = ({ id, project, status, summary, branch, entered_at }) =>
  html`<li>
    <a href="#/task/${id}">
      <span class="summary">${summary || branch}</span>
      <span class="meta"><span>${status}</span><span>${project}</span>${age(entered_at)}</span>
    </a>
  </li>`;
