import { hash } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import { finish, type Work } from "@gatehouse/policy/work";
import { describe, expect, test } from "vitest";
import { embedJson } from "./embedded-json.ts";
import { type HoldSecret, PreparedAnswer } from "./prepared-answer.ts";

const contentOf = (answer: PreparedAnswer) => JSON.parse(answer.content().toString());

describe("a prepared answer", () => {
  test.each([
    ["no secret", () => ({ name: "Zürich – 東京" })],
    ["a secret at the end", (hold: HoldSecret) => ({ name: "Zürich", token: hold("a", () => "first") })],
    ["a secret that needs escaping", (hold: HoldSecret) => ({ token: hold("a", () => 'quoted "é"\n') })],
    [
      "several secrets, some of them equal",
      (hold: HoldSecret) => ["a", "b", "a", "ü"].map((key) => ({ key, token: hold(key, () => `secret of ${key}`) })),
    ],
  ])("with %s is sent as it was presented", (_, present) => {
    const answer = PreparedAnswer.of((hold) => ({ body: present(hold) }));
    expect(contentOf(answer)).toEqual(present((_key, reveal) => reveal()));
    expect(contentOf(answer)).toEqual(contentOf(answer));
  });

  test("reveals each secret once in a turn of the event loop in which it is sent, and not before", async () => {
    let revealed = 0;
    const reveal = () => `token ${++revealed}`;
    const answer = PreparedAnswer.of((hold) => ({ body: [hold("a", reveal), hold("a", reveal)] }));
    expect(answer.hasSecrets).toBe(true);
    expect(revealed).toBe(0);
    const joined = PreparedAnswer.joined([Buffer.from("["), answer, Buffer.from("]")]);
    expect(contentOf(answer)).toEqual(["token 1", "token 1"]);
    expect(contentOf(joined)).toEqual([["token 1", "token 1"]]);
    await turn();
    expect(contentOf(joined)).toEqual([["token 2", "token 2"]]);
    expect(contentOf(answer)).toEqual(["token 2", "token 2"]);
  });

  test("counts its compressed content once", () => {
    const answer = PreparedAnswer.of(() => ({ body: "x".repeat(10_000) }));
    const before = answer.size;
    let grown = 0;
    answer.grown = () => {
      grown += 1;
    };
    const compressed = Buffer.alloc(500);
    answer.retainEncoded("gzip", compressed);
    answer.retainEncoded("gzip", compressed);
    expect(answer.encoded("gzip")).toBe(compressed);
    expect(answer.encoded("br")).toBeUndefined();
    expect(grown).toBe(1);
    expect(before).toBeGreaterThan(10_000);
    expect(answer.size - before).toBeGreaterThanOrEqual(500);
  });
});

describe("in slices", () => {
  const members = Array.from({ length: 5_000 }, (_, index) => ({ id: index, name: `Zürich 🦊 "${index}"\u2028` }));
  const group = { name: "All", users: members, end: true };
  const presented = (hold: HoldSecret) => ({
    body: { ...group, users: embedJson(JSON.stringify(members)), token: hold("a", () => "token") },
  });

  test("an answer with long embedded JSON has the same bytes as its values", () => {
    const answer = finish(PreparedAnswer.inSlices(presented));
    expect(answer.content().toString()).toBe(JSON.stringify({ ...group, token: "token" }));
    expect(PreparedAnswer.of(presented).content().equals(answer.content())).toBe(true);
  });

  test("copying and hashing let others work after each 64 KiB", () => {
    const making = countSteps(PreparedAnswer.inSlices(() => ({ body: { users: embedJson(JSON.stringify(members)) } })));
    const answer = making.result;
    expect(answer.isLarge).toBe(true);
    expect(making.steps).toBeGreaterThan((2 * answer.length) / 4 / 65_536);
    const hashing = countSteps(answer.hash());
    expect(hashing.result).toBe(hash("sha256", answer.content(), "base64url"));
    expect(hashing.steps).toBe(Math.ceil(answer.length / 65_536));
  });
});

function countSteps<Result>(work: Work<Result>): { readonly result: Result; readonly steps: number } {
  for (let steps = 0; ; steps += 1) {
    const step = work.next();
    if (step.done === true) return { result: step.value, steps };
  }
}
