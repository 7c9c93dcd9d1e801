/** Does an observation give the reference answer away? A guess that stays silent rather than raise a false alarm. */

import type { CodeGymTask } from "./task.ts";

/** Shorter answers ("3", "yes") stand in many texts by chance. */
const MIN_LENGTH = 4;

/** What stands in the question or the payload may be shown: a name to choose, a list that is already in order. */
export function leaks({ question, payload, literal = "" }: CodeGymTask, content: unknown, answer: unknown): boolean {
  const given = `${question}\n${literal}\n${JSON.stringify(payload ?? null)}`;
  const text = typeof content === "string" ? content : JSON.stringify(content);
  const forms = formsOf(answer).filter((form) => form.length >= MIN_LENGTH);
  return forms.some((form) => holds(text, form)) && !forms.some((form) => given.includes(form));
}

/** How programs of either language write the answer. */
function formsOf(answer: unknown): string[] {
  if (typeof answer === "string" || typeof answer === "number" || typeof answer === "bigint") return [String(answer)];
  if (typeof answer !== "object" || answer === null) return [];
  const compact = jsonOf(answer);
  const spaced = compact.replace(
    /("(?:[^"\\]|\\.)*")|([,:])/g,
    (_all, text?: string, mark?: string) => text ?? `${mark} `,
  );
  return [compact, spaced, spaced.replaceAll('"', "'")];
}

const jsonOf = (value: unknown): string =>
  JSON.stringify(value, (_key, item: unknown) => (typeof item === "bigint" ? Number(item) : item));

/** As a whole: not 1234 in 51234, nor "able" in "table". */
function holds(text: string, form: string): boolean {
  const isWord = (character = "") => /[\p{L}\p{N}_]/u.test(character);
  for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + 1)) {
    const end = at + form.length;
    const isCut = (isWord(text[at - 1]) && isWord(form[0])) || (isWord(form.at(-1)) && isWord(text[end]));
    if (!isCut) return true;
  }
  return false;
}
