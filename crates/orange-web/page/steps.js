/** The steps that a task can take: one button for each, and what prevents the others. */

import { act, button, tell, tellError } from "./act.js";
import { Refusal, post } from "./api.js";
import { comments, forget, message } from "./comments.js";
import { mayAct } from "./device.js";
import { ask } from "./dialog.js";
import { html } from "./lit-html.js";
import { reload } from "./needs.js";
import { count, section, sentence } from "./text.js";

/** @typedef {import("./shown.js").Shown} Shown */

/** Verbs with an address of their own, the most useful first; other steps are known by status. */
const LABELS = /** @type {Record<string, string>} */ ({
  merge: "Merge",
  "request-changes": "Request changes",
  spawn: "Start",
  steps: "",
  cancel: "Cancel task",
});
const VERBS = Object.keys(LABELS);

/** @param {Step} step */
const verbOf = (step) => VERBS.find((verb) => step.verbs.includes(verb)) ?? "steps";

/** @param {Step} step */
const labelOf = (step) => LABELS[verbOf(step)] || `Move to ${step.to}`;

/** What you must confirm. @param {Step} step */
const questionOf = (step) => step.missing.find((it) => it.question)?.question;

/** Whether only your word is missing. @param {Step} step */
const isPossible = (step) => step.missing.every((it) => it.question);

/** Whether the step ends or skips something. @param {Step} step */
const isDanger = (step) => Boolean(questionOf(step)) || verbOf(step) === "cancel";

/** Whether the task waits for you to take the step: no agent may. @param {Step} step */
const isYours = (step) => !isDanger(step) && step.by.every((role) => role === "human");

/** Buttons for what the task waits for. @param {Shown} shown */
export const usual = (shown) => buttons(shown, isYours);

/** Buttons for the rest, and what is not possible yet. @param {Shown} shown */
export function others(shown) {
  const blocked = shown.steps.filter((step) => !isPossible(step));
  const reasons = blocked.flatMap((step) =>
    step.missing_text
      .filter((_, index) => !step.missing[index].question)
      .map((text) => html`<li>${labelOf(step)}: ${sentence(text)}</li>`),
  );
  return html`
    ${
      reasons.length
        ? section(
            "Not possible yet",
            html`<ul>
              ${reasons}
            </ul>`,
          )
        : ""
    }
    <div class="buttons">${buttons(shown, (step) => !isYours(step))}</div>
  `;
}

/** @type {(shown: Shown, isWanted: (step: Step) => boolean) => unknown} */
function buttons(shown, isWanted) {
  if (!mayAct()) return "";
  const steps = shown.steps.filter((step) => isPossible(step) && isWanted(step));
  steps.sort((a, b) => VERBS.indexOf(verbOf(a)) - VERBS.indexOf(verbOf(b)));
  return steps.map((step, index) => {
    const kind = isDanger(step) ? "danger" : isYours(step) && !index ? "main" : "";
    return button(labelOf(step), () => choose(shown, step), kind);
  });
}

/** Asks what has to be asked, then takes the step. @type {(shown: Shown, step: Step) => Promise<void>} */
async function choose(shown, step) {
  const unsent = comments(shown.id);
  const question = questionBefore(step, unsent.length);
  const written = question ? await ask(question) : "";
  if (written === null) return;
  const verb = verbOf(step);
  const text = step.accepts_message && message(written, unsent);
  const body = {
    ...(verb === "steps" && { to: step.to }),
    ...(verb === "merge" && { head: shown.why.commit ?? shown.diff.head }),
    ...(text && { message: text }),
    ...(question && { confirm: true }),
  };
  const done = await act(() => take(shown, verb, body));
  if (!done) return;
  if (text) forget(shown.id);
  reload();
  report(labelOf(step), done);
  if (done.outcome === "failed") shown.load();
  else location.hash = "#/";
}

/** What to ask before a step, if anything. @type {(step: Step, unsent: number) => Question | undefined} */
function questionBefore(step, unsent) {
  const takesText = step.accepts_message;
  const action = labelOf(step);
  const text = [
    questionOf(step),
    verbOf(step) === "cancel" && "Its agents are stopped. Committed work is kept.",
    unsent && `${count(unsent, "comment")} will ${takesText ? "be sent too" : "not be sent"}.`,
  ];
  const question = { title: action, text: text.filter(Boolean).join(" "), action };
  const label = "What the agent should do";
  if (takesText) return { ...question, label, isRequired: !unsent, action: "Send" };
  return question.text ? { ...question, isDanger: true } : undefined;
}

/** Takes a step from what is shown; if that is old, only finds out what has changed. @type {(shown: Shown, verb: string, body: object) => Promise<Done | void>} */
async function take(shown, verb, body) {
  // A start is the same from every version.
  const version = verb === "spawn" ? undefined : shown.why.version;
  try {
    return await post(`tasks/${shown.id}/${verb}`, body, version);
  } catch (error) {
    if (!(error instanceof Refusal && error.status === 412)) throw error;
    await shown.compare();
    scrollTo(0, 0);
    tellError(new Refusal({ message: "Nothing was done, because the task has changed." }));
  }
}

/** @type {(label: string, done: Done) => void} */
function report(label, { outcome, task, failed_effects }) {
  if (outcome === "failed") {
    const hints = failed_effects.map((it) => it.error);
    return tellError(new Refusal({ message: `${label} failed.`, hints }));
  }
  const more = outcome === "in_flight" ? " orange is still working on it." : "";
  tell(`${label}: the task is in \`${task.status}\` now.${more}`);
}

/** What has changed since a task was shown, until the user has read it. @type {(shown: Shown, show: () => void) => unknown} */
export function changed(shown, show) {
  if (!shown.newer.length) return "";
  const accept = () => {
    shown.newer = [];
    show();
  };
  return html`<div class="item" role="alert">
    <h2>This task has changed</h2>
    ${shown.newer.map((it) => (it.is_notable ? html`<p>${sentence(it.text)}</p>` : ""))}
    ${button("Show the current state", accept)}
  </div>`;
}
