import { beforeEach, expect, test, vi } from "vitest";
import { FakeEventLoop } from "../../testing/fake-event-loop.ts";
import { TenantPace } from "./tenant-pace.ts";

let loop: FakeEventLoop;
let pace: TenantPace;

beforeEach(() => {
  loop = new FakeEventLoop();
  pace = new TenantPace(loop);
  void pace.turn("neighbour");
});

/** Lets both tenants be active for a while, in which the attacker is charged. */
function attack(ms: number, share = 1): void {
  pace.charge("attacker", ms);
  for (let elapsed = 0; elapsed < 40; elapsed += 20) {
    loop.pass(20, share);
    void pace.turn("neighbour");
  }
}

/** The time that passes until a request may start, in milliseconds. */
async function pauseOf(tenantId: string): Promise<number> {
  const startedAt = loop.now;
  let isOver = false;
  const turn = pace.turn(tenantId);
  if (turn === undefined) return 0;
  void turn.then(() => {
    isOver = true;
  });
  while (!isOver) {
    loop.pass(1);
    await Promise.resolve();
  }
  return loop.now - startedAt;
}

test("a tenant that keeps the replica busy pauses twice the time that it was charged for", async () => {
  attack(120);
  // 20 ms of the debt were covered meanwhile.
  expect(await pauseOf("attacker")).toBe(200);
  expect(await pauseOf("neighbour")).toBe(0);
});

test("a tenant is charged double the time in which an invalid body is read", async () => {
  const read = () => {
    loop.pass(60);
    throw new Error("invalid");
  };
  expect(() => pace.readBody("attacker", read)).toThrow("invalid");
  attack(0);
  // 20 ms of the debt of 120 ms were covered meanwhile.
  expect(await pauseOf("attacker")).toBe(200);
});

test("no pause exceeds a second", async () => {
  attack(60_000);
  expect(await pauseOf("attacker")).toBeLessThanOrEqual(1_000);
});

test("a tenant that is alone does not pause", async () => {
  attack(1_000);
  // The neighbour's last request is too long ago.
  loop.pass(200);
  expect(await pauseOf("attacker")).toBe(0);
});

test("no tenant pauses while the event loop has time left", async () => {
  attack(1_000, 0.5);
  expect(await pauseOf("attacker")).toBe(0);
});

test.each([
  { use: "a short one", ms: 8, share: 0, charged: 8 },
  { use: "one that waits for a disk", ms: 100, share: 0, charged: 10 },
  { use: "one that waits for the event loop", ms: 300, share: 1, charged: 10 },
  { use: "a long one", ms: 300, share: 0, charged: 210 },
  { use: "a long one on a busy event loop", ms: 1_000, share: 0.5, charged: 460 },
])("the use of a connection is charged without its waits: $use", ({ ms, share, charged }) => {
  const charges = vi.spyOn(pace, "charge");
  const endUse = pace.startUse("attacker");
  loop.pass(ms, share);
  endUse(0);
  expect(charges).toHaveBeenCalledWith("attacker", charged);
});

test("pauses on a connection are not charged, nor credited if they overlap the use only partly", () => {
  const charges = vi.spyOn(pace, "charge");
  const ends = [pace.startUse("attacker"), pace.startUse("attacker")];
  loop.pass(10, 0);
  ends[0]?.(6);
  ends[1]?.(2_000);
  expect(charges.mock.calls).toEqual([
    ["attacker", 4],
    ["attacker", 0],
  ]);
});

test("a tenant whose statements wait for another one's evaluations does not pause", async () => {
  for (let elapsed = 0; elapsed < 2_000; elapsed += 20) {
    const uses = Array.from({ length: 4 }, () => pace.startUse("neighbour"));
    loop.pass(20);
    for (const endUse of uses) endUse(0);
    // Searches use most of the event loop.
    pace.charge("attacker", 12);
    void pace.turn("attacker");
    expect(pace.turn("neighbour")).toBeUndefined();
  }
});

test("a tenant with a few slow writes does not pause", async () => {
  for (let elapsed = 0; elapsed < 2_000; elapsed += 100) {
    const endUse = pace.startUse("neighbour");
    loop.pass(100, 0.8);
    endUse(0);
    pace.charge("attacker", 30);
    void pace.turn("attacker");
    expect(pace.turn("neighbour")).toBeUndefined();
  }
});

test("a tenant that holds many connections pauses, although each use is short for a busy event loop", async () => {
  for (let elapsed = 0; elapsed < 3_000; elapsed += 300) {
    const uses = Array.from({ length: 7 }, () => pace.startUse("attacker"));
    for (let part = 0; part < 300; part += 20) {
      loop.pass(20, 0.9);
      void pace.turn("neighbour");
    }
    for (const endUse of uses) endUse(0);
  }
  expect(await pauseOf("attacker")).toBeGreaterThan(0);
});

test("a tenant that uses much less than another one does not pause, however many tenants are idle", async () => {
  for (let index = 0; index < 100; index += 1) {
    void pace.turn(`idle ${index}`);
    pace.charge(`idle ${index}`, 2);
  }
  pace.charge("neighbour", 150);
  attack(400);
  expect(await pauseOf("neighbour")).toBe(0);
  expect(await pauseOf("attacker")).toBeGreaterThan(0);
});

test("small debts do not cause pauses", async () => {
  attack(20);
  expect(await pauseOf("attacker")).toBe(0);
});

test("equal tenants do not pause", async () => {
  void pace.turn("other");
  pace.charge("neighbour", 1_050);
  pace.charge("other", 950);
  loop.pass(40);
  expect(await pauseOf("neighbour")).toBe(0);
  expect(await pauseOf("other")).toBe(0);
});

test("requests that arrive together start one after the other", () => {
  attack(120);
  const starts: string[] = [];
  for (const name of ["first", "second"]) void pace.turn("attacker")?.then(() => starts.push(name));
  loop.pass(200);
  return Promise.resolve().then(() => {
    expect(starts).toEqual(["first"]);
  });
});

test("a debt decreases over time, and idle tenants are forgotten", async () => {
  attack(400);
  loop.pass(1_000);
  void pace.turn("neighbour");
  expect(await pauseOf("attacker")).toBe(0);
});

/** The client of a request that stays until the response. */
const present = new AbortController().signal;

/** Long requests that a test starts and ends. */
class LongRequests {
  readonly started: string[] = [];
  readonly #ends = new Map<string, () => void>();

  send(tenantId: string, name: string, disconnected = present): Promise<void> {
    return pace.longTurn(tenantId, disconnected, () => {
      this.started.push(name);
      return new Promise((resolve) => this.#ends.set(name, resolve));
    });
  }

  /** The number of requests that have started and not ended. */
  get running(): number {
    return this.#ends.size;
  }

  async end(name: string): Promise<void> {
    this.#ends.get(name)?.();
    this.#ends.delete(name);
    await settled();
  }
}

/** Waits until the callbacks of all resolved promises have run. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test("long requests of a tenant run one at a time while others are active", async () => {
  const requests = new LongRequests();
  attack(0);
  const answers = ["first", "second", "third"].map((name) => requests.send("attacker", name));
  void requests.send("neighbour", "neighbour's");
  await settled();
  expect(requests.started).toEqual(["first", "neighbour's"]);
  await requests.end("first");
  expect(requests.started).toEqual(["first", "neighbour's", "second"]);
  await requests.end("second");
  await requests.end("third");
  await Promise.all(answers);
});

test("a long request pauses for the time that the previous one was charged", async () => {
  const requests = new LongRequests();
  attack(0);
  void requests.send("attacker", "first");
  void requests.send("attacker", "second");
  await settled();
  pace.charge("attacker", 100);
  await requests.end("first");
  expect(requests.started).toEqual(["first"]);
  loop.pass(200);
  await settled();
  expect(requests.started).toEqual(["first", "second"]);
});

test("long requests of a tenant that is alone run concurrently", async () => {
  const requests = new LongRequests();
  loop.pass(200);
  for (const name of ["first", "second"]) void requests.send("attacker", name);
  await settled();
  expect(requests.started).toEqual(["first", "second"]);
});

test("a tenant is active while its long requests run", async () => {
  const requests = new LongRequests();
  void requests.send("neighbour", "neighbour's");
  loop.pass(200);
  for (const name of ["first", "second"]) void requests.send("attacker", name);
  await settled();
  expect(requests.started).toEqual(["neighbour's", "first"]);
});

test("long requests that started while the tenant was alone start no others until all have ended", async () => {
  const requests = new LongRequests();
  loop.pass(200);
  for (let count = 0; count < 8; count += 1) void requests.send("attacker", `${count}`);
  await settled();
  expect(requests.running).toBe(8);
  for (let count = 0; count < 8; count += 1) {
    void pace.turn("neighbour");
    loop.pass(20);
    void requests.send("attacker", `${8 + count}`);
    await requests.end(`${count}`);
    expect(requests.running).toBe(Math.max(1, 7 - count));
  }
  await requests.end("8");
  expect(requests.started.at(-1)).toBe("9");
  expect(requests.running).toBe(1);
});

test("waiting long requests start before later ones once the tenant is alone", async () => {
  const requests = new LongRequests();
  attack(0);
  for (const name of ["first", "second", "third"]) void requests.send("attacker", name);
  loop.pass(200);
  void requests.send("attacker", "fourth");
  await settled();
  expect(requests.started).toEqual(["first", "second"]);
  await requests.end("first");
  void requests.send("attacker", "fifth");
  await settled();
  expect(requests.started).toEqual(["first", "second", "third", "fourth"]);
});

test("a waiting long request whose client disconnected does not start", async () => {
  const requests = new LongRequests();
  const client = new AbortController();
  attack(0);
  void requests.send("attacker", "first");
  const refused = expect(requests.send("attacker", "second", client.signal)).rejects.toThrow("gone");
  void requests.send("attacker", "third");
  client.abort(new Error("gone"));
  await refused;
  await requests.end("first");
  expect(requests.started).toEqual(["first", "third"]);
});

test("a long request whose client disconnects during its pause does not start", async () => {
  const requests = new LongRequests();
  const client = new AbortController();
  attack(120);
  const refused = expect(requests.send("attacker", "first", client.signal)).rejects.toThrow("gone");
  await settled();
  client.abort(new Error("gone"));
  void requests.send("attacker", "second");
  for (let elapsed = 0; elapsed < 1_000; elapsed += 20) {
    void pace.turn("neighbour");
    loop.pass(20);
    await settled();
  }
  await refused;
  expect(requests.started).toEqual(["second"]);
});

test("a long request whose client has already disconnected does not wait", async () => {
  const requests = new LongRequests();
  const disconnected = AbortSignal.abort(new Error("gone"));
  await expect(requests.send("attacker", "first", disconnected)).rejects.toThrow("gone");
  expect(requests.started).toEqual([]);
});

test("a long request that fails ends its turn", async () => {
  const requests = new LongRequests();
  attack(0);
  await expect(pace.longTurn("attacker", present, () => Promise.reject(new Error("failed")))).rejects.toThrow("failed");
  void requests.send("attacker", "next");
  await settled();
  expect(requests.started).toEqual(["next"]);
});

test("a tenant with too many waiting long requests is refused", async () => {
  const requests = new LongRequests();
  attack(0);
  for (let count = 0; count < 21; count += 1) void requests.send("attacker", `${count}`);
  await expect(requests.send("attacker", "another")).rejects.toThrow("20 requests of this tenant");
  void requests.send("neighbour", "neighbour's");
  await settled();
  expect(requests.started).toEqual(["0", "neighbour's"]);
});

test("long requests that are being received take room in the queue until they join it or end", async () => {
  const requests = new LongRequests();
  attack(0);
  for (let count = 0; count < 20; count += 1) void requests.send("attacker", `${count}`);
  const release = pace.reserve("attacker");
  expect(() => pace.reserve("attacker")).toThrow("20 requests of this tenant");
  release();
  release();
  pace.reserve("attacker");
  await expect(requests.send("attacker", "another")).rejects.toMatchObject({ code: "rate_limited" });
  pace.reserve("neighbour");
});

test("requests of an operation are long for ten seconds after a large answer", () => {
  expect(pace.mayAnswerLargely("attacker", "listGroups")).toBe(false);
  pace.answeredLargely("attacker", "listGroups");
  pace.charge("attacker", 60_000);
  expect(pace.mayAnswerLargely("attacker", "listGroups")).toBe(true);
  expect(pace.mayAnswerLargely("attacker", "readGroup")).toBe(false);
  expect(pace.mayAnswerLargely("neighbour", "listGroups")).toBe(false);
  loop.pass(10_000);
  expect(pace.mayAnswerLargely("attacker", "listGroups")).toBe(false);
});
