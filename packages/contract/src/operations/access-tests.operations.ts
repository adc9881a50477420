import Type from "typebox";
import { list } from "../list.ts";
import { operation } from "../operation.ts";
import {
  AccessTest,
  AccessTestContext,
  AccessTestDevice,
  AccessTestProperties,
  AccessTestReport,
  mostAccessTests,
  testExpectations,
  testSubjectTypes,
} from "../records/access-test.ts";
import { closedObject, component, Description, idList, Name, oneOf, shortText } from "../schema.ts";

const tag = "Access tests";

/** An id, or what people call the record. */
const Key = (description: string) => ({ ...shortText(256, description), minLength: 1 });

const Subject = component("NewAccessTestSubject", "Whom the test is about.", {
  type: oneOf(testSubjectTypes, {
    description: "`group`: each of its users. `user`: with whatever devices they have.",
  }),
  id: Type.Optional(Key("The id; of a user, the e-mail address will do, of a group, the name. Not for `everyone`.")),
});

const Resource = component("NewAccessTestResource", "What the test asks for.", {
  type: oneOf(["resource", "address"]),
  id: Key("Of a resource, the id or the name; as address, an IP address or a host name."),
  properties: Type.Optional(AccessTestProperties),
});

const settings = {
  description: Type.Optional(Description),
  enforced: Type.Optional(Type.Boolean()),
  device: Type.Optional(AccessTestDevice),
  context: Type.Optional(AccessTestContext),
};

/** What a test asks. */
const question = { subject: Subject, resource: Resource, expected: oneOf(testExpectations) };

const settingErrors = ["unknown_reference", "invalid_combination", "invalid_address"] as const;

export const listAccessTests = operation({
  id: "listAccessTests",
  method: "GET",
  path: "/tenants/access-tests",
  tag,
  summary: "List access tests",
  access: "access-tests:read",
  success: {
    status: 200,
    kind: "page",
    item: AccessTest,
    list: list({
      sort: ["id", "name", "createdAt"],
      filter: {
        id: { kind: "uuid" },
        name: { kind: "text" },
        enforced: { kind: "boolean" },
        expected: { kind: "enum", values: testExpectations },
        "subject.type": { kind: "enum", values: testSubjectTypes },
        "subject.id": { kind: "uuid" },
        "resource.id": { kind: "text" },
      },
    }),
  },
});

export const createAccessTest = operation({
  id: "createAccessTest",
  method: "POST",
  path: "/tenants/access-tests",
  tag,
  summary: "Create an access test",
  description:
    "Says what should be so, such as that contractors can never reach a resource. At most 1,000 in a tenant. What a test names may be deleted later: it then asks nothing. One that is `enforced` has to hold.",
  access: "access-tests:write",
  overridable: true,
  body: closedObject({ name: Name, ...settings, ...question }),
  success: { status: 201, kind: "record", body: AccessTest },
  errors: ["name_taken", "access_test_limit_reached", ...settingErrors],
});

export const readAccessTest = operation({
  id: "readAccessTest",
  method: "GET",
  path: "/tenants/access-tests/{id}",
  tag,
  summary: "Read an access test",
  access: "access-tests:read",
  parameters: { id: "uuid" },
  success: { status: 200, kind: "record", body: AccessTest },
});

export const updateAccessTest = operation({
  id: "updateAccessTest",
  method: "PUT",
  path: "/tenants/access-tests/{id}",
  tag,
  summary: "Update an access test",
  description:
    'Absent fields stay as they are; what is given replaces the whole of it, so that `{}` as `context` leaves all circumstances open. `""` clears the description.',
  access: "access-tests:write",
  overridable: true,
  parameters: { id: "uuid" },
  body: closedObject({
    name: Type.Optional(Name),
    ...settings,
    subject: Type.Optional(Subject),
    resource: Type.Optional(Resource),
    expected: Type.Optional(question.expected),
  }),
  success: { status: 200, kind: "record", body: AccessTest },
  errors: ["name_taken", ...settingErrors],
});

export const deleteAccessTest = operation({
  id: "deleteAccessTest",
  method: "DELETE",
  path: "/tenants/access-tests/{id}",
  tag,
  summary: "Delete an access test",
  access: "access-tests:write",
  parameters: { id: "uuid" },
  success: { status: 204, kind: "empty" },
});

export const checkAccessTests = operation({
  id: "checkAccessTests",
  method: "POST",
  path: "/tenants/access-tests/check",
  tag,
  summary: "See how access tests stand",
  description:
    "Of all tests; of those in `ids`, in that order; or of one in `test` that is not stored. Takes a key that also holds `decisions:read`. Stores nothing; broken tests are reported with 200: the check itself succeeded.",
  access: "access-tests:read",
  bodyOptional: true,
  body: closedObject({
    ids: Type.Optional(idList("The tests to check.", mostAccessTests)),
    test: Type.Optional(
      component("TriedAccessTest", "A test to try.", { name: Type.Optional(Name), ...settings, ...question }),
    ),
  }),
  success: { status: 200, kind: "report", body: AccessTestReport },
  errors: settingErrors,
});
