/** What the generated tests need to know of an operation beside its declaration: how to call it so that it succeeds. */
import type { ErrorCode } from "@gatehouse/contract/errors";
import type { Operation } from "@gatehouse/contract/operation";
import type { TestClient, TestServer, TestTenant } from "../test-server.ts";
import type { RecordNoun } from "./test-records.ts";

/** Who takes part in a test. */
export interface Actors {
  readonly tenant: TestTenant;
  readonly operator: TestClient;
}

/** Path parameters, query and body of a request. */
export interface OperationRequest {
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  /** What the query has to say for the request to succeed. */
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
}

/** A field of a body that holds the id of another record. */
export interface BodyReference {
  /** JSON Pointer, with `*` in place of an index: `/groups/*`. */
  readonly field: string;
  /** What the id should be an id of. */
  readonly noun: RecordNoun;
  /** A body that is valid but for the id in the field. */
  readonly body: (id: string) => unknown;
  /** What an unknown id is answered with, `unknown_reference` where absent. */
  readonly code?: ErrorCode;
}

export interface OperationCase {
  readonly operation: Operation;
  /** Makes what the operation acts on, and gives a request that succeeds; each time a different one. */
  readonly prepare: (actors: Actors) => Promise<OperationRequest>;
  /** Every field of the body that holds an id. */
  readonly references?: readonly BodyReference[];
  /** A request that the state of things forbids (409), with everything else in order. */
  readonly conflict?: (actors: Actors) => Promise<OperationRequest>;
}

/** For operations that act on nothing and take nothing. */
export const nothing = async (): Promise<Record<never, never>> => ({});

/** The path of a request to an operation. */
export function pathOf(operation: Operation, parameters: Readonly<Record<string, string>> = {}): string {
  return operation.path.replaceAll(/\{(\w+)\}/g, (_brace, name: string) =>
    encodeURIComponent(parameters[name] ?? nilUuid),
  );
}

/** The path and the query of a request to an operation. */
export function targetOf(operation: Operation, { parameters, query }: OperationRequest): string {
  const path = pathOf(operation, parameters);
  return query === undefined ? path : `${path}?${new URLSearchParams(query)}`;
}

/** An id that no record has. */
export const nilUuid = "00000000-0000-0000-0000-000000000000";

/** The client whose key an operation takes. */
export function callerOf(operation: Operation, actors: Actors): TestClient {
  return operation.access === "operator" ? actors.operator : actors.tenant.client;
}

/** A server with two tenants that know nothing of each other. */
export interface TestWorld {
  readonly server: TestServer;
  readonly ours: Actors;
  readonly theirs: Actors;
}

export async function createWorld(server: TestServer): Promise<TestWorld> {
  const actors = async (): Promise<Actors> => ({ tenant: await server.newTenant(), operator: server.operator });
  return { server, ours: await actors(), theirs: await actors() };
}
