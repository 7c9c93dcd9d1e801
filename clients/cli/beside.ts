/** Where is a program file that lies beside another? The published package holds `.js` where the sources hold `.ts`. */

export function beside(importMetaUrl: string, file: `${"." | ".."}/${string}.ts`): URL {
  return new URL(importMetaUrl.endsWith(".ts") ? file : file.replace(/\.ts$/, ".js"), importMetaUrl);
}
