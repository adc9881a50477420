/** Disconnects of clients are logged as such, and not as internal errors. */
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { exportEvents } from "@gatehouse/contract/operations/events.operations";
import { finish } from "@gatehouse/policy/work";
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { createLog } from "../platform/log.ts";
import type { Outcome } from "../platform/outcome.ts";
import { TestClock } from "../testing/test-clock.ts";
import { until } from "../testing/until.ts";
import { observeRequests } from "./observation.ts";
import { replyWithProblem } from "./problem.ts";
import { replyWithOutcome } from "./replies.ts";
import { UnsentBytes } from "./unsent-bytes.ts";
import { limitUnsentBytes } from "./unsent-of-callers.ts";

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly status?: number;
  readonly aborted?: boolean;
}

type Version = "HTTP/1.1" | "HTTP/2";

/** A server whose responses wait until the test releases them. */
async function start(version: Version, outcome: Outcome) {
  const logged: Line[] = [];
  const waiting: (() => void)[] = [];
  const unsent = new UnsentBytes(new TestClock());
  let failures = 0;
  const app = fastify({
    http2: version === "HTTP/2",
    loggerInstance: createLog("warn", { write: (line) => logged.push(JSON.parse(line)) }) as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
  } as object) as unknown as FastifyInstance; // the types differ for HTTP/2
  limitUnsentBytes(app, unsent);
  observeRequests(app, { log: createLog("info", { write: (line) => logged.push(JSON.parse(line)) }) });
  app.setErrorHandler((error, request, reply) => {
    replyWithProblem(error, request, reply);
    failures += 1;
  });
  app.all("/", async (_request, reply) => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    return replyWithOutcome(exportEvents, outcome, reply, async (work) => finish(work));
  });
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => app.close());
  return { url, logged, waiting, release: () => waiting.shift()?.(), failures: () => failures, unsent };
}

/** Sends a request with a body. Returns the function that disconnects, and whether the response has begun. */
function send(version: Version, url: string): { readonly disconnect: () => void; readonly hasBegun: () => boolean } {
  let begun = false;
  const begin = () => {
    begun = true;
  };
  if (version === "HTTP/2") {
    const session = connectHttp2(url).on("error", () => undefined);
    const stream = session.request({ ":path": "/", ":method": "POST", "content-type": "application/json" });
    stream.on("error", () => undefined).once("data", begin);
    stream.end("{}");
    return { disconnect: () => session.destroy(), hasBegun: () => begun };
  }
  const socket = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => undefined);
  socket.once("data", begin);
  socket.write("POST / HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}");
  return { disconnect: () => socket.destroy(), hasBegun: () => begun };
}

async function* endless() {
  for (;;) yield "x".repeat(10_000);
}
const streamed = { kind: "stream", mediaType: "text/csv", fileName: "a", stallMs: 10_000, chunks: endless } as const;
const large = { kind: "record", body: "x".repeat(1_000_000) } as const;

const versions = ["HTTP/1.1", "HTTP/2"] as const;

test.each(versions)("a disconnect before the response is logged with the status 499 over %s", async (version) => {
  const { url, logged, waiting } = await start(version, streamed);
  const { disconnect } = send(version, url);
  await until("the request has begun", () => waiting.length === 1);
  disconnect();
  await until("the request is logged", () => logged.length > 0);
  expect(logged).toMatchObject([{ msg: "request", status: 499, aborted: true }]);
});

test.each(versions)("a disconnect in the middle of the response is logged over %s", async (version) => {
  const { url, logged, waiting, release } = await start(version, streamed);
  const { disconnect, hasBegun } = send(version, url);
  await until("the request has begun", () => waiting.length === 1);
  release();
  await until("the response has begun", hasBegun);
  disconnect();
  await until("the request is logged", () => logged.length > 0);
  expect(logged).toMatchObject([{ msg: "request", status: 200, aborted: true }]);
});

// Node.js reports a request as aborted only if its body was not read.
test.each([
  ["a stream", streamed],
  ["a large record", large],
])(
  "clients that disconnect after their bodies were read, and would get %s, cause no server error",
  async (_, outcome) => {
    const { url, logged, waiting, release, failures, unsent } = await start("HTTP/1.1", outcome);
    const clients = Array.from({ length: 8 }, () => send("HTTP/1.1", url));
    await until("the requests have begun", () => waiting.length === clients.length);
    for (const { disconnect } of clients) disconnect();
    await until("the requests are logged", () => logged.length === clients.length);
    for (const _client of clients) release();
    await until("the responses have failed", () => failures() === clients.length);
    expect(logged.map(({ msg, status }) => [msg, status])).toEqual(clients.map(() => ["request", 499]));
    expect(unsent.bytes()).toBe(0);
  },
);
