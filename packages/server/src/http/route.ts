/** Binds an operation of the contract to its handler. */
import type { Operation } from "@gatehouse/contract/operation";
import type { Call } from "../platform/call.ts";
import type { Outcome } from "../platform/outcome.ts";

/** The handler of an operation. */
export type Handler<O extends Operation> = (call: Call<O>) => Promise<Outcome>;

export interface Route {
  readonly operation: Operation;
  readonly handler: Handler<Operation>;
}

/** An entry of a feature's routes file. */
export function route<O extends Operation>(operation: O, handler: Handler<O>): Route {
  // Mounting calls each handler with a call of the same operation, as O states.
  return { operation, handler: handler as unknown as Handler<Operation> };
}
