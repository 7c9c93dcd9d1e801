/** Counters in Prometheus' text format. */

export class Metrics {
  readonly #errors = new Map<string, number>();
  #messages = 0;

  message(): void {
    this.#messages++;
  }

  error(name: string): void {
    this.#errors.set(name, (this.#errors.get(name) ?? 0) + 1);
  }

  /** @param gauges current values, by name without the prefix. */
  text(gauges: Readonly<Record<string, number>>): string {
    const lines = ["# TYPE trailgym_messages_total counter", `trailgym_messages_total ${this.#messages}`];
    lines.push("# TYPE trailgym_errors_total counter");
    for (const [name, count] of this.#errors) lines.push(`trailgym_errors_total{name="${name}"} ${count}`);
    for (const [name, value] of Object.entries(gauges)) {
      lines.push(`# TYPE trailgym_${name} gauge`, `trailgym_${name} ${value}`);
    }
    return `${lines.join("\n")}\n`;
  }
}
