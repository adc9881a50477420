import { expect, test } from "vitest";
import { systemClock } from "../../platform/clock.ts";
import { createLog } from "../../platform/log.ts";
import { ConnectionGate } from "./connection-gate.ts";

function gateFor(limits: { readonly connections: number; readonly lookUps: number; readonly waitingLookUps: number }) {
  let joined = 0;
  const gate = new ConnectionGate(
    { clock: systemClock, log: createLog("silent"), limits },
    {
      joined: () => joined,
      join: async () => undefined,
      received: () => undefined,
      newChallenge: () => {
        throw new Error("no agent says hello");
      },
      left: () => undefined,
      logFields: () => ({}),
    },
  );
  const join = () => {
    joined += 1;
  };
  return { gate, join };
}

test("looks up a few tokens at a time, in the order in which they arrive", async () => {
  const { gate } = gateFor({ connections: 10, lookUps: 2, waitingLookUps: 1 });
  const asked: string[] = [];
  const finish: (() => void)[] = [];
  const lookUp = (name: string) =>
    gate.admit(async () => {
      asked.push(name);
      await new Promise<void>((resolve) => finish.push(resolve));
      return name;
    });
  const all = [lookUp("one"), lookUp("two"), lookUp("three")];
  await expect(lookUp("four")).rejects.toMatchObject({ code: "too_many_links" });
  expect(asked).toEqual(["one", "two"]);
  finish[0]?.();
  await expect(all[0]).resolves.toBe("one");
  expect(asked).toEqual(["one", "two", "three"]);
  for (const done of finish) done();
  await expect(Promise.all(all)).resolves.toEqual(["one", "two", "three"]);
});

test.each([
  ["the last place is taken", ({ join }: ReturnType<typeof gateFor>) => join()],
  ["the server closes", ({ gate }: ReturnType<typeof gateFor>) => gate.close()],
])("a look-up that waits until %s is refused", async (_, happen) => {
  const made = gateFor({ connections: 1, lookUps: 1, waitingLookUps: 10 });
  const { gate } = made;
  let finish: (() => void) | undefined;
  const first = gate.admit(
    () =>
      new Promise<void>((resolve) => {
        finish = resolve;
      }),
  );
  const waiting = [gate.admit(async () => "second"), gate.admit(async () => "third")];
  happen(made);
  finish?.();
  await first;
  for (const attempt of waiting) await expect(attempt).rejects.toMatchObject({ code: "too_many_links" });
});
