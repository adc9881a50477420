import { expect, test } from "vitest";
import { GatewayPings } from "./gateway-pings.ts";

test("measures each gateway at most once in five seconds, and a bounded number of them", async () => {
  const asked: string[] = [];
  let now = 0;
  const pings = new GatewayPings(
    async (address) => {
      asked.push(address);
      return address === "100.64.255.2" ? undefined : 3.5;
    },
    () => now,
  );
  const both = ["100.64.255.1", "100.64.255.2"];
  const expected = new Map([
    ["100.64.255.1", 3.5],
    ["100.64.255.2", undefined],
  ]);
  expect(await pings.of(both)).toEqual(expected);
  now = 4_999;
  expect(await pings.of(both)).toEqual(expected);
  expect(asked).toEqual(both);
  now = 5_000;
  await Promise.all([pings.of(both), pings.of(both)]);
  expect(asked).toHaveLength(4);
  await pings.of(Array.from({ length: 100 }, (_, index) => `100.64.200.${index}`));
  expect(asked).toHaveLength(4 + 32);
});
