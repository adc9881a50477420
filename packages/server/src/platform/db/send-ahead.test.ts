import { expect, test } from "vitest";
import { sendAhead } from "./send-ahead.ts";

/** An answer that a test gives. */
function answerLater() {
  let give = () => {};
  const answer = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { answer, give };
}

/** Lets all settled promises continue. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test("two statements are sent before the first one is answered", async () => {
  const answers = Array.from({ length: 4 }, answerLater);
  let sentCount = 0;
  const sending = sendAhead(async (sent) => {
    for (const { answer } of answers) {
      sentCount += 1;
      await sent(answer);
    }
  });
  await settled();
  expect(sentCount).toBe(2);
  answers[0]?.give();
  await settled();
  expect(sentCount).toBe(3);
  for (const { give } of answers) give();
  await sending;
  expect(sentCount).toBe(4);
});

test("after an error, no further statement is sent, and the first error is thrown", async () => {
  let sentCount = 0;
  const sending = sendAhead(async (sent) => {
    for (const message of ["first", "aborted", "never"]) {
      sentCount += 1;
      await sent(Promise.reject(new Error(message)));
    }
  });
  await expect(sending).rejects.toThrow("first");
  expect(sentCount).toBe(2);
});

test("an error is thrown after all statements were answered", async () => {
  const { answer, give } = answerLater();
  let isOver = false;
  const sending = sendAhead(async (sent) => {
    await sent(answer);
    throw new Error("cannot prepare");
  }).catch((error: unknown) => {
    isOver = true;
    return error;
  });
  await settled();
  expect(isOver).toBe(false);
  give();
  expect(await sending).toEqual(new Error("cannot prepare"));
});
