/** Compares every paginated list, for random queries, with a naive list over the same records. */
import type { ListDeclaration } from "@gatehouse/contract/list";
import { operations } from "@gatehouse/contract/operations/all";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { budgeted } from "../../../../../test/budget.ts";
import { sharedTestServer, type TestClient, type TestServer } from "../test-server.ts";
import { queryOf, questionsOf } from "./list-questions.ts";
import { expectedPage, type Listed } from "./list-reference.ts";
import { seedLists } from "./list-seeds.ts";

/** The number of random queries per list. */
const questions = budgeted(1_000, 50);

let server: TestServer;
let client: TestClient;

beforeAll(async () => {
  server = await sharedTestServer();
  const tenant = await server.newTenant();
  client = tenant.client;
  await seedLists(server, tenant);
});

/** All records of a list, read page by page. */
async function everythingIn(path: string): Promise<Listed[]> {
  const found: Listed[] = [];
  for (;;) {
    const { status, body, text } = await client.get(`${path}?limit=100&offset=${found.length}`);
    expect(status, text).toBe(200);
    found.push(...body.data);
    if (!body.hasNext) {
      expect(new Set(found.map(({ id }) => id)).size).toBe(body.total);
      return found;
    }
  }
}

/** The parts of a policy that name records. */
interface Naming extends Listed {
  readonly users: readonly Listed[];
  readonly groups: readonly Listed[];
  readonly resources: readonly Listed[];
  readonly isDefault?: boolean;
  readonly allUsers?: boolean;
  readonly allGroups?: boolean;
  readonly allResources?: boolean;
}

async function policiesInTenant(): Promise<readonly Naming[]> {
  const policies: Naming[] = (await everythingIn("/tenants/policies")).map((policy) => ({
    users: [],
    groups: [],
    resources: [],
    ...policy,
  }));
  return policies.filter(({ isDefault }) => isDefault !== true);
}

/** A user, device, group or resource of a list. */
interface Seen extends Listed {
  readonly createdAt: string;
  readonly lastConnection?: string;
  readonly groups?: readonly Listed[];
}

const has = (records: readonly Listed[], id: string) => records.some((record) => record.id === id);
const connectionsOf = ({ lastConnection, createdAt }: Seen) => ({
  inactiveSince: lastConnection ?? createdAt,
  hasConnected: (lastConnection ?? null) !== null,
});

/** Values of fields that filters know but records do not show. */
const unshown: Readonly<Record<string, (records: Listed[]) => Promise<Listed[]>>> = {
  listDevices: async (records) => (records as Seen[]).map((record) => ({ ...record, ...connectionsOf(record) })),
  listDeviceSessions: async (records) => {
    const users = (await everythingIn("/tenants/users")) as Seen[];
    const groups = new Map(users.map((user) => [user.id, user.groups]));
    return (records as (Listed & { readonly user: Listed })[]).map((record) => ({
      ...record,
      group: groups.get(record.user.id) ?? [],
    }));
  },
  listGroups: async (records) => {
    const policies = await policiesInTenant();
    return records.map((record) => ({
      ...record,
      isNamedByPolicy: policies.some(({ groups, allGroups }) => allGroups === true || has(groups, record.id)),
    }));
  },
  listResources: async (records) => {
    const policies = await policiesInTenant();
    return records.map((record) => ({
      ...record,
      isNamedByPolicy: policies.some(
        ({ resources, allResources }) => allResources === true || has(resources, record.id),
      ),
      policies: policies.filter(({ resources }) => has(resources, record.id)),
    }));
  },
  listUsers: async (records) => {
    const policies = await policiesInTenant();
    return (records as Seen[]).map((record) => ({
      ...record,
      ...connectionsOf(record),
      isNamedByPolicy: policies.some(
        ({ users, groups, allUsers, allGroups }) =>
          allUsers === true ||
          allGroups === true ||
          has(users, record.id) ||
          (record.groups ?? []).some(({ id }) => has(groups, id)),
      ),
    }));
  },
};

const lists = operations.flatMap(({ id, path, access, parameters, success }) =>
  // An operation with required parameters is not a list of records and has neither filters nor sorting.
  success.kind === "page" && access !== "operator" && parameters === undefined && success.query === undefined
    ? [{ id, path, list: success.list as ListDeclaration }]
    : [],
);

test("all lists that the specification and the contract call paginated are compared with the reference", () => {
  const named = ["listDevices", "listEvents", "listGroups", "listPolicies", "listResources", "listUsers"];
  expect(lists.map(({ id }) => id)).toEqual(expect.arrayContaining(named));
});

test.each(lists)(
  "$id: any combination of filters, sorting and page equals the naive list, in order and total",
  async ({ id, path, list }) => {
    const shown = await everythingIn(path);
    expect(shown.length, "too few records to tell: seed some in list-seeds.ts").toBeGreaterThan(20);
    const everything = (await unshown[id]?.(shown)) ?? shown;
    let found = 0;
    await fc.assert(
      fc.asyncProperty(questionsOf(list, everything), async (asked) => {
        const { limit, offset } = asked;
        const expected = expectedPage(list, everything, asked);
        const after = asked.isAfter ? expected.previous : undefined;
        const { status, body, text } = await client.get(`${path}?${queryOf(asked, after)}`);
        expect(status, text).toBe(200);
        expect(body.data.map((record: Listed) => record.id)).toEqual(expected.ids);
        expect(body).toMatchObject({
          total: expected.total,
          page: after === undefined ? Math.floor(offset / limit) : 0,
          limit,
          hasNext: offset + limit < expected.total,
          hasPrevious: offset > 0,
        });
        found += expected.ids.length > 0 ? 1 : 0;
      }),
      { numRuns: questions },
    );
    // A test would prove nothing if its queries matched no records.
    expect(found).toBeGreaterThan(questions / 10);
  },
  120_000,
);
