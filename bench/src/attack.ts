import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

export interface AttackLoad {
  readonly url: string;
  readonly method: "GET" | "POST";
  readonly headers: Readonly<Record<string, string>>;
  /** Each request replaces `[<id>]` with a different number of six digits. */
  readonly body?: string | undefined;
  readonly connections: number;
}

export interface AttackResult {
  /** Statuses and their numbers. */
  readonly answers: readonly (readonly [status: number, count: number])[];
  /** Processor time of the process that sent the requests, in seconds. */
  readonly processorSeconds: number;
}

export interface RunningAttack {
  /** Waits for the requests in progress. */
  stop(): Promise<AttackResult>;
}

const attackProcess = fileURLToPath(new URL("./attack-process.js", import.meta.url));

/** Sends requests in a separate process until it is stopped. */
export function startAttack(load: AttackLoad): RunningAttack {
  const child = spawn(process.execPath, [attackProcess], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.write(`${JSON.stringify(load)}\n`);
  const output = text(child.stdout);
  return {
    async stop() {
      child.stdin.end();
      return JSON.parse(await output) as AttackResult; // as attack-process.ts writes it
    },
  };
}
