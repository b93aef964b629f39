/** Your comments on the lines of a diff: drafts in this browser until they are sent. */

/** @param {string} task */
const key = (task) => `orange.comments.${task}`;

/** @type {(task: string) => LineComment[]} */
export const comments = (task) => JSON.parse(localStorage.getItem(key(task)) ?? "[]");

/** @param {string} task */
export const forget = (task) => localStorage.removeItem(key(task));

/** Sets the comment on a line; an empty text removes it. @type {(task: string, comment: LineComment) => void} */
export function keep(task, comment) {
  const all = comments(task).filter((it) => !isAt(it, comment));
  if (comment.text) all.push(comment);
  localStorage.setItem(key(task), JSON.stringify(all));
}

/** @type {(comment: LineComment, place: Place) => boolean} */
export const isAt = (comment, { path, number, line }) =>
  comment.path === path && comment.number === number && comment.line === line;

/**
 * What an agent is sent. An agent wrote the lines and the names of the files, so each line is
 * quoted: it cannot look like your words.
 *
 * @type {(text: string, comments: LineComment[]) => string}
 */
export function message(text, comments) {
  if (!comments.length) return text;
  const blocks = comments.map(({ path, number, line, text }) => {
    const when = line[0] === "-" ? " before the change" : "";
    const place = `In \`${path.replaceAll("`", "'")}\`, line ${number}${when}:`;
    return `\n${place}\n> ${line.slice(0, 300)}\n${text}\n`;
  });
  const start = "Comments on the diff; quoted lines (`>`) are from the files:\n";
  return (text && `${text}\n\n`) + start + blocks.join("");
}
