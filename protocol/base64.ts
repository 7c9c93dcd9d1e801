/** Base64 in Node and in browsers alike. */

export function base64(bytes: Uint8Array): string {
  if (typeof Buffer !== "undefined") {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  }
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

// One class under one star: a repeated group of four overflows the regexp stack at some megabytes of text.
const digits = /^[A-Za-z0-9+/]*$/;
// The bits beneath the last whole byte must be zero, or two texts would mean the same bytes.
const end = /^(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$/;
const unused = /(?:[^AQgw]==|[^AEIMQUYcgkosw048=]=)$/;

/** The bytes of canonical, padded base64; undefined when `text` is not that. */
export function unbase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0) return undefined;
  if (text.length > 0 && (!end.test(text.slice(-4)) || unused.test(text.slice(-4)))) return undefined;
  if (!digits.test(text.slice(0, -4))) return undefined;
  if (typeof Buffer !== "undefined") return new Uint8Array(Buffer.from(text, "base64"));
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}
