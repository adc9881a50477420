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

  test("does not answer is replaced", async () => {
    const thread = start({ program: doing("for (;;);"), checkMs: 5 });
    expect(await thread.exchange(request(), never)).toEqual(interrupted);
    expect(error).toHaveBeenCalledWith({ reason: "unresponsive", requests: 1 }, expect.any(String));
  });

  test("answers checks keeps its requests, however long they take", async () => {
    const answer = `parentPort.postMessage({ type: "alive" });
      globalThis.checks = (globalThis.checks ?? 0) + 1;
      if (checks === 10) parentPort.postMessage({ type: "result", id: 1, result: { kind: "aborted" } });`;
    const thread = start({ program: doing(answer), checkMs: 50 });
    expect(await thread.exchange(request(), never)).toEqual({ kind: "aborted" });
    expect(error).not.toHaveBeenCalled();
  });

  test("is closed fails its requests", async () => {
    const thread = start();
    receiver.answer = () => void thread.close();
    expect(await thread.exchange(request(), never)).toEqual(interrupted);
    expect(error).not.toHaveBeenCalled();
  });
});
