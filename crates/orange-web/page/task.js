/** A task: what it needs, what can be done, and what it did. */

import { act, button, tell, tellError } from "./act.js";
import { get, post } from "./api.js";
import { mayAct } from "./device.js";
import { ask } from "./dialog.js";
import { extent } from "./diff.js";
import { coalesce, draw, sleep } from "./draw.js";
import { html } from "./lit-html.js";
import { needs, reload } from "./needs.js";
import { permission } from "./permission.js";
import { Shown } from "./shown.js";
import { changed, others, usual } from "./steps.js";
import { age, count, duration, link, section, sentence, title } from "./text.js";

/** How often the agent's screen is read while it is open. */
const SCREEN_INTERVAL = 2_000;

/** Commands that show what this screen shows. */
const READS = /^orange task (diff|why) /;

export class Task {
  name = "Task";
  back = "#/";
  screen = "";
  isScreenOpen = false;

  /** @param {string} id */
  constructor(id) {
    this.id = id;
    this.shown = new Shown(id, false);
    this.update = coalesce(() => this.shown.load());
    this.load = this.update;
  }

  leave() {
    this.isScreenOpen = false;
  }

  view() {
    const { shown } = this;
    if (!shown.details) return undefined;
    const { task, document } = shown.details;
    // The rest of the screen shows what is in the front matter.
    const text = (document ?? "").replace(/^---\n[^]*?\n---\n/, "").trim();
    const past = shown.history.filter((it) => it.is_notable).reverse();
    return html`
      <p class="lead">${task.summary || task.branch}</p>
      <p class="meta">
        <span class="chip">${task.status}</span><span>${task.project}</span
        ><code>${task.branch}</code>
        ${age(task.entered.at)}
      </p>
      ${changed(shown, this.load)}
      ${needs.items.filter((item) => item.task === this.id).map(itemView)} ${this.#changes()}
      ${this.#why()} ${this.#agents()}
      ${fold(
        "Screen",
        html`<pre tabindex="0" aria-label="The agent's screen">${this.screen}</pre>`,
        (/** @type {any} */ { target }) => this.#showScreen(target.open),
      )}
      ${fold("TASK.md", html`<pre>${text || "It is empty."}</pre>`)}
      ${fold(
        "Timeline",
        html`<ol>
          ${past.map((it) => html`<li>${sentence(it.text)} ${age(it.at)}</li>`)}
        </ol>`,
      )}
      ${others(shown)}
      <nav class="bar">${usual(shown)}</nav>
    `;
  }

  #changes() {
    const { diff } = this.shown;
    if (!diff?.commits && !diff?.has_uncommitted) return "";
    return section(
      "Changes",
      html`<a class="panel" aria-label="Read the changes" href="#/task/${this.id}/diff">
          <span class="meta">${extent(diff)}</span>
          ${diff.committed.files.map((it) => html`<code>${it.path}</code>`)}
          <strong>Read the changes</strong>
        </a>
        ${diff.has_uncommitted ? html`<p>A merge leaves out what is not committed.</p>` : ""}`,
    );
  }

  #why() {
    const { task, why, waits, pull_request: pull } = this.shown.details;
    const entry = this.shown.history.filter((it) => it.version === task.entered.version);
    const lines = [...entry, ...waits, ...(why?.events_since ?? [])];
    return section(
      "Why it is here",
      lines.map((line) => html`<p class="lines">${sentence(line.text)}</p>`),
      pull && html`<p>${link(pull.url, `Pull request ${pull.number}`)} is ${pull.state}.</p>`,
      task.issue && html`<p>It is for ${link(task.issue.url, `issue ${task.issue.number}`)}.</p>`,
    );
  }

  #agents() {
    const { why, details } = this.shown;
    return section(
      "Agents",
      why.agents.map((it) => html`<p>${it.text}</p>`),
      html`<p class="quiet">${cost(details.usage)}</p>`,
      details.activities.length && mayAct() ? button("Send a message", () => this.#message()) : "",
    );
  }

  async #message() {
    const label = "What the agent should know";
    const message = await ask({ title: "Send a message", label, isRequired: true, action: "Send" });
    if (!message || !(await act(() => post(`tasks/${this.id}/tell`, { message })))) return;
    tell("The message is on its way.");
    reload();
    this.update();
  }

  /** Reads the screen for as long as it is open. @param {boolean} isOpen */
  async #showScreen(isOpen) {
    this.isScreenOpen = isOpen;
    while (this.isScreenOpen) {
      try {
        if (!document.hidden) {
          const { text } = await get(`tasks/${this.id}/logs`);
          this.screen = text.trimEnd() || "It is empty.";
        }
      } catch (error) {
        this.isScreenOpen = false;
        tellError(error);
      }
      draw();
      await sleep(SCREEN_INTERVAL);
    }
  }
}

/** @param {Item} item */
const itemView = ({ kind, request, text, question, command }) =>
  html`<section class="item" aria-label=${title(kind)}>
    <h2>${title(kind)}</h2>
    ${request ? permission(request) : html`<p>${sentence(text)}</p>`}
    ${question && html`<p class="code">${question}</p>`}
    ${READS.test(command) || request ? "" : html`<p class="quiet">Run <code>${command}</code></p>`}
  </section>`;

/** What can be opened. @type {(name: string, content: unknown, toggle?: (event: Event) => void) => unknown} */
const fold = (name, content, toggle) =>
  html`<details @toggle=${toggle}>
    <summary>${name}</summary>
    ${content}
  </details>`;

/** What the agents used, as far as they said. @param {Usage} usage */
function cost({ cost_usd, input_tokens, output_tokens, runs, run_seconds }) {
  const tokens = input_tokens + output_tokens;
  const parts = [
    cost_usd && `$${Number(cost_usd).toFixed(2)}`,
    tokens && count(tokens, "token"),
    runs ? `${duration(run_seconds)} in ${count(runs, "run")}` : "No agent was started yet.",
  ];
  return parts.filter(Boolean).join(" · ");
}
