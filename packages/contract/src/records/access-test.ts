import Type, { type Static } from "typebox";
import { closedObject, component, Description, identity, Name, oneOf, Timestamp, Uuid } from "../schema.ts";
import { NamedRecord } from "./decision.ts";
import { Posture } from "./device.ts";
import { accessLevels } from "./effect.ts";
import { transportProtocols } from "./protocol.ts";

export const testSubjectTypes = ["everyone", "group", "user", "device"] as const;
export type TestSubjectType = (typeof testSubjectTypes)[number];

export const testExpectations = ["allowed", "denied"] as const;
export type TestExpectation = (typeof testExpectations)[number];

/** Access tests of a tenant at most: every enforced one is asked at each write. */
export const maxAccessTests = 1_000;

/** Of those who break a test, an answer lists so many. */
export const maxBrokenShown = 20;

const PostureDevice = component("AccessTestPosture", "A device that is made up for the test.", { posture: Posture });

export const AccessTestDevice = Type.Unsafe<"any" | "none" | Static<typeof PostureDevice>>({
  anyOf: [{ type: "string", enum: ["any", "none"] }, PostureDevice],
  description:
    "`any`: with every device that the subject has. `none`: without one. `{posture}`: with a device of this posture, whichever they have.",
});

export const AccessTestProperties = component("AccessTestProperties", "Which service of the destination is meant.", {
  protocol: Type.Optional(oneOf(transportProtocols)),
  port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535, description: "With TCP or UDP." })),
});

export const AccessTestContext = component(
  "AccessTestContext",
  "The circumstances. What is left out is left open: the test is to hold whatever it is.",
  {
    sourceIp: Type.Optional(Type.String({ maxLength: 64, description: "The IP address that requests come from." })),
    country: Type.Optional(Type.String({ pattern: "^[A-Z]{2}$", description: "ISO 3166-1 alpha-2, such as DE." })),
    time: Type.Optional(Timestamp),
  },
);
export type AccessTestContext = Static<typeof AccessTestContext>;

const testFields = {
  name: Name,
  description: Type.Optional(Description),
  enforced: Type.Boolean({
    description: "Whether changes that would break the test are refused, unless they only take access away.",
  }),
  subject: component("AccessTestSubject", "Whom the test is about.", {
    type: oneOf(testSubjectTypes),
    id: Type.Optional(Uuid),
    name: Type.Optional(
      Type.String({ description: "Of a user, the e-mail address. Absent once the record was deleted." }),
    ),
  }),
  device: AccessTestDevice,
  resource: component("AccessTestResource", "What the test asks for.", {
    type: oneOf(["resource", "address"]),
    id: Type.String({ description: "Of a resource, the id; as address, an IP address or a host name." }),
    name: Type.Optional(Type.String({ description: "Of a resource. Absent once it was deleted." })),
    properties: Type.Optional(AccessTestProperties),
  }),
  context: Type.Optional(AccessTestContext),
  expected: oneOf(testExpectations, {
    description:
      "`denied`: none of them, in no circumstances that are left open. `allowed`: all of them that are active, in all such circumstances.",
  }),
};

export const AccessTest = component("AccessTest", "What should be so, whatever is changed.", {
  ...identity,
  ...testFields,
});
export type AccessTest = Static<typeof AccessTest>;

export const AccessTestBreach = component("AccessTestBreach", "Somebody for whom the test does not hold.", {
  user: NamedRecord,
  device: Type.Optional(NamedRecord),
  level: oneOf(accessLevels, {
    description: "Whether they may: never, always, or as the circumstances that are left open are.",
  }),
  policy: Type.Optional(NamedRecord),
});

export const AccessTestState = component("AccessTestState", "How a test stands.", {
  holds: Type.Boolean(),
  missing: Type.Optional(
    oneOf(["subject", "resource"], { description: "What the test names and is not there any more: it asks nothing." }),
  ),
  asked: Type.Integer({ minimum: 0, description: "How many users and devices the test asked about." }),
  brokenCount: Type.Integer({ minimum: 0, description: "For how many of them it does not hold." }),
  broken: Type.Array(AccessTestBreach, { description: `The first ${maxBrokenShown} of them.` }),
});
export type AccessTestState = Static<typeof AccessTestState>;

export const AccessTestResult = component("AccessTestResult", "A test, and how it stands.", {
  id: Type.Optional(Uuid),
  ...testFields,
  name: Type.Optional(Name),
  state: AccessTestState,
});
export type AccessTestResult = Static<typeof AccessTestResult>;

export const AccessTestReport = component("AccessTestReport", "How access tests stand.", {
  generation: Type.Integer({ minimum: 0, description: "The tenant's generation that the answer is about." }),
  summary: closedObject({
    holding: Type.Integer({ minimum: 0 }),
    broken: Type.Integer({ minimum: 0 }),
    missing: Type.Integer({ minimum: 0, description: "Tests that name what is not there any more." }),
  }),
  tests: Type.Array(AccessTestResult),
});
export type AccessTestReport = Static<typeof AccessTestReport>;
