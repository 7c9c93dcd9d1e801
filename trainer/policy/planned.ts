/** How does a trajectory come to the planner's training pass? As embeddings and indices, one call after another. */

/** A call as the planner remembers it. */
export interface PlannedCall {
  /** Index in the tools of the episode's table; N: STOP. */
  tool: number;
  /** Embedding of the pattern and of what the call returned; absent: nothing to say. */
  pattern?: Float32Array | undefined;
  output?: Float32Array | undefined;
  /** One for each of `outcomeFlags`. */
  outcome: readonly number[];
  /** What was chosen beside the tool. */
  arguments?: PlannedArguments | undefined;
}

export interface PlannedArguments {
  /** The tool's patterns, when there is more than one. */
  pattern?: { taken: number; options: readonly Float32Array[]; bias?: readonly number[] | undefined } | undefined;
  slots: readonly PlannedSlot[];
}

export interface PlannedSlot {
  property: Float32Array;
  taken: number;
  options: readonly { text: Float32Array; features: readonly number[] }[];
}

/** One trajectory, for training. */
export interface PlannedTrajectory {
  /** Embeddings of the task's clauses, in order, and of the whole task. */
  clauses: readonly Float32Array[];
  task: Float32Array;
  /** What was decided, in order; the last may be STOP. */
  calls: readonly PlannedCall[];
  /** For each decision the tools that could be chosen (STOP as N); undefined: all. */
  candidates: readonly (readonly number[] | undefined)[];
  /** The reference's arguments at each decision, for L_SL. */
  targets?: readonly (PlannedArguments | undefined)[] | undefined;
}
