/**
 * What the API answers, as far as the page reads it. Only editors and type checkers read this:
 * `.ci/page` checks the types.
 */

/** A browser that was paired. */
type Device = { name: string; scope: "read" | "act"; token: string };

/** A task that a commit has changed. */
type Change = { task: string; version: number; status: string };

/** A permission that an agent asks for. */
type PermissionRequest = { id: string; tool: string; command: string; directory?: string | null };

/** Something that needs you. */
type Item = {
  key: string;
  kind: string;
  since: string;
  text: string;
  command: string;
  project?: string | null;
  question?: string | null;
  summary?: string | null;
  task?: string | null;
  request?: PermissionRequest | null;
};

/** A task in the list. */
type Row = {
  id: string;
  project: string;
  status: string;
  kind: string | null;
  summary: string;
  branch: string;
  entered_at: string | null;
};

/** An edge out of the status of a task. */
type Step = {
  /** The roles that may take it; any if there are none. */
  by: string[];
  to: string | null;
  verbs: string[];
  accepts_message: boolean;
  is_open_to_user: boolean;
  missing: { code: string; question?: string }[];
  missing_text: string[];
};

/** Why a task is where it is, and where it can go. */
type Why = {
  version: number;
  /** The submitted commit. */
  commit: string | null;
  next_steps: Step[];
  agents: { text: string }[];
};

/** The rest that is known of a task. */
type Details = {
  task: {
    status: string;
    entered: { version: number; at: string };
    summary: string;
    branch: string;
    project: string;
    workspace: { state: string };
    issue?: { number: number; url: string };
  };
  document?: string;
  runs: unknown[];
  activities: unknown[];
  usage: Usage;
  waits: { text: string }[];
  why: { events_since: { text: string }[] } | null;
  pull_request: { number: number; url: string; state: string } | null;
};

/** What agents used, as far as they said. */
type Usage = {
  cost_usd: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  runs: number;
  run_seconds: number;
};

/** What a branch changes. */
type BranchDiff = {
  head: string;
  commits: number;
  has_uncommitted: boolean;
  committed: { files: ChangedFile[]; diff?: string };
};

/** Something that happened to a task. */
type Past = { version: number; at: string; text: string; is_notable: boolean };

/** The answer to a change of a task. */
type Done = {
  outcome: "succeeded" | "already" | "in_flight" | "failed";
  task: { id: string; status: string };
  failed_effects: { error: string }[];
};

/** A file of a diff; the counts are unknown for a binary file. */
type ChangedFile = { path: string; added: number | null; removed: number | null };

/** The same with its lines. */
type DiffFile = ChangedFile & { note: string; lines: DiffLine[] };

/** A line of a diff without its sign. Its number is that of the new file, or of the old one if it was
 * removed; 0 for the head of a hunk. */
type DiffLine = { kind: "" | "add" | "remove" | "hunk"; text: string; number: number };

/** The place of a line: with its sign, so that it is found again only while it is the same. */
type Place = { path: string; number: number; line: string };

type LineComment = Place & { text: string };

/** A question to the user. */
type Question = {
  title: string;
  text?: string;
  /** What it is about, as it stands there. */
  quote?: string;
  /** What to write; without it there is nothing to write. */
  label?: string;
  value?: string;
  isRequired?: boolean;
  /** The label of the button that goes on. */
  action: string;
  isDanger?: boolean;
};

/** What fills the page. */
type View = {
  name: string;
  /** Where the arrow leads. */
  back?: string;
  /** The task that it shows. */
  id?: string;
  view(): unknown;
  load?(): unknown;
  /** Follows a change of its task. */
  update?(): unknown;
  leave?(): void;
};

/** What happened last. */
type Notice = { message: string; hints: string[]; isBad?: boolean; isOffline?: boolean };
