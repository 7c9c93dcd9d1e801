/** A reply's frame is one that any WebSocket peer reads. */

import type { Writable } from "node:stream";
import fc from "fast-check";
import { expect, test } from "vitest";
import * as ws from "ws";
import { textFrame } from "../../server/frame.ts";

/** What reads frames in `ws`; its types leave it out. */
const { Receiver } = ws as unknown as { Receiver: new (options: object) => Writable };

function read(frame: Buffer): string[] {
  const texts: string[] = [];
  const receiver = new Receiver({ isServer: false, maxPayload: 0 });
  receiver.on("message", (data: Buffer, isBinary: boolean) => texts.push(isBinary ? "binary" : data.toString()));
  receiver.on("error", (error: Error) => texts.push(error.message));
  receiver.write(frame);
  return texts;
}

test.each([0, 1, 125, 126, 127, 65_535, 65_536, 200_000])("a text of %i bytes", (length) => {
  const text = "x".repeat(length);
  expect(read(textFrame(text))).toEqual([text]);
});

test("any text, whatever it takes in UTF-8", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 300 }), (text) => {
      expect(read(textFrame(text))).toEqual([text]);
    }),
  );
});
