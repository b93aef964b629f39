/** Questions that must be answered before something is sent. */

import { html, render } from "./lit-html.js";
import { sentence } from "./text.js";

const dialog = document.querySelector("dialog");

/** What the user wrote; `null` if they do not want to go on. @type {(question: Question) => Promise<string | null>} */
export const ask = ({ title, text, quote, label, value = "", isRequired, action, isDanger }) =>
  new Promise((resolve) => {
    const go = (/** @type {Event} */ event) => {
      event.preventDefault();
      dialog.close("go");
    };
    const key = (/** @type {KeyboardEvent} */ event) => {
      const isShortcut = event.key === "Enter" && (event.ctrlKey || event.metaKey);
      if (isShortcut) dialog.querySelector("form").requestSubmit();
    };
    // The text of the last question must not stay.
    render("", dialog);
    render(
      html`<form @submit=${go} @keydown=${key}>
        <h2 id="question">${title}</h2>
        <p>${sentence(text ?? "")}</p>
        ${quote && html`<pre class="code">${quote}</pre>`}
        ${
          label &&
          html`<label>
            ${label}<textarea rows="5" ?required=${isRequired} .value=${value}></textarea>
          </label>`
        }
        <div class="buttons">
          <button type="button" @click=${() => dialog.close()}>Back</button>
          <button class=${isDanger ? "danger" : "main"}>${action}</button>
        </div>
      </form>`,
      dialog,
    );
    const finish = () => {
      const written = dialog.querySelector("textarea")?.value.trim() ?? "";
      resolve(dialog.returnValue ? written : null);
    };
    dialog.returnValue = "";
    dialog.addEventListener("close", finish, { once: true });
    dialog.showModal();
  });
