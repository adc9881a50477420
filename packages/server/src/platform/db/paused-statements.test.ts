import { beforeEach, expect, test } from "vitest";
import { PausedStatements } from "./paused-statements.ts";

/** Pauses that a test ends. */
class HeldPauses {
  areDue = true;
  readonly pausedMs = 0;
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

let pauses: HeldPauses;
let statements: PausedStatements;
let sent: string[];

beforeEach(() => {
  pauses = new HeldPauses();
  statements = new PausedStatements(pauses);
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

test("each statement waits for the answer of the previous one and for the pause after it", async () => {
  let answer: (() => void) | undefined;
  const first = send("first", new Promise<void>((resolve) => (answer = resolve)));
  const second = send("second");
  await settled();
  expect(sent).toEqual(["first"]);
  answer?.();
  // The answer does not wait for the pause.
  expect(await first).toBe("first");
  expect(sent).toEqual(["first"]);
  await pauses.end();
  expect(await second).toBe("second");
});

test("statements are sent at once while no pause is due, in the order of all statements", async () => {
  pauses.areDue = false;
  void send("first");
  void send("second");
  expect(sent).toEqual(["first", "second"]);
  pauses.areDue = true;
  void send("third");
  await settled();
  pauses.areDue = false;
  void send("fourth");
  await settled();
  expect(sent).toEqual(["first", "second", "third"]);
  await pauses.end();
  expect(sent).toEqual(["first", "second", "third", "fourth"]);
});

test("the statement after a failed one is sent, as without pauses", async () => {
  const failed = expect(send("first", Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  const second = send("second");
  await failed;
  await pauses.end();
  expect(await second).toBe("second");
});

test("a statement that waits when the transaction ends is not sent, and no pause follows it", async () => {
  await send("first");
  const second = expect(send("second")).rejects.toThrow("the transaction ended");
  expect(() => statements.requireAllSent()).toThrow("must await its statements");
  statements.close();
  await pauses.end();
  await second;
  await settled();
  expect(sent).toEqual(["first"]);
  expect(pauses.count).toBe(1);
});
