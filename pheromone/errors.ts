/** Why can a saved trail, or a table, not be used? */

export type PheromoneProblem =
  /** The text is something else. */
  | "NOT_A_TRAIL"
  /** Written in a format that this version does not read. */
  | "OTHER_VERSION"
  /** Cut short or altered. */
  | "CORRUPT"
  /** Two tables that follow different rules cannot be merged. */
  | "OTHER_OPTIONS"
  /** A store keeps no more tables than it was allowed. */
  | "TOO_MANY_TABLES";

/** The message says what to do. */
export class PheromoneError extends Error {
  override readonly name = "PheromoneError";
  readonly problem: PheromoneProblem;
  constructor(problem: PheromoneProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}
