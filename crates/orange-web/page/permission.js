/** A request for permission: all of the command, then the two answers. */

import { act, button, tell } from "./act.js";
import { post } from "./api.js";
import { mayAct } from "./device.js";
import { ask } from "./dialog.js";
import { html } from "./lit-html.js";
import { needs, reload, setItems } from "./needs.js";

/** @param {PermissionRequest} request */
export const permission = ({ id, tool, command, directory }) =>
  html`<div class="permission">
    <p>
      It asks to use <strong>${tool}</strong>${directory && html` in <code>${directory}</code>`}:
    </p>
    <pre class="code">${command}</pre>
    ${mayAct() ? answers(id, command) : ""}
  </div>`;

/** @type {(id: string, command: string) => unknown} */
const answers = (id, command) =>
  html`<div class="buttons">
    ${button("Deny", () => deny(id), "", `Deny ${command}`)}
    ${button("Allow once", () => answer(id, "allow"), "main", `Allow once ${command}`)}
  </div>`;

/** @param {string} id */
async function deny(id) {
  const label = "What the agent should know (optional)";
  const message = await ask({ title: "Deny this request?", label, action: "Deny" });
  if (message !== null) await answer(id, "deny", message ? { message } : {});
}

/** @type {(id: string, verb: string, body?: object) => Promise<void>} */
async function answer(id, verb, body) {
  const answered = await act(() => post(`requests/${id}/${verb}`, body));
  if (answered) {
    setItems(needs.items.filter((item) => item.request?.id !== id));
    tell(verb === "allow" ? "Allowed once." : "Denied.");
  }
  reload();
}
