/** Random changes to a small tenant, some of which are refused. */
import fc from "fast-check";
import { expect } from "vitest";
import type { TestClient, TestServer, TestTenant } from "./test-server.ts";

export interface Change {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
  readonly as?: string;
}

/** Numbers from which a change is made. */
export interface Draw {
  readonly kind: number;
  readonly first: number;
  readonly second: number;
  readonly text: number;
}

const nouns = ["users", "groups", "protocols", "resources", "policies"] as const;
type Noun = (typeof nouns)[number];

/** References to the records of a world, by noun: ids, and `@name` for those that earlier changes create. */
export type References = Readonly<Record<Noun, readonly string[]>>;

const kinds = 18;
export const draw: fc.Arbitrary<Draw> = fc.record({
  kind: fc.nat(kinds - 1),
  first: fc.nat(1_000),
  second: fc.nat(1_000),
  text: fc.nat(5),
});

/** Makes a change. Names repeat and records are deleted, so that some changes are refused. */
function changeOf({ kind, first, second, text }: Draw, known: References, index: number): Change & { noun?: Noun } {
  const one = (noun: Noun, number: number) => known[noun][number % known[noun].length] ?? "missing";
  const name = `Name ${text} ${first % 4}`;
  const as = `n${index}`;
  const [user, group, protocol, resource, policy] = nouns.map((noun) => one(noun, first));
  switch (kind) {
    case 0:
      return { method: "POST", path: "/tenants/groups", body: { name, roles: [] }, as, noun: "groups" };
    case 1: {
      const body = { email: `person-${index}-${text}@example.com`, groups: [one("groups", second)] };
      return { method: "POST", path: "/tenants/users", body, as, noun: "users" };
    }
    case 2: {
      const body = { name, networkProtocols: [{ protocol: "TCP", port: String(8_000 + text) }] };
      return { method: "POST", path: "/tenants/protocols", body, as, noun: "protocols" };
    }
    case 3: {
      const addresses = [{ address: `host-${text}.example.com`, protocols: [one("protocols", second)] }];
      return {
        method: "POST",
        path: "/tenants/resources",
        body: { name, type: "PRIVATE", addresses },
        as,
        noun: "resources",
      };
    }
    case 4: {
      const groups = [one("groups", second)];
      const body = { name, type: "PRIVATE", action: text % 2 === 0, groups, resources: [one("resources", first)] };
      return { method: "POST", path: "/tenants/policies", body, as, noun: "policies" };
    }
    case 5:
      return { method: "POST", path: `/tenants/users/${user}/groups`, body: { groupId: one("groups", second) } };
    case 6:
      return { method: "DELETE", path: `/tenants/users/${user}/groups/${one("groups", second)}` };
    case 7:
      return { method: "PUT", path: `/tenants/groups/${group}`, body: { description: name } };
    case 8:
      return { method: "DELETE", path: `/tenants/groups/${group}` };
    case 9:
      return { method: "PATCH", path: `/tenants/users/${user}/deactivate` };
    case 10:
      return { method: "PATCH", path: `/tenants/policies/${policy}/deactivate` };
    case 11:
      return {
        method: "PATCH",
        path: `/tenants/policies/${policy}`,
        body: { groups: [one("groups", second)], allUsers: text === 0 },
      };
    case 12:
      return { method: "DELETE", path: `/tenants/policies/${policy}` };
    case 13:
      return { method: "DELETE", path: `/tenants/protocols/${protocol}` };
    case 14:
      return { method: "DELETE", path: `/tenants/resources/${resource}` };
    case 15:
      return { method: "PATCH", path: `/tenants/users/${user}`, body: { attributes: { team: name } } };
    case 16:
      return {
        method: "PATCH",
        path: `/tenants/users/${user}/groups`,
        body: { addedGroups: [group], removedGroups: [one("groups", second)] },
      };
    default:
      return { method: "DELETE", path: `/tenants/users/${user}` };
  }
}

export interface World {
  readonly tenant: TestTenant;
  readonly client: TestClient;
  readonly records: References;
}

/** Creates a tenant with the same records each time. */
export async function createWorld(server: TestServer): Promise<World> {
  const tenant = await server.newTenant();
  const { client } = tenant;
  const created = async (path: string, body: object): Promise<string> => {
    const reply = await client.post(path, body);
    expect(reply.status, reply.text).toBe(201);
    return reply.body.id;
  };
  const groups = [];
  for (const name of ["Engineers", "Support"]) groups.push(await created("/tenants/groups", { name, roles: [] }));
  const users = [];
  for (const name of ["ann", "bob"]) {
    users.push(await created("/tenants/users", { email: `${name}@example.com`, groups: [groups[0]] }));
  }
  const networkProtocols = [{ protocol: "TCP", port: "9443" }];
  const protocols = [await created("/tenants/protocols", { name: "Console", networkProtocols })];
  const addresses = [{ address: "git.example.com", protocols }];
  const resources = [await created("/tenants/resources", { name: "Git", type: "PRIVATE", addresses })];
  const grant = { name: "Engineers", type: "PRIVATE", action: true, groups: [groups[0]], resources };
  return {
    tenant,
    client,
    records: { users, groups, protocols, resources, policies: [await created("/tenants/policies", grant)] },
  };
}

/** The changes of a set, in which later ones refer to the records of earlier ones. */
export function changesOf(draws: readonly Draw[], records: References): readonly Change[] {
  const known: Record<Noun, readonly string[]> = { ...records };
  return draws.map((drawn, index) => {
    const { noun, ...change } = changeOf(drawn, known, index);
    if (noun !== undefined) known[noun] = [...known[noun], `@n${index}`];
    return change;
  });
}
