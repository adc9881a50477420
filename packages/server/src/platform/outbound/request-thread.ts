/** The program of the thread that performs requests to targets of tenants (outbound-thread.ts starts it). */
import { parentPort } from "node:worker_threads";
import type { ExchangeResult, PassedRequest } from "./exchange.ts";
import { performExchange } from "./perform-exchange.ts";

/** A message to the thread. It answers every check, and every request with its result. */
export type ToThread =
  | { readonly type: "check" }
  | { readonly type: "perform"; readonly id: number; readonly request: PassedRequest }
  | { readonly type: "abort"; readonly id: number };
export type FromThread =
  | { readonly type: "alive" }
  | { readonly type: "result"; readonly id: number; readonly result: ExchangeResult };

const running = new Map<number, AbortController>();

function send(message: FromThread): void {
  parentPort?.postMessage(message);
}

async function perform(id: number, request: PassedRequest): Promise<void> {
  const controller = new AbortController();
  running.set(id, controller);
  const result = await performExchange(request, controller.signal);
  running.delete(id);
  send({ type: "result", id, result });
}

parentPort?.on("message", (message: ToThread) => {
  if (message.type === "check") send({ type: "alive" });
  else if (message.type === "perform") void perform(message.id, message.request);
  else running.get(message.id)?.abort();
});
