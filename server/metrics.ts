/** What an operator can watch at `GET /metrics`, in Prometheus' text format. */

import { Counter, Gauge, Histogram, Registry } from "prom-client";

/** Seconds. From a value environment's step to a build in a sandbox. */
const durations = [0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300];

export class Metrics {
  readonly #registry = new Registry();
  readonly #messages = this.#counter("messages", "Frames received.");
  readonly #errors = this.#counter("errors", "Error replies, by name.", "name");
  readonly #uncommitted = this.#counter(
    "uncommitted",
    "Resets and steps that changed nothing, by cause.",
    "env",
    "cause",
  );
  readonly #calls = this.#histogram("call_seconds", "A reset, step or restore from its start to its commit.", "env");
  readonly #journal = this.#histogram("journal_seconds", "A commit in the journal.");
  /** By environment: a lookup by labels costs more than the observation. */
  readonly #callsOf = new Map<string, { observe(seconds: number): void }>();

  constructor() {
    this.gauge("process_resident_bytes", "Memory of the server process.", () => process.memoryUsage.rss());
    this.gauge("process_cpu_seconds", "Processor time of the server process so far.", () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    });
  }

  message(): void {
    this.#messages.inc();
  }

  error(name: string): void {
    this.#errors.inc({ name });
  }

  /** A reset, step or restore was committed. */
  committed(env: string, seconds: number): void {
    let calls = this.#callsOf.get(env);
    if (calls === undefined) this.#callsOf.set(env, (calls = this.#calls.labels(env)));
    calls.observe(seconds);
  }

  /** One was not. @param cause name of the error */
  uncommitted(env: string, cause: string): void {
    this.#uncommitted.inc({ env, cause });
  }

  journaled(seconds: number): void {
    this.#journal.observe(seconds);
  }

  /** A value that is read when somebody asks for it. @param name without the prefix */
  gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name: `trailgym_${name}`,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }

  /** One for each value of a label, as {@link gauge}. */
  gauges(name: string, help: string, label: string, read: () => Readonly<Record<string, number>>): void {
    new Gauge({
      name: `trailgym_${name}`,
      help,
      labelNames: [label],
      registers: [this.#registry],
      collect() {
        for (const [value, number] of Object.entries(read())) this.set({ [label]: value }, number);
      },
    });
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  #counter<Label extends string>(name: string, help: string, ...labelNames: Label[]): Counter<Label> {
    return new Counter({ name: `trailgym_${name}_total`, help, labelNames, registers: [this.#registry] });
  }

  #histogram<Label extends string>(name: string, help: string, ...labelNames: Label[]): Histogram<Label> {
    return new Histogram({
      name: `trailgym_${name}`,
      help,
      labelNames,
      buckets: durations,
      registers: [this.#registry],
    });
  }
}
