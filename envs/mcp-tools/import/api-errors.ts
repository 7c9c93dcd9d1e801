/** Did an API answer with an error although the call counts as a success? What gateways and web pages say instead of data. */

import { looksFailed, textOf } from "../status.ts";

const gateways = [
  /unreachable/i,
  /not subscribed|upgrade your (plan|subscription)|subscription (is )?(required|expired)/i,
  /api[ _-]?key (does not|is|was|not|has)|(missing|wrong|no) api[ _-]?key/i,
  /too many requests|(monthly|daily) (quota|limit)|exceeded the/i,
  /['"]?success['"]?\s*:\s*(false|['"]false['"])/i,
  /['"](code|cod|status|status_?code|statusCode)['"]\s*:\s*['"]?[45]\d\d\b/i,
  /\b(must|has to|have to) be (specified|provided|set)\b|\bwrong (latitude|longitude|parameter)/i,
  /<title>\s*(just a moment|access denied|attention required|40[0-9]|50[0-9])/i,
];

/** Stricter than `looksFailed`; some outputs that only speak of such things are among them. */
export function isApiError(output: unknown): boolean {
  const text = textOf(output);
  return looksFailed(output) || gateways.some((pattern) => pattern.test(text));
}
