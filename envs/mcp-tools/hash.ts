/** A number for a text, where a choice must depend on the text and on nothing else. */

/** 53 bits, for spreading and naming, not for secrets: two FNV-like lanes with a final mix. */
export function hash(text: string): number {
  let [low, high] = [0x811c9dc5, 0x9e3779b9];
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ unit, 0x85ebca6b);
  }
  low = mix(low ^ high);
  high = mix(high ^ low);
  return (high >>> 11) * 2 ** 32 + (low >>> 0);
}

/** 13 hexadecimal digits. */
export function hashName(text: string): string {
  return hash(text).toString(16).padStart(14, "0").slice(1);
}

/** The finalizer of MurmurHash3: every bit of the input changes every bit of the output half the time. */
function mix(word: number): number {
  let bits = word ^ (word >>> 16);
  bits = Math.imul(bits, 0x85ebca6b);
  bits ^= bits >>> 13;
  bits = Math.imul(bits, 0xc2b2ae35);
  return bits ^ (bits >>> 16);
}
