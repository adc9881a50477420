import type { ServerResponse } from "node:http";
import { beforeEach, describe, expect, test } from "vitest";
import { TestClock } from "../testing/test-clock.ts";
import { UnsentBytes } from "./unsent-bytes.ts";

const mebibyte = 1_048_576;
const limits = { holderBytes: 4 * mebibyte, totalBytes: 10 * mebibyte };

class FakeResponse {
  writableLength = 0;
  isEnded = false;

  destroy(): void {
    this.isEnded = true;
  }
}

let clock: TestClock;
let unsent: UnsentBytes;

beforeEach(() => {
  clock = new TestClock();
  unsent = new UnsentBytes(clock, limits);
});

/** Counts a response of a tenant. */
function hold(
  name: string,
  mebibytes: number,
  { content = Buffer.alloc(mebibytes * mebibyte), isChange = false } = {},
) {
  const fake = new FakeResponse();
  const response = fake as unknown as ServerResponse; // of HTTP/1.1
  unsent.hold(name, response, content, isChange);
  return { fake, response, content };
}

/** Counts a response of which nothing is read after its first byte was written. */
function holdUnread(name: string, mebibytes: number) {
  const held = hold(name, mebibytes);
  unsent.wrote(held.response, 1);
  held.fake.writableLength = 1;
  return held;
}

const refusal = expect.objectContaining({ code: "rate_limited", retryAfterSeconds: 5 });

describe("the bytes of a holder", () => {
  const shared = Buffer.alloc(3 * mebibyte);
  test.each<readonly [string, () => unknown, number]>([
    ["count until the response is released", () => unsent.release(hold("a", 3).response), 0],
    ["count for each response", () => [hold("a", 2), hold("a", 1)], 3],
    ["count once if responses share them", () => [1, 2, 3].map(() => hold("a", 3, { content: shared })), 3],
    [
      "count while one of the sharing responses is left",
      () => {
        const [first] = [1, 2].map(() => hold("a", 3, { content: shared }));
        if (first !== undefined) unsent.release(first.response);
      },
      3,
    ],
    [
      "are replaced by the compressed content",
      () => {
        const { response } = hold("a", 3);
        unsent.hold("a", response, Buffer.alloc(mebibyte), false);
      },
      1,
    ],
    [
      "are released only once",
      () => {
        const { response } = hold("a", 2);
        hold("a", 1);
        unsent.release(response);
        unsent.release(response);
      },
      1,
    ],
  ])("%s", (_what, act, mebibytes) => {
    act();
    expect([unsent.bytes("a"), unsent.bytes()]).toEqual([mebibytes * mebibyte, mebibytes * mebibyte]);
  });
});

test("content that holders share counts for each of them, and once in total", () => {
  const shared = Buffer.alloc(3 * mebibyte);
  const responses = Array.from({ length: 20 }, (_, index) => hold(`address:${index}`, 3, { content: shared }));
  expect([unsent.bytes("address:19"), unsent.bytes()]).toEqual([shared.length, shared.length]);
  for (const { response, fake } of responses) {
    expect(fake.isEnded).toBe(false);
    unsent.release(response);
  }
  expect(unsent.bytes()).toBe(0);
});

describe("a holder", () => {
  test.each<readonly [string, readonly number[], number, boolean, boolean]>([
    ["with room gets a further response", [1, 2], 1, false, true],
    ["without room is refused", [2, 2], 1, false, false],
    ["with too little room is refused", [3], 2, false, false],
    ["with nothing unread gets content beyond the limit", [], 5, false, true],
    ["without room gets the response to a change", [2, 2], 1, true, true],
  ])("%s", (_what, before, mebibytes, isChange, isAccepted) => {
    for (const size of before) hold("a", size);
    const further = () => hold("a", mebibytes, { isChange });
    if (isAccepted) further();
    else expect(further).toThrowError(refusal);
    expect(unsent.bytes("a")).toBe(
      [...before, isAccepted ? mebibytes : 0].reduce((sum, size) => sum + size, 0) * mebibyte,
    );
    hold("b", 3);
  });

  test("without room is refused before its requests run, and its changes at twice the limit", () => {
    const refused = () => [false, true].map((isChange) => isRefused("a", isChange));
    hold("a", 3);
    expect(refused()).toEqual([false, false]);
    hold("a", 1);
    expect(refused()).toEqual([true, false]);
    for (let count = 0; count < 4; count += 1) hold("a", 1, { isChange: true });
    expect(refused()).toEqual([true, true]);
    expect(isRefused("b", false)).toBe(false);
  });

  test("without room loses the response that has waited the longest, after ten seconds", () => {
    const oldest = holdUnread("a", 2);
    clock.advance(1_000);
    const later = holdUnread("a", 2);
    clock.advance(8_999);
    expect(isRefused("a", false)).toBe(true);
    clock.advance(1);
    expect(isRefused("a", false)).toBe(false);
    expect([oldest.fake.isEnded, later.fake.isEnded]).toEqual([true, false]);
  });
});

function isRefused(name: string, isChange: boolean): boolean {
  try {
    unsent.requireRoom(name, isChange);
    return false;
  } catch (error) {
    expect(error).toEqual(refusal);
    return true;
  }
}

test("beyond the total, the holder with the most loses the response that has waited the longest", () => {
  const waits = hold("a", 2); // for the server
  const oldest = holdUnread("a", 1);
  clock.advance(1);
  const later = holdUnread("a", 1);
  const other = holdUnread("b", 3);
  const last = holdUnread("c", 4);
  expect([waits, oldest, later, other, last].map(({ fake }) => fake.isEnded)).toEqual([
    false,
    true,
    false,
    false,
    false,
  ]);
  expect(unsent.bytes()).toBe(10 * mebibyte);
});

describe("of 3 MiB, a client that reads", () => {
  test.each<readonly [string, readonly number[], boolean]>([
    ["nothing", [0], true],
    ["1 MiB in each minute keeps the response", [1, 1, 1], false],
    ["less than 1 MiB in the first minute", [0.9], true],
    ["less than 1 MiB in a later minute", [1.5, 0.9], true],
    ["a rest of less than 1 MiB keeps the response", [1.5, 1.2, 0.3], false],
    ["not all of the rest", [1.5, 1.2, 0.2], true],
  ])("%s", (_what, readPerMinute, isEnded) => {
    const { fake, response, content } = hold("a", 3);
    clock.advance(120_000); // waits for the server
    unsent.check();
    unsent.wrote(response, content.length);
    fake.writableLength = content.length;
    for (const mebibytes of readPerMinute) {
      expect(fake.isEnded).toBe(false);
      fake.writableLength -= mebibytes * mebibyte;
      clock.advance(59_999);
      unsent.check();
      expect(fake.isEnded).toBe(false);
      clock.advance(1);
      unsent.check();
    }
    expect(fake.isEnded).toBe(isEnded);
    expect(unsent.bytes()).toBe(isEnded ? 0 : content.length);
  });
});
