/** The trail: what verified trajectories leave behind, and how it guides the next ones. Pure: no I/O, no clock, no chance. */

export { judge, matchOf, modelMatchOf, type Play, type Verdict } from "./deposit.ts";
export { PheromoneError, type PheromoneProblem } from "./errors.ts";
export { confidenceOf, dependentShare, dependentTau, fuseTau, gather, noEvidence, type Evidence } from "./fusion.ts";
export { merge } from "./merge.ts";
export { pheromoneOptions, type PheromoneConfig, type PheromoneOptions } from "./options.ts";
export type { Deposit } from "./round.ts";
export {
  choiceOf,
  diversityOf,
  entropyOf,
  guide,
  logitBias,
  sample,
  SamplingError,
  type Choice,
  type FuseOptions,
  type Guided,
  type SamplingProblem,
} from "./sampling.ts";
export { formatVersion, load, save } from "./save.ts";
export { schedule, scheduled, type Counters, type Schedule } from "./schedule.ts";
export {
  heatMap,
  massOnReference,
  nodeEntropy,
  statisticsOf,
  Tally,
  type LevelStatistics,
  type PheromoneStatistics,
  type Possible,
} from "./statistics.ts";
export {
  PheromoneStore,
  type DepositAnswer,
  type PheromoneAnswer,
  type PheromoneOffer,
  type PheromoneQuery,
} from "./store.ts";
export {
  edgesOf,
  levelNames,
  PheromoneTable,
  START,
  type Counts,
  type LevelName,
  type Row,
  type RowQuery,
} from "./table.ts";
export { Recall } from "./tasks.ts";
export { Trail, type Edge, type TrailOptions } from "./trail.ts";
