import { expect, test } from "vitest";
import { longestMessage, longestPart, type Part } from "./frames.ts";
import { framesOf, PartsReader } from "./message-parts.ts";

test("a short message is one frame", () => {
  expect([...framesOf({ type: "welcome" })]).toEqual(['{"type":"welcome"}']);
});

test("a long message is sent in parts and reassembled unchanged", () => {
  const message = { type: "whole", text: "\u{1f600}".repeat(longestPart) };
  const parts = Array.from(framesOf(message), (frame): Part => JSON.parse(frame));
  expect(parts.map(({ index }) => index)).toEqual(parts.map((_, index) => index));
  const reader = new PartsReader();
  const read = parts.map((part) => reader.read(part));
  expect(read.slice(0, -1).every((each) => each === undefined)).toBe(true);
  const last = read.at(-1);
  expect(typeof last === "object" && JSON.parse(last.text)).toEqual(message);
});

test("a part out of order and a message without an end are refused", () => {
  const reader = new PartsReader();
  expect(reader.read({ type: "part", index: 1, isLast: false, text: "" })).toBe("protocol");
  const text = "x".repeat(longestPart);
  const count = longestMessage / longestPart;
  for (let index = 0; index < count; index += 1) {
    expect(reader.read({ type: "part", index, isLast: false, text })).toBeUndefined();
  }
  expect(reader.read({ type: "part", index: count, isLast: true, text: "x" })).toBe("protocol");
});
