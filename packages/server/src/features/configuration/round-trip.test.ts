/** Generated documents: the export equals the applied document, in any tenant and after any other document. */
import { assignableRoleTypes } from "@gatehouse/contract/records/configuration";
import { policyTypes } from "@gatehouse/contract/records/policy";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { sharedTestServer, type TestClient, type TestServer } from "../../testing/test-server.ts";

const path = "/tenants/configuration";

let server: TestServer;

beforeAll(async () => {
  server = await sharedTestServer();
});

/** Names with special characters of YAML, SQL, JSON and JSON Pointer. */
const names = [
  "A",
  "a",
  "Ä ö",
  "no",
  "123",
  "null",
  "~1/~0",
  "it's",
  '"quoted"',
  "- list",
  "a: b",
  "#",
  "{}",
  "日本",
  "null\\",
];
const emails = ["ann@example.com", "Ben@Example.com", "o'neil+tag@example.com"];
const text = fc.constantFrom("", "Plain", "two\nlines\n", " spaced ", "\u001b[31m", "é", "'; DROP TABLE users; --");

const subset = <T>(items: readonly T[], minLength = 0) => fc.shuffledSubarray([...items], { minLength });
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });

function records<T extends object>(
  keys: readonly string[],
  fields: { [F in keyof T]: fc.Arbitrary<T[F]> },
  key = "name",
) {
  return subset(keys).chain((chosen) =>
    fc.tuple(...chosen.map((name) => fc.record(fields).map((rest) => ({ [key]: name, ...rest })))),
  );
}

const rules = ["true", "device.os == 'Linux'", 'user.department in ["a", "b"] &&\n  device.posture.ok == true'];

const document = fc
  .record({
    groups: subset(names),
    protocols: subset(names),
    gateways: subset(names),
    rules: subset(names),
    emails: subset(emails),
  })
  .chain((there) => {
    const groupNames = ["Default", ...there.groups];
    const roles = maybe(subset(assignableRoleTypes));
    const resourceNames = names.map((name) => `Resource ${name}`);
    const each = <T extends object>(
      keys: readonly string[],
      fields: { [F in keyof T]: fc.Arbitrary<T[F]> },
      key = "name",
    ) => fc.tuple(...keys.map((name) => fc.record(fields).map((rest) => ({ [key]: name, ...rest }))));
    const person = {
      firstName: fc.constantFrom("", "Ann"),
      groups: maybe(subset(groupNames, 1)),
      roles,
      maxDevices: maybe(fc.integer({ min: 0, max: 1000 })),
      attributes: maybe(
        fc.dictionary(fc.constantFrom("a", "b", "__proto__x"), fc.oneof(fc.boolean(), fc.integer(), text)),
      ),
    };
    return fc.record({
      version: fc.constant(1),
      saml: fc.nat({ max: groupNames.length - 1 }),
      groups: each(groupNames, {
        description: text,
        roles,
        maxDevices: maybe(fc.integer({ min: 0, max: 1000 })),
        deviceSessionLifetime: maybe(fc.integer({ min: 900, max: 31_536_000 })),
        idpMapping: maybe(subset(names)),
      }),
      users: each(["owner@example.com", ...there.emails], person, "email"),
      protocols: each(there.protocols, {
        networkProtocols: fc.array(
          fc.oneof(
            fc.record({
              protocol: fc.constantFrom("TCP", "UDP"),
              port: fc.constantFrom<string | number>(1, "65535", "5000-5100"),
            }),
            fc.constantFrom({ protocol: "ICMP" }, { protocol: "TCP" }),
          ),
          { minLength: 1, maxLength: 4 },
        ),
      }),
      gateways: each(there.gateways, {
        wireguardPort: fc.integer({ min: 1, max: 65535 }),
        description: text,
        endpoint: fc.constantFrom("", "vpn.example.com", "2001:DB8::1"),
        relayEnabled: fc.boolean(),
        resolvers: maybe(subset(["10.80.0.53", "FD80::53"])),
        domains: maybe(fc.constant([{ domain: "Internal.example.com", resolvers: ["10.80.0.53"] }])),
        networks: maybe(fc.constant([])),
      }),
      admissionRules: each(there.rules, { rule: fc.constantFrom(...rules), hasTimeConstraint: fc.boolean() }),
      resources: records(resourceNames, {
        description: text,
        loadBalancingMode: fc.constantFrom("MANUAL", "AUTOMATIC"),
        gateways: subset(there.gateways),
        addresses: records(
          ["10.0.0.1", "10.0.0.0/8", "git.example.com", "*.example.com"],
          {
            protocols: subset([...there.protocols, "SSH", "HTTPS"]),
            answersWithin: maybe(subset(["10.0.0.0/8", "FD00::/8", "192.0.2.1"], 1)),
          },
          "address",
        ).map((addresses) =>
          addresses.map(({ answersWithin, ...rest }) =>
            answersWithin === undefined || rest.address?.startsWith("10.") === true ? rest : { ...rest, answersWithin },
          ),
        ),
      }),
      policies: subset(names.flatMap((name) => policyTypes.map((type) => ({ type, name: `${type} ${name}` })))).chain(
        (chosen) =>
          fc.tuple(
            ...chosen.slice(0, 8).map(({ type, name }) =>
              fc.record({
                type: fc.constant(type),
                name: fc.constant(name),
                description: text,
                action: fc.constant(true),
                active: fc.boolean(),
                allResources: fc.boolean(),
                ...(type === "SITETOSITE"
                  ? {}
                  : { allUsers: fc.boolean(), groups: subset(groupNames), users: subset(there.emails) }),
                ...(type === "INTERNET" ? { mode: maybe(fc.constantFrom("LOCAL", "RESTRICTED")) } : {}),
                gateways: subset(there.gateways),
                sourceIps: subset(["192.0.2.1", "2001:DB8::/32", "198.51.100.0/24"]),
                rule: maybe(fc.constantFrom("Admission without restrictions", ...there.rules)),
              }),
            ),
          ),
      ),
      mode: fc.constantFrom("LOCAL", "RESTRICTED", "INTERNET_ACCESS_POINT"),
    });
  })
  .map(({ saml, policies, mode, groups, resources, ...rest }) => ({
    ...rest,
    groups: groups.map((group, index) => ({ ...group, isSamlDefaultGroup: index === saml })),
    resources: resources.map((resource) => ({ ...resource, type: "PRIVATE" })),
    policies: Object.fromEntries(
      policyTypes.map((type) => [
        type,
        policies.filter((policy) => policy.type === type).map(({ type: _type, ...policy }) => policy),
      ]),
    ),
    defaultInternetPolicy: { mode },
  }));

const exported = async (client: TestClient) => (await client.get(path)).text;

async function applied(client: TestClient, body: unknown): Promise<void> {
  const { status, text: answer } = await client.post(`${path}/apply`, body);
  expect(status, answer).toBe(200);
}

test("the export of one tenant recreates it in another, and applying it again changes nothing", {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(document, document, async (earlier, wanted) => {
      const [{ client: one }, { client: other }] = [await server.newTenant(), await server.newTenant()];
      await applied(one, wanted);
      const text = await exported(one);
      expect((await one.post(`${path}/plan`, wanted)).body.changes).toEqual([]);
      expect((await one.post(`${path}/plan`, text)).body.changes).toEqual([]);
      // The document determines the result, whatever the tenant had before.
      await applied(other, earlier);
      await applied(other, text);
      const moved = JSON.parse(await exported(other));
      expect(moved).toEqual(withEmailsOf(moved, JSON.parse(text)));
      expect((await other.post(`${path}/plan`, text)).body.changes).toEqual([]);
    }),
    { numRuns: 25 },
  );
});

/** The first spelling of an address is kept. */
function withEmailsOf(found: { users: { email: string }[] }, wanted: { users: { email: string }[] }): object {
  return { ...wanted, users: wanted.users.map((user, index) => ({ ...user, email: found.users[index]?.email })) };
}
