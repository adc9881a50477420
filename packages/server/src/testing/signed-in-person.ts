/** Sessions of people for tests that are not about signing in. */
import { randomBytes } from "node:crypto";
import { insertPasskey } from "../features/passkeys/passkeys.queries.ts";
import { beginSession } from "../features/sessions/sessions.api.ts";
import { updateUserStatus } from "../features/users/users.queries.ts";
import { grantedToSystem } from "../platform/authorization/granted.ts";
import { newId } from "../platform/ids.ts";
import type { TestClient, TestReply, TestServer, TestTenant } from "./test-server.ts";

/** Headers of a request that a page of the server sends with a person's cookie. */
export type PersonHeaders = Readonly<Record<string, string>>;

export interface SignInOptions {
  /** The time of the authentication; now by default. */
  readonly authTime?: Date;
  /** The server's time; the system's by default. */
  readonly now?: Date;
  /** The id of the identity provider through which the user signed in; a passkey by default. */
  readonly providerId?: string | undefined;
}

/** Begins a session of a user, and returns the headers of its requests. */
export async function signInAs(
  server: TestServer,
  tenantId: string,
  userId: string,
  { now = server.runner.clock.now(), authTime = now, providerId }: SignInOptions = {},
): Promise<PersonHeaders> {
  const through =
    providerId === undefined
      ? { method: "passkey" as const }
      : { method: "oidc" as const, provider: { id: providerId } };
  const { token } = await server.database.transaction({ kind: "tenant", tenantId }, ({ query }) =>
    beginSession(
      { tenantId, query },
      { userId, ...through, address: "192.0.2.1", userAgent: "Test", authTime, amr: ["hwk", "user"] },
      now,
    ),
  );
  return { cookie: `gatehouse_session=${token}`, "sec-fetch-site": "same-origin" };
}

/** The owner of a tenant. */
export async function ownerOf({
  client,
}: Pick<TestTenant, "client">): Promise<{ readonly id: string; readonly email: string }> {
  const { body } = await client.must.get("/tenants/users?filter[roles.type]=OWNER");
  return body.data[0];
}

/** Gives a user a passkey that no authenticator has. */
export async function givePasskey(server: TestServer, tenantId: string, userId: string, name: string): Promise<void> {
  await server.database.transaction({ kind: "tenant", tenantId }, ({ query }) =>
    insertPasskey(
      { tenantId, query },
      {
        id: newId(),
        userId,
        name,
        credentialId: randomBytes(32),
        publicKey: randomBytes(77),
        counter: 0,
        transports: [],
        backedUp: false,
      },
      new Date(),
    ),
  );
}

/** Activates an invited user, without a command: models learn of it with the next change of the user. */
export async function activate(server: TestServer, tenantId: string, userId: string): Promise<void> {
  await server.database.transaction({ kind: "tenant", tenantId }, ({ query }) =>
    updateUserStatus(
      { tenantId, query },
      grantedToSystem<"users:write">(),
      userId,
      { status: "active", status_before: null },
      new Date(),
    ),
  );
}

/** Invites a user with roles, and activates the user. */
export async function activeUser(
  server: TestServer,
  { id: tenantId, client }: Pick<TestTenant, "id" | "client">,
  email: string,
  roleTypes: readonly string[] = [],
): Promise<{ readonly id: string; readonly email: string }> {
  const { body: user } = await client.must.post("/tenants/users", { email });
  await activate(server, tenantId, user.id);
  if (roleTypes.length > 0) {
    const { body: roles } = await client.must.get("/tenants/roles");
    const ids = rolesNamed(roles, roleTypes);
    await client.must.patch(`/tenants/users/${user.id}/roles`, { addedRoles: ids });
  }
  return { id: user.id, email };
}

function rolesNamed(roles: TestReply["body"], types: readonly string[]): string[] {
  return roles.filter(({ type }: { type: string }) => types.includes(type)).map(({ id }: { id: string }) => id);
}

/** A client that sends the headers of a person's session with each request. */
export function personClient(
  server: TestServer,
  headers: PersonHeaders,
): Pick<TestClient, "send"> & {
  get(path: string): Promise<TestReply>;
  post(path: string, body?: unknown): Promise<TestReply>;
  delete(path: string): Promise<TestReply>;
} {
  const client = server.client(undefined);
  return {
    send: (method, path, body, more = {}) => client.send(method, path, body, { ...headers, ...more }),
    get: (path) => client.get(path, headers),
    post: (path, body) => client.post(path, body, headers),
    delete: (path) => client.delete(path, headers),
  };
}
