/** How do rows become columns that a person can read? */

export interface Column {
  title: string;
  /** Numbers go to the right. Default left. */
  align?: "left" | "right";
  /** The one that gives way when the line gets too long. */
  shrink?: boolean;
}

/** @param width of the longest line; a `shrink` column is cut with an ellipsis to fit. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[], width = 120): string {
  const cells = rows.map((row) => columns.map((_, i) => oneLine(row[i] ?? "")));
  const widths = columns.map(({ title }, i) => Math.max(title.length, ...cells.map((row) => row[i]?.length ?? 0)));
  const gaps = 2 * (columns.length - 1);
  const over = widths.reduce((sum, one) => sum + one, gaps) - width;
  const shrinking = columns.findIndex(({ shrink }) => shrink === true);
  if (over > 0 && shrinking >= 0) widths[shrinking] = Math.max(12, (widths[shrinking] as number) - over);
  const line = (row: readonly string[]) =>
    row
      .map((text, i) => fit(text, widths[i] as number, columns[i]?.align ?? "left"))
      .join("  ")
      .trimEnd();
  const titles = columns.map(({ title }) => title);
  const rule = widths.map((one) => "─".repeat(one)).join("  ");
  return [line(titles), rule, ...cells.map(line)].join("\n");
}

function fit(text: string, width: number, align: "left" | "right"): string {
  const cut = text.length > width ? `${text.slice(0, width - 1)}…` : text;
  return align === "right" ? cut.padStart(width) : cut.padEnd(width);
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
