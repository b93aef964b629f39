/** The changes of a task, file by file; a tap on a line comments on it. */

import { tellError } from "./act.js";
import { comments, isAt, keep } from "./comments.js";
import { mayAct } from "./device.js";
import { ask } from "./dialog.js";
import { draw } from "./draw.js";
import { html } from "./lit-html.js";
import { parse } from "./parse.js";
import { Shown } from "./shown.js";
import { changed, usual } from "./steps.js";
import { count } from "./text.js";

/** How many lines of all files are shown at first, and how many of one file at most. */
const OPEN_LINES = 300;
const MOST_LINES = 3_000;

const SIGNS = { "": " ", add: "+", remove: "-", hunk: "" };

export class Diff {
  name = "Changes";
  /** @type {DiffFile[]} */ files = [];
  /** @type {Set<DiffFile>} */ open = new Set();
  /** The line that the arrow keys have chosen. @type {DiffLine} */ chosen;

  /** @param {string} id */
  constructor(id) {
    this.id = id;
    this.back = `#/task/${id}`;
    this.shown = new Shown(id, true);
  }

  async load() {
    await this.shown.load();
    this.files = this.shown.diff ? parse(this.shown.diff.committed) : [];
    let room = OPEN_LINES;
    this.open = new Set(this.files.filter((file) => (room -= file.lines.length) >= 0));
    draw();
  }

  /** What is read stays as it is, and says what has changed. */
  update() {
    if (!this.shown.details) this.load();
    else this.shown.compare().catch(tellError);
  }

  view() {
    const { diff, details } = this.shown;
    if (!details) return undefined;
    return html`
      <p class="lead">${details.task.summary || details.task.branch}</p>
      <p class="meta">${diff ? extent(diff) : "There is no branch yet."}</p>
      ${changed(this.shown, () => this.load())} ${this.files.map((file) => this.#file(file))}
      <nav class="bar">${usual(this.shown)}</nav>
    `;
  }

  /** @param {DiffFile} file */
  #file(file) {
    const { path, note, lines, added, removed } = file;
    const isOpen = this.open.has(file);
    const toggle = (/** @type {any} */ { target }) => {
      this.open[target.open ? "add" : "delete"](file);
      draw();
    };
    const left = lines.length - MOST_LINES;
    return html`<details class="file" ?open=${isOpen} @toggle=${toggle}>
      <summary>
        <code>${path}</code>
        <span class="added">+${added ?? "?"}</span><span class="removed">−${removed ?? "?"}</span>
      </summary>
      <p class="quiet">${note}</p>
      ${isOpen && lines.length ? this.#lines(file) : ""}
      ${left > 0 ? html`<p>${count(left, "more line")}: <code>orange task diff</code></p>` : ""}
    </details>`;
  }

  /** @param {DiffFile} file */
  #lines(file) {
    const own = comments(this.id);
    const lines = file.lines.slice(0, MOST_LINES);
    const at = lines.indexOf(this.chosen);
    const id = `file-${this.files.indexOf(file)}-`;
    const key = (/** @type {KeyboardEvent} */ event) => {
      const moves = /** @type {Record<string, number>} */ ({ ArrowDown: 1, ArrowUp: -1 });
      const move = moves[event.key];
      if (move) this.chosen = lines[lines.indexOf(this.chosen) + move] ?? this.chosen;
      else if (event.key === "Enter") this.#comment(file, this.chosen);
      else return;
      event.preventDefault();
      draw();
    };
    const row = (/** @type {DiffLine} */ line, /** @type {number} */ index) => {
      const comment = own.find((it) => isAt(it, place(file, line)));
      return html`<li
        id=${id + index}
        class=${line.kind}
        role="option"
        aria-selected=${index === at}
        @click=${() => this.#comment(file, line)}
      >
        <span>${line.number || ""}</span><code>${SIGNS[line.kind]}${line.text}</code>
        ${comment && html`<p class="comment">${comment.text}</p>`}
      </li>`;
    };
    return html`<ol
      role="listbox"
      tabindex="0"
      aria-label="Lines of ${file.path}; Enter comments on one"
      aria-activedescendant=${at < 0 ? "" : id + at}
      @keydown=${key}
    >
      ${lines.map(row)}
    </ol>`;
  }

  /** @type {(file: DiffFile, line?: DiffLine) => Promise<void>} */
  async #comment(file, line) {
    // A tap that ends a selection of text is no comment.
    if (!mayAct() || !line?.number || String(getSelection())) return;
    const at = place(file, line);
    const text = await ask({
      title: `Line ${line.number} of ${file.path}`,
      quote: at.line,
      label: "Comment",
      value: comments(this.id).find((it) => isAt(it, at))?.text,
      action: "Keep",
    });
    if (text !== null) keep(this.id, { ...at, text });
    draw();
  }
}

/** @type {(file: DiffFile, line: DiffLine) => Place} */
const place = ({ path }, { kind, number, text }) => ({ path, number, line: SIGNS[kind] + text });

/** How much a branch changes, and up to which commit. @param {BranchDiff} diff */
export const extent = ({ committed, commits, head }) => html`
  <span>${count(committed.files.length, "file")}, ${count(commits, "commit")}</span>
  <code>${head.slice(0, 12)}</code>
`;
