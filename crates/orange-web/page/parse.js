/** Reads a diff as git prints it. */

/** The files of a diff, with the names that orange gives. @type {(part: { diff?: string, files: ChangedFile[] }) => DiffFile[]} */
export function parse({ diff, files }) {
  // Each line of a file has a sign, so none of them looks like this.
  const texts = diff.split(/^(?=diff --git )/m);
  return files.map((file, index) => {
    const [header, ...hunks] = texts[index].split(/^(?=@@ )/m);
    const notes = header.match(/^(new|deleted|old|rename|copy|Binary).*/gm) ?? [];
    return { ...file, note: notes.join(", "), lines: hunks.flatMap(parseHunk) };
  });
}

/** @type {(hunk: string) => DiffLine[]} */
function parseHunk(hunk) {
  const [head, ...rows] = hunk.replace(/\n$/, "").split("\n");
  const [, first, second, text] = /^@@ -(\d+)\S* \+(\d+)\S* @@ ?(.*)/.exec(head);
  let before = Number(first);
  let after = Number(second);
  const lines = rows.flatMap(
    /** @returns {DiffLine | []} */ (row) => {
      const text = row.slice(1);
      if (row[0] === "-") return { kind: "remove", text, number: before++ };
      if (row[0] === "+") return { kind: "add", text, number: after++ };
      // This says that the last line has no end.
      if (row[0] === "\\") return [];
      before++;
      return { kind: "", text, number: after++ };
    },
  );
  return [{ kind: "hunk", text, number: 0 }, ...lines];
}
