import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
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
