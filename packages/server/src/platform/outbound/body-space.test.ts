import { expect, test } from "vitest";
import { waitLimitMs } from "../../../../../test/wait-limit.ts";
import { BodySpace } from "./body-space.ts";

const limits = { small: 1, tenant: 10, total: 20 };
const never = new AbortController().signal;

function start() {
  const space = new BodySpace(limits);
  const entered: string[] = [];
  const enter = (tenantId: string, bytes: number, waitMs = waitLimitMs, signal = never) =>
    space.enter({ tenantId, bytes }, waitMs, signal).then((has) => {
      entered.push(`${tenantId} ${bytes} ${has}`);
      return has;
    });
  const leave = (tenantId: string, bytes: number) => space.leave({ tenantId, bytes });
  return { enter, leave, entered };
}

test("a body of a tenant without space waits, and does not delay other tenants", async () => {
  const { enter, leave, entered } = start();
  await enter("acme", 8);
  const second = enter("acme", 4);
  await enter("umbrella", 10);
  expect(entered).toEqual(["acme 8 true", "umbrella 10 true"]);
  leave("acme", 8);
  expect(await second).toBe(true);
});

test("bodies wait for the total in the order of their arrival", async () => {
  const { enter, leave, entered } = start();
  await Promise.all([enter("a", 10), enter("b", 8)]);
  const large = enter("c", 10);
  const less = enter("d", 2);
  leave("b", 8);
  await Promise.all([large]);
  expect(entered.at(-1)).toBe("c 10 true");
  leave("a", 10);
  await less;
});

test("small bodies never wait", async () => {
  const { enter, leave } = start();
  await Promise.all([enter("a", 10), enter("b", 10)]);
  expect(await enter("a", 1)).toBe(true);
  leave("a", 1);
  const waits = enter("c", 2);
  leave("a", 10);
  expect(await waits).toBe(true);
});

test("waiting ends after its time and with its signal, and the next body gets its turn", async () => {
  const { enter } = start();
  await Promise.all([enter("a", 10), enter("b", 8)]);
  const controller = new AbortController();
  const aborted = enter("c", 10, waitLimitMs, controller.signal);
  const next = enter("d", 2);
  controller.abort();
  expect(await aborted).toBe(false);
  expect(await next).toBe(true);
  expect(await enter("a", 2, 1)).toBe(false);
  expect(await enter("a", 2, 1, controller.signal)).toBe(false);
});
