/** This browser as a device: its token, and how it gets one. */

/** Storage of this origin; a cookie would also be sent to other ports of this machine. */
const KEY = "orange.device";

/** @type {() => Device | null} */
export const device = () => JSON.parse(localStorage.getItem(KEY) ?? "null");

/** Whether this device may do more than ask. */
export const mayAct = () => device()?.scope === "act";

/**
 * Exchanges the code in the address, if there is one, for a token. The code leaves the address and
 * the history first, so that it stays nowhere, however this ends.
 *
 * @returns {Promise<string>} why it failed
 */
export async function pair() {
  const code = /^#code=(\w+)$/.exec(location.hash)?.[1];
  if (!code) return "";
  history.replaceState(null, "", location.pathname);
  const response = await fetch("/api/v1/pair", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code }),
  });
  const { error, name, scope, token } = await response.json();
  if (error) return error.message;
  localStorage.setItem(KEY, JSON.stringify({ name, scope, token }));
  return "";
}
