/** What a benchmark found, for a person and for a file. */

import { cpus, totalmem, loadavg } from "node:os";

export interface Row {
  section: string;
  name: string;
  value: number;
  unit: string;
  /** What it was held against, in the same run. */
  against?: string;
  ratio?: number;
  aim?: number;
  met?: boolean;
  detail?: string;
}

export interface Report {
  machine: { cpu: string; cores: number; memoryGb: number; node: string; loadAverage: number };
  rows: Row[];
}

export function reportOf(rows: Row[]): Report {
  return {
    machine: {
      cpu: cpus()[0]?.model ?? "unknown",
      cores: cpus().length,
      memoryGb: Math.round(totalmem() / 2 ** 30),
      node: process.version,
      loadAverage: loadavg()[0] ?? 0,
    },
    rows,
  };
}

export function tableOf({ machine, rows }: Report): string {
  const lines = [
    `${machine.cores} × ${machine.cpu}, ${machine.memoryGb} GB, Node ${machine.node}, load ${machine.loadAverage.toFixed(1)}`,
  ];
  let section = "";
  const width = Math.max(...rows.map(({ name }) => name.length));
  for (const row of rows) {
    if (row.section !== section) lines.push("", (section = row.section));
    lines.push(
      `  ${row.name.padEnd(width)}  ${figure(row).padStart(16)}  ${verdict(row).padEnd(22)} ${row.against ?? ""}`.trimEnd(),
    );
    if (row.detail !== undefined) lines.push(`  ${" ".repeat(width)}  ${" ".repeat(16)}  ${row.detail}`);
  }
  return `${lines.join("\n")}\n`;
}

function figure({ value, unit }: Row): string {
  return `${value >= 100 ? Math.round(value).toLocaleString("en") : Number(value.toPrecision(3))} ${unit}`;
}

function verdict({ ratio, aim, met }: Row): string {
  const parts = [];
  if (ratio !== undefined) parts.push(`× ${ratio.toPrecision(2)}`);
  if (aim !== undefined) parts.push(`aim ${aim} ${met === true ? "met" : "missed"}`);
  return parts.join(", ");
}
