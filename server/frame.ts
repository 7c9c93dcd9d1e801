/** How does a text become a WebSocket frame? In one buffer: `ws` would hand header and payload to the socket one by one. */

/** RFC 6455, 5.2: FIN and the opcode of a text. A server's frames are not masked. */
const finalText = 0x81;
const length16 = 126;
const length64 = 127;

/** An unfragmented text frame without extensions; `ws` must have negotiated none. */
export function textFrame(text: string): Buffer {
  const length = Buffer.byteLength(text);
  const start = length < length16 ? 2 : length < 65_536 ? 4 : 10;
  const frame = Buffer.allocUnsafe(start + length);
  frame[0] = finalText;
  if (start === 2) frame[1] = length;
  else if (start === 4) {
    frame[1] = length16;
    frame.writeUInt16BE(length, 2);
  } else {
    frame[1] = length64;
    frame.writeBigUInt64BE(BigInt(length), 2);
  }
  frame.write(text, start);
  return frame;
}
