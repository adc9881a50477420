import type { DeviceMessage } from "@gatehouse/agent-protocol/device/frames";
import { heartbeatTimeoutMs } from "@gatehouse/agent-protocol/link/frames";
import { afterEach, describe, expect, test, vi } from "vitest";
import { Semaphore } from "../../platform/concurrency/semaphore.ts";
import { createLog } from "../../platform/log.ts";
import { TestClock } from "../../testing/test-clock.ts";
import { DeviceConnection } from "../devices/device-connection.ts";
import { ConnectionGate, type ConnectionLimits } from "./connection-gate.ts";

const agent = { tenantId: "one" };
const clock = new TestClock();
const heartbeat = (sequence: number) => JSON.stringify({ type: "heartbeat", sequence, gateways: [] });
const turn = () => new Promise((resolve) => setImmediate(resolve));

interface Seen {
  received(sequence: number): undefined;
  left(): void;
}

function gateFor(limits: Partial<ConnectionLimits>, seen?: Seen) {
  let joined = 0;
  const gate = new ConnectionGate<DeviceMessage, DeviceConnection>(
    { clock, log: createLog("silent"), limits },
    {
      joined: () => joined,
      joinedOf: (tenantId) => (tenantId === "one" ? joined : 0),
      join: async () => undefined,
      received: (_, message) => seen?.received("sequence" in message ? message.sequence : 0),
      newChallenge: () => {
        throw new Error("no agent says hello");
      },
      left: () => seen?.left(),
      logFields: () => ({}),
    },
  );
  const join = () => {
    joined += 1;
  };
  return { gate, join };
}

/** Opens a connection with its own token from the address of all others. Its agent never closes a connection. */
function openAt(gate: ReturnType<typeof gateFor>["gate"], tokenHash: string, tenantId = "one") {
  const sent: string[] = [];
  const ends = { isTerminated: false };
  const transport = {
    bufferedBytes: 0,
    pause: () => undefined,
    resume: () => undefined,
    send: (text: string, done: () => void) => {
      sent.push(text);
      done();
    },
    close: () => undefined,
    terminate: () => {
      ends.isTerminated = true;
    },
  };
  const presented = { tenantId, agentId: tokenHash, tokenHash };
  const connection = new DeviceConnection(presented, transport, "192.0.2.1", 3, clock.elapsedMs());
  return { connection, receiver: gate.open(connection), sent, ends };
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

test("silent links of one tenant do not keep out an agent of another tenant behind the same address", () => {
  const { gate } = gateFor({});
  const silent = Array.from({ length: 64 }, (_, index) => openAt(gate, `own ${index}`, "hostile"));
  const agent = openAt(gate, "agent", "quiet");
  expect(silent[0]?.ends.isTerminated).toBe(true);
  for (let index = 64; index < 200; index += 1) openAt(gate, `own ${index}`, "hostile");
  expect(agent.sent).toEqual([]);
  expect(agent.ends.isTerminated).toBe(false);
  expect(gate.size).toBe(64);
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
  ["the last slot is taken", ({ join }: ReturnType<typeof gateFor>) => join()],
  ["the server closes", ({ gate }: ReturnType<typeof gateFor>) => gate.close()],
])("a lookup that waits until %s is refused", async (_, happen) => {
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

describe("frames that arrive at once and are slow", () => {
  function admitted() {
    let now = 0;
    vi.spyOn(performance, "now").mockImplementation(() => now);
    const seen: (number | "left")[] = [];
    const { gate } = gateFor(
      {},
      {
        received: (sequence) => {
          now += 5;
          seen.push(sequence);
          return undefined;
        },
        left: () => seen.push("left"),
      },
    );
    const open = (tenantId: string) => {
      const reading = { isPaused: false };
      const transport = {
        bufferedBytes: 0,
        pause: () => {
          reading.isPaused = true;
        },
        resume: () => {
          reading.isPaused = false;
        },
        send: () => undefined,
        close: () => undefined,
        terminate: () => undefined,
      };
      const presented = { tenantId, agentId: "agent", tokenHash: tenantId };
      const connection = new DeviceConnection(presented, transport, "192.0.2.1", 3, clock.elapsedMs());
      const receiver = gate.open(connection);
      connection.greeting = { phase: "admitted" };
      return { connection, receiver, reading };
    };
    return { gate, open, seen };
  }
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test("are handled in order, one in a turn of the event loop, and no more are read meanwhile", async () => {
    const { open, seen } = admitted();
    const { receiver, reading } = open("one");
    for (const sequence of [1, 2, 3]) receiver.received(heartbeat(sequence));
    expect(seen).toEqual([1]);
    expect(reading.isPaused).toBe(true);
    await turn();
    expect(seen).toEqual([1, 2]);
    expect(reading.isPaused).toBe(true);
    await turn();
    expect(seen).toEqual([1, 2, 3]);
    expect(reading.isPaused).toBe(false);
  });

  test("of one tenant do not hold up another's", async () => {
    const { open, seen } = admitted();
    for (const sequence of [1, 2, 3]) open("one").receiver.received(heartbeat(sequence));
    open("two").receiver.received(heartbeat(4));
    for (let rounds = 0; rounds < 3; rounds += 1) await turn();
    expect(seen).toEqual([1, 2, 4, 3]);
  });

  test("count if the agent ends the connection meanwhile, and it is not dropped for silence", async () => {
    const { gate, open, seen } = admitted();
    const { connection, receiver } = open("one");
    connection.heardAt = clock.elapsedMs() - heartbeatTimeoutMs - 1;
    receiver.received(heartbeat(1));
    receiver.received(heartbeat(2));
    connection.heardAt = clock.elapsedMs() - heartbeatTimeoutMs - 1;
    gate.dropSilent([connection]);
    receiver.closed();
    expect(seen).toEqual([1]);
    for (let rounds = 0; rounds < 2; rounds += 1) await turn();
    expect(seen).toEqual([1, 2, "left"]);
  });
});

describe("connections that are checked after the replica stood still", () => {
  const transport = () => {
    const frames: { readonly text: string; readonly sent: () => void }[] = [];
    const terminate = vi.fn();
    return {
      frames,
      terminate,
      bufferedBytes: 0,
      pause: () => undefined,
      resume: () => undefined,
      send: (text: string, sent: () => void) => void frames.push({ text, sent }),
      close: () => undefined,
    };
  };
  const connect = () => {
    const link = transport();
    const presented = { tenantId: "one", agentId: "a", tokenHash: "hash" };
    return { link, connection: new DeviceConnection(presented, link, "192.0.2.1", 3, clock.elapsedMs()) };
  };
  const longAgo = () => clock.elapsedMs() - heartbeatTimeoutMs - 1;

  test("are dropped only if nothing arrived from the agent meanwhile", async () => {
    const { gate } = gateFor({});
    const [silent, heard] = [connect(), connect()];
    for (const { connection } of [silent, heard]) connection.heardAt = longAgo();
    gate.dropSilent([silent.connection, heard.connection]);
    // A frame that waited in the socket.
    heard.connection.heardAt = clock.elapsedMs();
    await turn();
    expect(silent.link.terminate).toHaveBeenCalledOnce();
    expect(heard.link.terminate).not.toHaveBeenCalled();
  });

  test("are dropped if a frame stays unread while others wait", async () => {
    const { gate } = gateFor({});
    const unread = new Semaphore(2);
    const all = [connect(), connect(), connect()];
    for (const { connection } of all) {
      connection.unread = unread;
      connection.sendFrames(["first", "second"]);
    }
    const [reading, stuck, waiting] = all.map(({ link }) => link);
    const connections = all.map(({ connection }) => connection);
    // Frames are made when they can be sent.
    expect(all.map(({ link }) => link.frames.length)).toEqual([1, 1, 0]);
    gate.dropUnread(connections, unread);
    clock.advance(10_001);
    gate.dropUnread(connections, unread);
    reading?.frames[0]?.sent();
    await turn();
    expect(all.map(({ link }) => link.terminate.mock.calls.length)).toEqual([0, 1, 0]);
    expect(waiting?.frames.map(({ text }) => text)).toEqual(["first"]);
    expect(reading?.frames.map(({ text }) => text)).toEqual(["first", "second"]);
    stuck?.frames[0]?.sent();
    waiting?.frames[0]?.sent();
    await turn();
    expect(waiting?.frames).toHaveLength(2);
    gate.dropUnread(connections, unread);
    clock.advance(60_000);
    gate.dropUnread(connections, unread);
    await turn();
    // Nobody waits.
    expect(reading?.terminate).not.toHaveBeenCalled();
  });

  test("free their permit when they are ended, and are terminated if the frame stays unread", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const unread = new Semaphore(2);
      const all = [connect(), connect(), connect(), connect()];
      for (const { connection } of all) {
        connection.unread = unread;
        connection.sendFrames(["first"]);
      }
      const [slow, stuck] = all;
      expect(all.map(({ link }) => link.frames.length)).toEqual([1, 1, 0, 0]);
      for (const ended of [slow, stuck]) ended?.connection.end("replaced");
      await turn();
      expect(all.map(({ link }) => link.frames.length)).toEqual([2, 2, 1, 1]);
      slow?.link.frames[0]?.sent();
      vi.advanceTimersByTime(1_000);
      expect(all.map(({ link }) => link.terminate.mock.calls.length)).toEqual([0, 1, 0, 0]);
      // Frames that are read later free no permit twice.
      stuck?.link.frames[0]?.sent();
      expect(unread.isFree).toBe(false);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("after a correction of the wall clock", () => {
  test("links are dropped by the time that has passed", async () => {
    const { gate } = gateFor({});
    const { connection, ends } = openAt(gate, "token");
    clock.correct(3_600_000);
    gate.dropSilent([connection]);
    gate.tick();
    await turn();
    expect(ends.isTerminated).toBe(false);
    clock.correct(-7_200_000);
    clock.advance(heartbeatTimeoutMs + 1);
    gate.dropSilent([connection]);
    await turn();
    expect(ends.isTerminated).toBe(true);
  });

  test("frames are limited by the time that has passed", () => {
    const { gate } = gateFor({});
    const { connection, receiver } = openAt(gate, "token");
    connection.greeting = { phase: "admitted" };
    for (let second = 0; second < 30; second += 1) {
      clock.advance(1_000);
      clock.correct(-1_000);
      for (let frames = 0; frames < 15; frames += 1) receiver.received(heartbeat(frames));
    }
    expect(connection.isClosed).toBe(false);
  });
});
