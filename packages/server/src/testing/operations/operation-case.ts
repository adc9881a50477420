/** Test cases of operations: how to call an operation so that it succeeds. */
import type { ErrorCode } from "@gatehouse/contract/errors";
import type { Operation } from "@gatehouse/contract/operation";
import { activeUser, type PersonHeaders, signInAs } from "../signed-in-person.ts";
import type { TestClient, TestServer, TestTenant } from "../test-server.ts";
import type { RecordNoun } from "./test-records.ts";

/** The actors of a test. */
export interface Actors {
  readonly tenant: TestTenant;
  readonly operator: TestClient;
  /** A person of the tenant without roles. */
  readonly person: TestPerson;
  readonly server: TestServer;
}

/** A person who is signed in. */
export interface TestPerson {
  readonly id: string;
  /** The headers of the person's requests. */
  readonly headers: PersonHeaders;
  readonly client: TestClient;
}

/** Path parameters, query and body of a request. */
export interface OperationRequest {
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  /** Query parameters that the request requires. */
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly body?: unknown;
}

/** A field of a body that contains the id of another record. */
export interface BodyReference {
  /** JSON Pointer, with `*` in place of an index: `/groups/*`. */
  readonly field: string;
  /** The kind of record of the id. */
  readonly noun: RecordNoun;
  /** A body that is valid except for the id in the field. */
  readonly body: (id: string) => unknown;
  /** The error for an unknown id; `unknown_reference` by default. */
  readonly code?: ErrorCode;
}

export interface OperationCase {
  readonly operation: Operation;
  /** Creates the records that the operation needs, and returns a request that succeeds; a different one each time. */
  readonly prepare: (actors: Actors) => Promise<OperationRequest>;
  /** Every field of the body that contains an id. */
  readonly references?: readonly BodyReference[];
  /** A valid request that conflicts with the current state (409). */
  readonly conflict?: (actors: Actors) => Promise<OperationRequest>;
}

/** The request of operations without parameters and body. */
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

/** The client with the key that an operation requires. */
export function callerOf(operation: Operation, actors: Actors): TestClient {
  if (operation.access === "person") return actors.person.client;
  return operation.access === "operator" ? actors.operator : actors.tenant.client;
}

/** A server with two isolated tenants. */
export interface TestWorld {
  readonly server: TestServer;
  readonly ours: Actors;
  readonly theirs: Actors;
}

export async function createWorld(server: TestServer): Promise<TestWorld> {
  const actors = async (): Promise<Actors> => {
    const tenant = await server.newTenant();
    return { tenant, operator: server.operator, server, person: await personOf(server, tenant) };
  };
  return { server, ours: await actors(), theirs: await actors() };
}

/** Signs in a new person without roles, who may have many devices. */
async function personOf(server: TestServer, tenant: TestTenant): Promise<TestPerson> {
  const { id } = await activeUser(server, tenant, "person@example.com");
  await tenant.client.must.patch(`/tenants/users/${id}`, { maxDevices: 1_000 });
  const session = await signInAs(server, tenant.id, id);
  return { id, headers: session, client: server.client(undefined, session) };
}
