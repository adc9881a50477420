import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

export interface Load {
  readonly url: string;
  /** Paths that are requested in turn, instead of the URL's own. */
  readonly paths?: readonly string[];
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  /** Each request replaces `[<id>]` in the body with a different value. */
  readonly body?: string;
  /** Sent in turn, in place of `body`. */
  readonly bodies?: readonly string[];
  /** Sent in turn, instead of the URL's own path. */
  readonly requests?: readonly LoadRequest[];
  readonly connections: number;
  /** The most requests of a connection per second; without a limit, each follows the previous response. */
  readonly connectionRate?: number;
  readonly seconds: number;
}

export interface LoadRequest {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly body?: string;
}

export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  /** Latencies in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  readonly failures: number;
  /** Processor time of the process that sent the requests, in seconds. */
  readonly processorSeconds: number;
}

const loadProcess = fileURLToPath(new URL("./load-process.js", import.meta.url));

/** Runs a load in a separate process. */
export async function run(load: Load): Promise<LoadResult> {
  const child = spawn(process.execPath, [loadProcess], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(JSON.stringify(load));
  return JSON.parse(await text(child.stdout)) as LoadResult; // as load-process.ts writes it
}
