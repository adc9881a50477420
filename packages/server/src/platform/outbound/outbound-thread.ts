import { Worker } from "node:worker_threads";
import type { Log } from "../log.ts";
import { BodySpace, maxBodyBytes } from "./body-space.ts";
import type { Exchange, ExchangeRequest, ExchangeResult } from "./exchange.ts";
import type { FromThread, ToThread } from "./request-thread.ts";

/** Node.js cannot load the sources, from which the tests run. */
const program = import.meta.url.endsWith(".ts")
  ? new URL("../../testing/request-thread-from-source.mjs", import.meta.url)
  : new URL("./request-thread.js", import.meta.url);
/** A thread without requests ends after this time, in milliseconds. */
const defaultIdleMs = 5 * 60_000;
/** The interval of checks whether the thread answers, in milliseconds. */
const defaultCheckMs = 5_000;
/** A thread that does not answer this many checks in succession is replaced. A slow handshake takes half a second. */
const maxUnanswered = 4;
/**
 * Enough for thousands of requests. Bodies and the contents of responses are outside the heap, and limited. A message
 * that does not fit into the heap would end the whole process, not only the thread.
 */
const resourceLimits = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 4 };
const interrupted: ExchangeResult = {
  kind: "failed",
  problem: "the request was interrupted by a failure in Gatehouse",
};
const tooLarge: ExchangeResult = {
  kind: "failed",
  problem: `the request is larger than ${maxBodyBytes / 1024 / 1024} MiB`,
};
const noSpace: ExchangeResult = {
  kind: "postponed",
  problem: "the request was not sent, because other large requests took too long",
};

export interface OutboundThreadOptions {
  readonly log: Pick<Log, "error">;
  readonly idleMs?: number;
  readonly checkMs?: number;
  /** Another program, for tests. */
  readonly program?: URL;
}

interface RunningThread {
  readonly worker: Worker;
  /** The requests without a result. */
  readonly waiting: Map<number, (result: ExchangeResult) => void>;
  readonly checks: NodeJS.Timeout;
  unanswered: number;
  idle: NodeJS.Timeout | undefined;
}

/**
 * Performs requests to targets of tenants in one thread. OpenSSL verifies certificates synchronously: a hostile target
 * can block the event loop of the thread, but not that of the server. The thread starts with the first request, and
 * ends when it has had none for some time.
 */
export class OutboundThread {
  readonly #options: OutboundThreadOptions;
  readonly #space = new BodySpace();
  #running: RunningThread | undefined;
  #isClosed = false;
  #lastId = 0;

  constructor(options: OutboundThreadOptions) {
    this.#options = options;
  }

  readonly exchange: Exchange = async (request, signal) => {
    const { tenantId, body: text = "", timeoutMs } = request;
    const body = { tenantId, bytes: Buffer.byteLength(text) };
    if (body.bytes > maxBodyBytes) return tooLarge;
    const entered = await this.#space.enter(body, timeoutMs, signal);
    if (!entered) return signal.aborted ? { kind: "aborted" } : noSpace;
    try {
      return await this.#send(request, signal);
    } catch (error) {
      this.#options.log.error({ reason: reasonOf(error) }, "failed to pass a request to the outbound request thread");
      return interrupted;
    } finally {
      this.#space.leave(body);
    }
  };

  async #send(request: ExchangeRequest, signal: AbortSignal): Promise<ExchangeResult> {
    if (signal.aborted) return { kind: "aborted" };
    if (this.#isClosed) return interrupted;
    const thread = this.#running ?? this.#start();
    // An array with memory of its own, which the thread takes over.
    const body = request.body === undefined ? undefined : new TextEncoder().encode(request.body);
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      const abort = () => post(thread, { type: "abort", id });
      signal.addEventListener("abort", abort);
      thread.waiting.set(id, (result) => {
        signal.removeEventListener("abort", abort);
        resolve(result);
      });
      clearTimeout(thread.idle);
      thread.worker.ref();
      try {
        post(thread, { type: "perform", id, request: { ...request, body } }, body === undefined ? [] : [body.buffer]);
      } catch (error) {
        reject(error);
        this.#settle(thread, id, interrupted);
      }
    });
  }

  /** Ends the thread. Requests without a result fail, and later ones too. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const thread = this.#running;
    if (thread !== undefined) await this.#end(thread);
  }

  #start(): RunningThread {
    const { checkMs = defaultCheckMs, program: chosen = program } = this.#options;
    const worker = new Worker(chosen, { name: "outbound", resourceLimits });
    const checks = setInterval(() => this.#check(thread), checkMs);
    checks.unref();
    const thread: RunningThread = { worker, waiting: new Map(), checks, unanswered: 0, idle: undefined };
    worker.on("message", (message: FromThread) => this.#receive(thread, message));
    worker.on("error", (error: unknown) => this.#fail(thread, reasonOf(error)));
    worker.on("exit", () => this.#fail(thread, "exited"));
    this.#running = thread;
    return thread;
  }

  #receive(thread: RunningThread, message: FromThread): void {
    if (this.#running !== thread) return;
    thread.unanswered = 0;
    if (message.type === "result") this.#settle(thread, message.id, message.result);
  }

  #settle(thread: RunningThread, id: number, result: ExchangeResult): void {
    const settle = thread.waiting.get(id);
    thread.waiting.delete(id);
    settle?.(result);
    if (thread.waiting.size > 0) return;
    thread.worker.unref();
    clearTimeout(thread.idle);
    thread.idle = setTimeout(() => void this.#end(thread), this.#options.idleMs ?? defaultIdleMs);
    thread.idle.unref();
  }

  #check(thread: RunningThread): void {
    if (thread.waiting.size === 0) return;
    if (thread.unanswered >= maxUnanswered) {
      this.#fail(thread, "unresponsive");
      return;
    }
    thread.unanswered += 1;
    post(thread, { type: "check" });
  }

  /** Only the reason is logged: the thread has the secrets of requests. */
  #fail(thread: RunningThread, reason: string): void {
    if (this.#running !== thread) return;
    const requests = thread.waiting.size;
    this.#options.log.error({ reason, requests }, "outbound request thread failed; will restart on the next request");
    void this.#end(thread);
  }

  /** The next request starts another thread. A thread inside a call of OpenSSL ends after that call. */
  async #end(thread: RunningThread): Promise<void> {
    if (this.#running === thread) this.#running = undefined;
    clearInterval(thread.checks);
    clearTimeout(thread.idle);
    for (const settle of thread.waiting.values()) settle(interrupted);
    thread.waiting.clear();
    await thread.worker.terminate();
  }
}

function post({ worker }: RunningThread, message: ToThread, transfer: readonly ArrayBuffer[] = []): void {
  worker.postMessage(message, transfer);
}

/** @param error anything that the thread threw */
function reasonOf(error: unknown): string {
  const { code, name } = Object(error) as Partial<NodeJS.ErrnoException>;
  if (typeof code === "string") return code;
  return name ?? typeof error;
}
