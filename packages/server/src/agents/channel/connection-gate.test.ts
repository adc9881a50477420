import { expect, test } from "vitest";
import { systemClock } from "../../platform/clock.ts";
import { createLog } from "../../platform/log.ts";
import { ConnectionGate } from "./connection-gate.ts";

function doorFor(limits: { readonly connections: number; readonly lookUps: number; readonly waitingLookUps: number }) {
  let joined = 0;
  const door = new ConnectionGate(
    { clock: systemClock, log: createLog("silent"), limits },
    {
      joined: () => joined,
      join: async () => undefined,
      said: () => undefined,
      left: () => undefined,
      describe: () => ({}),
    },
  );
  const join = () => {
    joined += 1;
  };
  return { door, join };
}

test("looks up a few tokens at a time, in the order in which they came", async () => {
  const { door } = doorFor({ connections: 10, lookUps: 2, waitingLookUps: 1 });
  const asked: string[] = [];
  const finish: (() => void)[] = [];
  const lookUp = (name: string) =>
    door.admit(async () => {
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
  ["all places were taken", ({ join }: ReturnType<typeof doorFor>) => join()],
  ["the server ended", ({ door }: ReturnType<typeof doorFor>) => door.close()],
])("whoever waited until %s is sent away", async (_, happen) => {
  const made = doorFor({ connections: 1, lookUps: 1, waitingLookUps: 10 });
  const { door } = made;
  let finish: (() => void) | undefined;
  const first = door.admit(
    () =>
      new Promise<void>((resolve) => {
        finish = resolve;
      }),
  );
  const waiting = [door.admit(async () => "second"), door.admit(async () => "third")];
  happen(made);
  finish?.();
  await first;
  for (const attempt of waiting) await expect(attempt).rejects.toMatchObject({ code: "too_many_links" });
});
