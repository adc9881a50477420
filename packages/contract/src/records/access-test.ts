import Type, { type Static } from "typebox";
import {
  closedObject,
  component,
  Description,
  documentedIpAddress,
  identity,
  Name,
  oneOf,
  Timestamp,
  Uuid,
} from "../schema.ts";
import { NamedRecord } from "./decision.ts";
import { Posture } from "./device.ts";
import { accessLevels } from "./effect.ts";
import { transportProtocols } from "./protocol.ts";

export const testSubjectTypes = ["everyone", "group", "user", "device"] as const;
export type TestSubjectType = (typeof testSubjectTypes)[number];

export const testExpectations = ["allowed", "denied"] as const;
export type TestExpectation = (typeof testExpectations)[number];

/** The most access tests in a tenant. Every write evaluates all enforced tests. */
export const maxAccessTests = 1_000;

/** The most failing subjects that a response lists for each test. */
export const maxBrokenShown = 20;

const PostureDevice = component("AccessTestPosture", "A hypothetical device for the test.", { posture: Posture });

export const AccessTestDevice = Type.Unsafe<"any" | "none" | Static<typeof PostureDevice>>({
  anyOf: [{ type: "string", enum: ["any", "none"] }, PostureDevice],
  description:
    "`any`: with each of the subject's devices. `none`: without a device. `{posture}`: with a device that has this posture and the agent, regardless of the subject's devices. Posture properties that are omitted are left open: the test must pass for all their values. If the subject is a device, its session and other fields apply. Otherwise, they are left open too, and policies that name devices do not apply.",
});

export const AccessTestProperties = component(
  "AccessTestProperties",
  "The service of the destination that is tested.",
  {
    protocol: Type.Optional(oneOf(transportProtocols)),
    port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535, description: "Requires TCP or UDP." })),
  },
);

export const AccessTestContext = component(
  "AccessTestContext",
  "The circumstances of the test. Omitted circumstances are left open: the test must pass for all their values.",
  {
    sourceIp: Type.Optional(
      Type.String({ ...documentedIpAddress, maxLength: 64, description: "Source IP address of the requests." }),
    ),
    country: Type.Optional(Type.String({ pattern: "^[A-Z]{2}$", description: "ISO 3166-1 alpha-2, such as DE." })),
    time: Type.Optional(Timestamp),
  },
);
export type AccessTestContext = Static<typeof AccessTestContext>;

const testFields = {
  name: Name,
  description: Type.Optional(Description),
  enforced: Type.Boolean({
    description:
      "Whether changes that would break the test are rejected. Changes that only remove access are never rejected.",
  }),
  subject: component("AccessTestSubject", "The subjects of the test.", {
    type: oneOf(testSubjectTypes),
    id: Type.Optional(Uuid),
    name: Type.Optional(
      Type.String({
        description: "The subject's name; for a user, the email address. Omitted if the record was deleted.",
      }),
    ),
  }),
  device: AccessTestDevice,
  resource: component("AccessTestResource", "The destination of the test.", {
    type: oneOf(["resource", "address"]),
    id: Type.String({ description: "Id of a resource; for `address`, an IP address or a host name." }),
    name: Type.Optional(
      Type.String({ description: "The resource's name. Omitted for `address`, and if the resource was deleted." }),
    ),
    properties: Type.Optional(AccessTestProperties),
  }),
  context: Type.Optional(AccessTestContext),
  expected: oneOf(testExpectations, {
    description:
      "`denied`: no subject has access in any circumstances that are left open. `allowed`: every active subject has access in all of them.",
  }),
};

export const AccessTest = component("AccessTest", "An expectation about access that must hold after every change.", {
  ...identity,
  ...testFields,
});
export type AccessTest = Static<typeof AccessTest>;

export const AccessTestBreach = component("AccessTestBreach", "A subject for which the test fails.", {
  user: NamedRecord,
  device: Type.Optional(NamedRecord),
  level: oneOf(accessLevels, {
    description: "Whether the subject has access: never, always, or depending on the circumstances that are left open.",
  }),
  policy: Type.Optional(NamedRecord),
});

export const AccessTestState = component("AccessTestState", "The result of checking a test.", {
  holds: Type.Boolean(),
  missing: Type.Optional(
    oneOf(["subject", "resource"], {
      description: "Set if this part of the test refers to a deleted record. The test then checks nothing.",
    }),
  ),
  asked: Type.Integer({ minimum: 0, description: "Number of users and devices that the test checked." }),
  brokenCount: Type.Integer({ minimum: 0, description: "Number of them for which the test fails." }),
  broken: Type.Array(AccessTestBreach, { description: `The first ${maxBrokenShown} of them.` }),
});
export type AccessTestState = Static<typeof AccessTestState>;

export const AccessTestResult = component("AccessTestResult", "A test with its result.", {
  id: Type.Optional(Uuid),
  ...testFields,
  name: Type.Optional(Name),
  state: AccessTestState,
});
export type AccessTestResult = Static<typeof AccessTestResult>;

export const AccessTestReport = component("AccessTestReport", "The results of checking access tests.", {
  generation: Type.Integer({ minimum: 0, description: "The tenant's generation that was checked." }),
  summary: closedObject({
    holding: Type.Integer({ minimum: 0 }),
    broken: Type.Integer({ minimum: 0 }),
    missing: Type.Integer({ minimum: 0, description: "Tests that refer to deleted records." }),
  }),
  tests: Type.Array(AccessTestResult),
});
export type AccessTestReport = Static<typeof AccessTestReport>;
