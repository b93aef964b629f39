/** The page: which screen it shows, and what keeps that current. */

import { dismissError, hasError, noticeView, tellError } from "./act.js";
import { Refusal, isRefused } from "./api.js";
import * as create from "./create.js";
import { device, mayAct, pair } from "./device.js";
import { Diff } from "./diff.js";
import { draw, setDrawing } from "./draw.js";
import { listen } from "./events.js";
import { html, render } from "./lit-html.js";
import { load, needs, reload } from "./needs.js";
import * as queue from "./queue.js";
import { Task } from "./task.js";

/** @type {HTMLElement} */
const root = document.querySelector("#page");

/** @type {View} */
let screen = queue;
let pairingError = "";
let listPosition = 0;

/** @type {(hash: string) => View} */
function find(hash) {
  const [, task, isDiff] = /^#\/task\/(\w+)(\/diff)?$/.exec(hash) ?? [];
  if (task) return isDiff ? new Diff(task) : new Task(task);
  return hash === "#/new" && mayAct() ? create : queue;
}

function go() {
  // An address with a new code was opened in this tab.
  if (location.hash.startsWith("#code=")) return location.reload();
  if (screen === queue) listPosition = scrollY;
  dismissError();
  screen.leave?.();
  screen = find(location.hash);
  screen.load?.();
  view();
  scrollTo(0, screen === queue ? listPosition : 0);
  root.querySelector("h1").focus({ preventScroll: true });
}

function view() {
  if (!device() || isRefused()) return render(locked(), root);
  document.title = needs.items.length ? `(${needs.items.length}) orange` : "orange";
  render(
    html`<header>
        ${screen.back && html`<a class="back" href=${screen.back} aria-label="Back">‹</a>`}
        <h1 tabindex="-1">${screen.name}</h1>
      </header>
      ${noticeView()}
      <main>${screen.view() ?? (hasError() ? "" : html`<p class="quiet">Loading …</p>`)}</main>`,
    root,
  );
}

const locked = () =>
  html`<main class="locked">
    <h1>orange</h1>
    <p role="alert">${pairingError}</p>
    <p>${isRefused() ? "This device is no longer paired." : "This device is not paired."}</p>
    <p>On the machine where orange runs, run</p>
    <pre class="code">orange web pair ${device()?.name ?? "phone"} --scope act</pre>
    <p>and open the address that it prints. Without <code>--scope act</code> you can only read.</p>
  </main>`;

async function start() {
  setDrawing(view);
  const error = await pair().catch(() => "orange does not answer");
  if (error) pairingError = `Pairing failed: ${error}.`;
  // The address with a code may be opened in this tab later.
  addEventListener("hashchange", go);
  if (!device()) return draw();
  go();
  if (error) tellError(new Refusal({ message: pairingError }));
  const position = await load().catch((error) => {
    tellError(error);
    return 0;
  });
  listen(position, follow);
  addEventListener("visibilitychange", () => document.hidden || reload());
}

/** @param {Change[]} changes the tasks that have changed; any may have if there is none */
function follow(changes) {
  reload();
  if (!changes.length || changes.some((it) => it.task === screen.id)) screen.update?.();
}

start();
