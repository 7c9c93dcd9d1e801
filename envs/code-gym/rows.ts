/** How are rows read out of the files of the released data: JSONL and Parquet, in bounded memory, bad lines apart? */

import { parquetMetadataAsync, parquetReadObjects, parquetSchema } from "hyparquet";
import { compressors } from "hyparquet-compressors";

/** A file that someone else opened; `slice` may read it piece by piece. */
export interface ImportFile {
  /** For messages; the ending says the format: .jsonl, .parquet, .py. */
  readonly name: string;
  readonly byteLength: number;
  slice(start: number, end?: number): ArrayBuffer | Promise<ArrayBuffer>;
}

export type Row = Record<string, unknown>;
/** `line` counts from 1; in a Parquet file it is the row. */
export type Located = { line: number } & ({ row: Row } | { problem: string });

/** What the importer reads; a table's other columns (whole trajectories among them) are not decoded. */
const columns = [
  "env_code",
  "env_name",
  "source",
  "ability",
  "code_id",
  "prompt",
  "plugin_call_max_round",
  "extra_info",
] as const;

export const isRows = ({ name }: ImportFile) => /\.(jsonl|ndjson|parquet)$/i.test(name);

export function rowsOf(file: ImportFile): AsyncGenerator<Located> {
  return /\.parquet$/i.test(file.name) ? parquetRows(file) : jsonlRows(file);
}

export function bytesFile(name: string, bytes: Uint8Array): ImportFile {
  const buffer = bytes.slice().buffer;
  return { name, byteLength: bytes.byteLength, slice: (start, end) => buffer.slice(start, end) };
}

export async function fileText(file: ImportFile): Promise<string> {
  return new TextDecoder("utf-8", { fatal: true }).decode(await file.slice(0, file.byteLength));
}

async function* jsonlRows(file: ImportFile): AsyncGenerator<Located> {
  let line = 0;
  for await (const bytes of linesOf(file)) {
    line += 1;
    const parsed = parseLine(bytes);
    if (parsed !== undefined) yield { line, ...parsed };
  }
}

const CHUNK_BYTES = 1 << 20;

/** Split as bytes, so that a line that is not UTF-8 is one bad line and not a broken file. */
async function* linesOf(file: ImportFile): AsyncGenerator<Uint8Array> {
  let parts: Uint8Array[] = [];
  for (let start = 0; start < file.byteLength; start += CHUNK_BYTES) {
    const chunk = new Uint8Array(await file.slice(start, Math.min(start + CHUNK_BYTES, file.byteLength)));
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      yield concat([...parts, chunk.subarray(from, end)]);
      parts = [];
      from = end + 1;
    }
    if (from < chunk.length) parts.push(chunk.subarray(from));
  }
  if (parts.length > 0) yield concat(parts);
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  if (parts.length === 1) return parts[0] as Uint8Array;
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function parseLine(bytes: Uint8Array): { row: Row } | { problem: string } | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes).trim();
    if (text === "") return undefined;
    const row: unknown = JSON.parse(text);
    if (typeof row === "object" && row !== null && !Array.isArray(row)) return { row: row as Row };
    return { problem: "not a JSON object" };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

async function* parquetRows(file: ImportFile): AsyncGenerator<Located> {
  const metadata = await parquetMetadataAsync(file);
  const present = new Set(parquetSchema(metadata).children.map(({ element }) => element.name));
  const wanted = columns.filter((column) => present.has(column));
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    const rows = await parquetReadObjects({ file, metadata, columns: wanted, rowStart, rowEnd, compressors });
    for (const row of rows) yield { line: ++rowStart, row };
    rowStart = rowEnd;
  }
}
