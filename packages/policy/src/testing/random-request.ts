import fc from "fast-check";
import type { AccessRequest, Destination, Subject } from "../decisions/request.ts";
import { turningPoints } from "./random-rule.ts";
import { devicePosture, ids, storedAddresses, userProperties, usualOwner } from "./random-tenant.ts";

/** Requests to the random tenants, mostly about what exists, and around the moments at which rules change. */

const subject: fc.Arbitrary<Subject> = fc.oneof(
  { arbitrary: fc.constantFrom(...ids.users).chain((userId) => withStandIns({ kind: "user", userId })), weight: 4 },
  {
    arbitrary: fc
      .tuple(
        fc.constantFrom(...ids.devices),
        fc.oneof(
          { arbitrary: fc.constant(undefined), weight: 4 },
          { arbitrary: fc.constantFrom(...ids.users), weight: 1 },
        ),
      )
      .chain(([deviceId, other]) => withStandIns({ kind: "user", userId: other ?? usualOwner(deviceId), deviceId })),
    weight: 5,
  },
  {
    arbitrary: fc.constantFrom(...ids.devices).chain((deviceId) => withStandIns({ kind: "device", deviceId })),
    weight: 5,
  },
  {
    arbitrary: fc.constantFrom(...ids.gateways).map((gatewayId): Subject => ({ kind: "site", gatewayId })),
    weight: 2,
  },
);

/** What people write, and what gateways report. */
const askedAddresses = [
  ...storedAddresses.filter((address) => !address.startsWith("*") && !address.includes("/")),
  "192.0.2.0",
  "192.0.2.2",
  "192.0.2.9",
  "192.0.2.200",
  "192.0.200.1",
  "198.51.100.1",
  "10.1.2.3",
  "10.2.3.4",
  "255.255.255.255",
  "::ffff:192.0.2.1",
  "2001:DB8:0:0::0001",
  "2001:db8::2",
  "2001:db8:1::1",
  "2001:4860::1",
  "DB.Example.COM.",
  "b.example.com",
  "x.y.b.example.com",
  "badexample.com",
  "com",
  "INTRANET",
  "www.example.net",
] as const;
const hopelessAddresses = [
  "",
  "192.0.2.0/24",
  "*.example.com",
  "192.0.2.256",
  "https://example.com",
  "a..b",
  "two words",
];

const service = fc.oneof(
  { arbitrary: fc.constant({}), weight: 3 },
  {
    arbitrary: fc.constantFrom(
      { protocol: "TCP" as const },
      ...[19, 20, 22, 25, 26, 443].map((port) => ({ protocol: "TCP" as const, port })),
      { protocol: "UDP" as const },
      ...[53, 60, 61].map((port) => ({ protocol: "UDP" as const, port })),
      { protocol: "ICMP" as const },
    ),
    weight: 5,
  },
);

const destination: fc.Arbitrary<Destination> = fc.oneof(
  {
    arbitrary: fc.constantFrom(...ids.resources).map((resourceId): Destination => ({ kind: "resource", resourceId })),
    weight: 4,
  },
  {
    arbitrary: fc
      .tuple(
        fc.oneof(
          { arbitrary: fc.constantFrom(...askedAddresses), weight: 30 },
          { arbitrary: fc.constantFrom(...hopelessAddresses), weight: 1 },
        ),
        service,
      )
      .map(([address, asked]): Destination => ({ kind: "address", address, ...asked })),
    weight: 6,
  },
);

/** Around a turning point: just before and after, and at odd hours of the days around. */
export const moment: fc.Arbitrary<number> = fc
  .tuple(
    fc.constantFrom(...turningPoints),
    fc.oneof(
      fc.constantFrom(-1, 0, 1, -1000, 999, 1000),
      fc.integer({ min: -48, max: 48 }).map((halfHours) => halfHours * 1_800_000),
      fc.integer({ min: -86_400_000, max: 86_400_000 }),
    ),
  )
  .map(([text, offset]) => Date.parse(text) + offset);

const sourceIp = fc.constantFrom(
  "192.0.2.7",
  "192.0.2.8",
  "::ffff:192.0.2.7",
  "198.51.100.127",
  "198.51.100.128",
  "2001:db8::7",
  "2001:DB8:0:0::7",
  "2001:db9::1",
  "nonsense",
);

export const randomRequest: fc.Arbitrary<AccessRequest> = fc.record(
  {
    subject,
    destination,
    now: moment,
    sourceIp,
    country: fc.constantFrom("DE", "FR", "US"),
  },
  { requiredKeys: ["subject", "destination", "now"], noNullPrototype: true },
);

/** The subject, at times with properties in place of the stored ones. */
function withStandIns(subject: Exclude<Subject, { kind: "site" }>): fc.Arbitrary<Subject> {
  return fc.oneof(
    { arbitrary: fc.constant<Subject>(subject), weight: 5 },
    {
      arbitrary: fc
        .record({ attributes: userProperties, posture: devicePosture }, { requiredKeys: [] })
        .map((overrides): Subject => ({ ...subject, ...overrides })),
      weight: 1,
    },
  );
}
