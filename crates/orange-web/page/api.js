/** Requests to the API. After one 401 there are none: a device that was revoked keeps quiet. */

import { device } from "./device.js";
import { clean } from "./text.js";

/** An answer that says why something was not done. */
export class Refusal extends Error {
  /** @param {{ message: string, hints?: string[] }} error @param {number} [status] */
  constructor({ message, hints = [] }, status) {
    super(message);
    this.hints = hints;
    this.status = status;
  }
}

/** Ends every request, also the event stream. */
const refused = new AbortController();

/** Whether the server does not know this device. */
export const isRefused = () => refused.signal.aborted;

/** @type {(path: string, options?: RequestInit) => Promise<Response>} */
export async function send(path, { headers, signal, ...options } = {}) {
  refused.signal.throwIfAborted();
  const response = await fetch(`/api/v1/${path}`, {
    ...options,
    headers: { ...headers, Authorization: `Bearer ${device()?.token}` },
    signal: signal ? AbortSignal.any([signal, refused.signal]) : refused.signal,
    cache: "no-store",
    credentials: "omit",
    redirect: "error",
  });
  if (response.status === 401) refused.abort();
  refused.signal.throwIfAborted();
  return response;
}

/** The answer, with every text in it made safe. @type {(path: string, options?: RequestInit) => Promise<any>} */
export async function get(path, options) {
  const response = await send(path, options);
  const text = await response.text();
  const answer = JSON.parse(text, (_, it) => (typeof it === "string" ? clean(it) : it));
  if (!response.ok) throw new Refusal(answer.error, response.status);
  return answer;
}

/** Changes something; a step says which version was shown. @type {(path: string, body?: object, version?: number) => any} */
export function post(path, body = {}, version) {
  const headers = {
    "Content-Type": "application/json",
    ...(version && { "If-Match": `"${version}"` }),
  };
  return get(path, { method: "POST", headers, body: JSON.stringify(body) });
}
