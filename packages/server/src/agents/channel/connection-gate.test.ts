import type { DeviceMessage } from "@gatehouse/agent-protocol/device/frames";
import { expect, test } from "vitest";
import { systemClock } from "../../platform/clock.ts";
import { createLog } from "../../platform/log.ts";
import { DeviceConnection } from "../devices/device-connection.ts";
import { ConnectionGate, type ConnectionLimits } from "./connection-gate.ts";

const agent = { tenantId: "one" };

function gateFor(limits: Partial<ConnectionLimits>) {
  let joined = 0;
  const gate = new ConnectionGate<DeviceMessage, DeviceConnection>(
    { clock: systemClock, log: createLog("silent"), limits },
    {
      joined: () => joined,
      joinedOf: (tenantId) => (tenantId === "one" ? joined : 0),
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

/** Opens a connection with its own token from the address of all others. Its agent never closes a connection. */
function openAt(gate: ReturnType<typeof gateFor>["gate"], tokenHash: string) {
  const sent: string[] = [];
  const ends = { isTerminated: false };
  const transport = {
    bufferedBytes: 0,
    send: (text: string, done: () => void) => {
      sent.push(text);
      done();
    },
    close: () => undefined,
    terminate: () => {
      ends.isTerminated = true;
    },
  };
  const presented = { tenantId: "one", agentId: tokenHash, tokenHash };
  const receiver = gate.open(new DeviceConnection(presented, transport, "192.0.2.1", 3, systemClock.now().getTime()));
  return { receiver, sent, ends };
}

test("a refused connection is ended at once, and is not counted", () => {
  const { gate } = gateFor({ pendingPerAddress: 2 });
  const [first] = [openAt(gate, "one"), openAt(gate, "two")];
  const refused = ["three", "four", "five"].map((token) => openAt(gate, token));
  for (const { sent, ends } of refused) {
    expect(sent).toEqual([expect.stringContaining("overloaded")]);
    expect(ends.isTerminated).toBe(true);
  }
  expect(gate.size).toBe(2);
  first?.receiver.closed();
  expect(openAt(gate, "six").sent).toEqual([]);
});

test("looks up a few tokens at a time, in the order in which they arrive", async () => {
  const { gate } = gateFor({ connections: 10, lookUps: 2, waitingLookUps: 1 });
  const asked: string[] = [];
  const finish: (() => void)[] = [];
  const lookUp = (name: string) =>
    gate.admit(async () => {
      asked.push(name);
      await new Promise<void>((resolve) => finish.push(resolve));
      return { ...agent, name };
    });
  const all = [lookUp("one"), lookUp("two"), lookUp("three")];
  await expect(lookUp("four")).rejects.toMatchObject({ code: "too_many_links" });
  expect(asked).toEqual(["one", "two"]);
  finish[0]?.();
  await expect(all[0]).resolves.toMatchObject({ name: "one" });
  expect(asked).toEqual(["one", "two", "three"]);
  for (const done of finish) done();
  await expect(Promise.all(all)).resolves.toMatchObject([{ name: "one" }, { name: "two" }, { name: "three" }]);
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
      new Promise<typeof agent>((resolve) => {
        finish = () => resolve(agent);
      }),
  );
  const waiting = [gate.admit(async () => agent), gate.admit(async () => agent)];
  happen(made);
  finish?.();
  await first;
  for (const attempt of waiting) await expect(attempt).rejects.toMatchObject({ code: "too_many_links" });
});

test("a tenant with all its connections is refused, and others are not", async () => {
  const { gate, join } = gateFor({ connections: 10, connectionsPerTenant: 2 });
  join();
  await expect(gate.admit(async () => agent)).resolves.toBe(agent);
  join();
  await expect(gate.admit(async () => agent)).rejects.toMatchObject({ code: "too_many_links" });
  const other = { tenantId: "another" };
  await expect(gate.admit(async () => other)).resolves.toBe(other);
});
