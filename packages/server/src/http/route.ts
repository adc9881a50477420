/** Ties an operation of the contract to the function that performs it. */
import type { Operation } from "@gatehouse/contract/operation";
import type { Call } from "../platform/call.ts";
import type { Outcome } from "../platform/outcome.ts";

/** What performs an operation. */
export type Handler<O extends Operation> = (call: Call<O>) => Promise<Outcome>;

export interface Route {
  readonly operation: Operation;
  readonly handler: Handler<Operation>;
}

/** One entry of a feature's routes file. */
export function route<O extends Operation>(operation: O, handler: Handler<O>): Route {
  // Mounting hands each handler a call of its own operation, which is what O says.
  return { operation, handler: handler as unknown as Handler<Operation> };
}
