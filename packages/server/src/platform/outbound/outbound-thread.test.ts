import { createServer } from "node:net";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { waitLimitMs } from "../../../../../test/wait-limit.ts";
import { answering, WebhookReceiver } from "../../testing/webhook-receiver.ts";
import type { ExchangeRequest } from "./exchange.ts";
import { allowedNetworks } from "./outbound-networks.ts";
import { OutboundThread, type OutboundThreadOptions } from "./outbound-thread.ts";

let receiver: WebhookReceiver;
let threads: OutboundThread[];
const error = vi.fn();

beforeEach(async () => {
  receiver = await WebhookReceiver.start();
  threads = [];
  error.mockReset();
});
afterEach(async () => {
  await Promise.all(threads.map((thread) => thread.close()));
  await receiver.close();
});

function start(options: Partial<OutboundThreadOptions> = {}): OutboundThread {
  const thread = new OutboundThread({ log: { error }, ...options });
  threads.push(thread);
  return thread;
}

/** A thread that does this with each message, instead of performing requests. */
function doing(code: string): URL {
  const text = `import { parentPort } from "node:worker_threads"; parentPort.on("message", (message) => { ${code} });`;
  return new URL(`data:text/javascript,${encodeURIComponent(text)}`);
}

function request(more: Partial<ExchangeRequest> = {}): ExchangeRequest {
  return {
    tenantId: "acme",
    url: receiver.url,
    method: "POST",
    headers: { "webhook-id": "1" },
    body: '{"n": "ü"}',
    timeoutMs: waitLimitMs,
    networks: allowedNetworks(["127.0.0.1"]),
    reads: "status",
    ...more,
  };
}

const never = new AbortController().signal;
const interrupted = { kind: "failed", problem: "the request was interrupted by a failure in Gatehouse" };

describe("a request in the thread", () => {
  test("arrives completely, and returns the status", async () => {
    receiver.answer = answering(503, { "retry-after": "7" });
    const result = await start().exchange(request(), never);
    expect(result).toMatchObject({ kind: "answered", statusCode: 503, headers: { "retry-after": "7" } });
    expect(receiver.received).toMatchObject([{ body: '{"n": "ü"}', headers: { "webhook-id": "1" } }]);
  });

  test("returns a document", async () => {
    receiver.answer = (response) => void response.writeHead(200, { "content-type": "application/json" }).end('"ä"');
    const result = await start().exchange(request({ method: "GET", body: undefined, reads: "document" }), never);
    if (result.kind !== "answered") throw new Error(`it is ${result.kind}`);
    expect(Buffer.from(result.content).toString()).toBe('"ä"');
    expect(result.headers["content-type"]).toBe("application/json");
  });

  test("goes only to addresses that are allowed when it connects", async () => {
    expect(await start().exchange(request({ networks: [] }), never)).toEqual({ kind: "no-address" });
    expect(receiver.received).toEqual([]);
  });

  test("ends when its signal is aborted, before and after it has begun", async () => {
    const controller = new AbortController();
    receiver.answer = () => controller.abort();
    const { exchange } = start();
    expect(await exchange(request(), controller.signal)).toEqual({ kind: "aborted" });
    expect(await exchange(request(), controller.signal)).toEqual({ kind: "aborted" });
    expect(receiver.received).toHaveLength(1);
  });
});

describe("large bodies", () => {
  /** A receiver that reads nothing, so that the bodies stay in the thread. */
  async function startSilent(): Promise<{ readonly url: string; readonly close: () => void }> {
    const server = createServer((socket) => socket.pause().on("error", () => undefined));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("it has no port");
    return { url: `http://127.0.0.1:${address.port}/`, close: () => server.close() };
  }
  const megabytes = (count: number, character = "a") => character.repeat((count * 1e6) / Buffer.byteLength(character));

  test("of several tenants do not exceed the heap of the thread", async () => {
    const silent = await startSilent();
    const { exchange } = start();
    await exchange(request({ method: "GET", body: undefined }), never);
    const sent = [20, 20, 30, 30].map((count, index) => {
      const body = megabytes(count, index % 2 === 0 ? "a" : "–");
      return exchange(request({ url: silent.url, tenantId: `tenant ${index}`, body, timeoutMs: 500 }), never);
    });
    const late = { kind: "failed", problem: "no response within 0.5 seconds" };
    expect(await Promise.all(sent)).toEqual([late, late, late, late]);
    expect(error).not.toHaveBeenCalled();
    silent.close();
  });

  test("of one tenant wait for each other, for the time limit of a request", async () => {
    const silent = await startSilent();
    const { exchange } = start();
    const controller = new AbortController();
    const first = exchange(request({ url: silent.url, body: megabytes(20) }), controller.signal);
    expect(await exchange(request({ body: megabytes(20), timeoutMs: 1 }), never)).toEqual({
      kind: "postponed",
      problem: "the request was not sent, because other large requests took too long",
    });
    const next = exchange(request({ body: megabytes(20) }), never);
    controller.abort();
    expect(await first).toEqual({ kind: "aborted" });
    expect(await next).toMatchObject({ kind: "answered" });
    expect(receiver.received).toHaveLength(1);
    silent.close();
  });

  test("over 32 MiB are not sent", async () => {
    const tooLarge = { kind: "failed", problem: "the request is larger than 32 MiB" };
    expect(await start().exchange(request({ body: megabytes(34) }), never)).toEqual(tooLarge);
    expect(receiver.received).toEqual([]);
  });
});

/** Headers that cannot be passed to a thread. */
const functions = { secret: (() => "secret") as unknown as string };

test("a request that cannot be passed to the thread fails, and others do not", async () => {
  const { exchange } = start();
  expect(await exchange(request({ headers: functions }), never)).toEqual(interrupted);
  expect(error).toHaveBeenCalledExactlyOnceWith({ reason: "DataCloneError" }, expect.any(String));
  expect(await exchange(request(), never)).toMatchObject({ kind: "answered" });
});

test("a thread without requests ends, and the next request starts another one", async () => {
  const answer = `parentPort.postMessage({ type: "result", id: message.id, result: { kind: "failed", problem: "n" + (globalThis.n = (globalThis.n ?? 0) + 1) } })`;
  const thread = start({ program: doing(answer), idleMs: 1 });
  expect(await thread.exchange(request(), never)).toMatchObject({ problem: "n1" });
  await expect.poll(() => thread.exchange(request(), never)).toMatchObject({ problem: "n1" });
  expect(error).not.toHaveBeenCalled();
});

describe("a thread that", () => {
  test("dies fails its requests, and the next request starts another one", async () => {
    const thread = start({ program: doing(`throw new Error("secret")`) });
    expect(await thread.exchange(request(), never)).toEqual(interrupted);
    expect(await thread.exchange(request(), never)).toEqual(interrupted);
    expect(error).toHaveBeenCalledTimes(2);
    expect(JSON.stringify(error.mock.calls)).not.toContain("secret");
  });

  test.each(["null", "undefined", "{}", "7"])("throws %s fails its requests", async (thrown) => {
    const thread = start({ program: doing(`throw ${thrown}`) });
    expect(await thread.exchange(request(), never)).toEqual(interrupted);
    expect(error).toHaveBeenCalledExactlyOnceWith({ reason: expect.any(String), requests: 1 }, expect.any(String));
  });

  test("does not answer is replaced", async () => {
    const thread = start({ program: doing("for (;;);"), checkMs: 5 });
    expect(await thread.exchange(request(), never)).toEqual(interrupted);
    expect(error).toHaveBeenCalledWith({ reason: "unresponsive", requests: 1 }, expect.any(String));
  });

  test("does not answer is replaced although other requests cannot be passed to it", async () => {
    const { exchange } = start({ program: doing("for (;;);"), checkMs: 5 });
    const others = setInterval(() => void exchange(request({ headers: functions }), never), 1);
    const result = await exchange(request(), never);
    clearInterval(others);
    expect(result).toEqual(interrupted);
    expect(error).toHaveBeenCalledWith({ reason: "unresponsive", requests: 1 }, expect.any(String));
  });

  test("answers checks keeps its requests, however long they take", async () => {
    const answer = `parentPort.postMessage({ type: "alive" });
      globalThis.checks = (globalThis.checks ?? 0) + 1;
      if (checks === 6) parentPort.postMessage({ type: "result", id: 1, result: { kind: "aborted" } });`;
    const thread = start({ program: doing(answer), checkMs: 200 });
    expect(await thread.exchange(request(), never)).toEqual({ kind: "aborted" });
    expect(error).not.toHaveBeenCalled();
  });

  test("is closed fails its requests, also later ones", async () => {
    const thread = start();
    receiver.answer = () => void thread.close();
    expect(await thread.exchange(request(), never)).toEqual(interrupted);
    expect(await thread.exchange(request(), never)).toEqual(interrupted);
    expect(receiver.received).toHaveLength(1);
    expect(error).not.toHaveBeenCalled();
  });
});
