/** One promise of TrailGym's, where it was made, and which tests hold it. */

export interface Requirement {
  promise: string;
  /**
   * A section of wire.md, architecture.md or codegym.md, a part of an issue, or a complaint of complaints.md: #n
   * of its §3, 5.n of its §5, E.n of what program users say.
   */
  source: string;
  /** Tests that hold it under a title of their own: a file of test/ and the title. Beside those that `verifies` binds to it. */
  tests?: readonly (readonly [file: string, title: string])[];
}
