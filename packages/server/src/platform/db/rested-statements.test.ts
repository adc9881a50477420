import { beforeEach, expect, test } from "vitest";
import { RestedStatements } from "./rested-statements.ts";

/** Rests that a test ends. */
class HeldRests {
  areDue = true;
  readonly restedMs = 0;
  count = 0;
  #end: (() => void) | undefined;

  after(): Promise<void> {
    this.count += 1;
    return new Promise((resolve) => {
      this.#end = resolve;
    });
  }

  async end(): Promise<void> {
    this.#end?.();
    await settled();
  }
}

let rests: HeldRests;
let statements: RestedStatements;
let sent: string[];

beforeEach(() => {
  rests = new HeldRests();
  statements = new RestedStatements(rests);
  sent = [];
});

function send(name: string, answer: Promise<unknown> = Promise.resolve()): Promise<string> {
  return statements.send(async () => {
    sent.push(name);
    await answer;
    return name;
  });
}

/** Waits until the callbacks of all resolved promises have run. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test("each statement waits for the answer of the previous one and for the rest after it", async () => {
  let answer: (() => void) | undefined;
  const first = send("first", new Promise<void>((resolve) => (answer = resolve)));
  const second = send("second");
  await settled();
  expect(sent).toEqual(["first"]);
  answer?.();
  // The answer does not wait for the rest.
  expect(await first).toBe("first");
  expect(sent).toEqual(["first"]);
  await rests.end();
  expect(await second).toBe("second");
});

test("statements are sent at once while no rest is due, in the order of all statements", async () => {
  rests.areDue = false;
  void send("first");
  void send("second");
  expect(sent).toEqual(["first", "second"]);
  rests.areDue = true;
  void send("third");
  await settled();
  rests.areDue = false;
  void send("fourth");
  await settled();
  expect(sent).toEqual(["first", "second", "third"]);
  await rests.end();
  expect(sent).toEqual(["first", "second", "third", "fourth"]);
});

test("the statement after a failed one is sent, as without rests", async () => {
  const failed = expect(send("first", Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  const second = send("second");
  await failed;
  await rests.end();
  expect(await second).toBe("second");
});

test("a statement that waits when the transaction ends is not sent, and no rest follows it", async () => {
  await send("first");
  const second = expect(send("second")).rejects.toThrow("the transaction ended");
  expect(() => statements.requireAllSent()).toThrow("must await its statements");
  statements.close();
  await rests.end();
  await second;
  await settled();
  expect(sent).toEqual(["first"]);
  expect(rests.count).toBe(1);
});
