import { describe, expect, test } from "vitest";
import { byteLength, deliveryOf } from "../../../clients/typescript/connection/call.ts";

describe("after a lost socket", () => {
  test.each(["rpc.discover", "env/list", "env/tasks", "env/observe", "env/close", "session/attach"])(
    "%s is sent again",
    (method) => expect(deliveryOf(method, {})).toBe("read"),
  );

  test.each(["env/reset", "env/step", "env/restore"])(
    "%s is sent again with its seq, and never without one",
    (method) => {
      expect(deliveryOf(method, { seq: 0 })).toBe("seq");
      expect(deliveryOf(method, {})).toBe("once");
      expect(deliveryOf(method, { seq: undefined })).toBe("once");
    },
  );

  test.each(["env/make", "env/fork", "env/snapshot", "some/day", "constructor"])("%s is not sent again", (method) => {
    expect(deliveryOf(method, { seq: 0 })).toBe("once");
  });
});

test.each(["", "abc", "é", "€uro", "😀", "\u0800\u07ff", 'a"b\n'])("bytes of %j", (text) => {
  const json = JSON.stringify(text);
  expect(byteLength(json)).toBe(Buffer.byteLength(json));
});
