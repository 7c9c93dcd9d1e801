/** Base64 in Node and in browsers alike. */

export function base64(bytes: Uint8Array): string {
  if (typeof Buffer !== "undefined") {
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
  }
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

const alphabet = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The bytes of canonical, padded base64; undefined when `text` is not that. */
export function unbase64(text: string): Uint8Array | undefined {
  if (!alphabet.test(text)) return undefined;
  if (typeof Buffer !== "undefined") return new Uint8Array(Buffer.from(text, "base64"));
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}
