/** Why can a journal not be used at all? Said when it is opened, to the person who starts the server. */

export type JournalProblem =
  /** Another server uses the folder. */
  | "locked"
  /** Written by a version that knows more. */
  | "newer"
  /** Something else than a journal. */
  | "foreign"
  /** A journal that cannot be read any more. */
  | "damaged"
  /** The folder or the file cannot be opened or written. */
  | "inaccessible";

/** The message says what to do. */
export class JournalError extends Error {
  override readonly name = "JournalError";
  readonly problem: JournalProblem;
  constructor(problem: JournalProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}
