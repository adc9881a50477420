import Type from "typebox";
import { list } from "../list.ts";
import { operation } from "../operation.ts";
import {
  AccessTest,
  AccessTestContext,
  AccessTestDevice,
  AccessTestProperties,
  AccessTestReport,
  maxAccessTests,
  testExpectations,
  testSubjectTypes,
} from "../records/access-test.ts";
import { closedObject, component, Description, idList, Name, oneOf, referenceKeyword, shortText } from "../schema.ts";

const tag = "Access tests";

/** The id or the name of a record. */
const Key = (description: string) => ({ ...shortText(256, description), minLength: 1, [referenceKeyword]: true });

const Subject = component("NewAccessTestSubject", "The subjects of the test.", {
  type: oneOf(testSubjectTypes, {
    description: "`group`: each user of the group. `user`: the user with each of their devices.",
  }),
  id: Type.Optional(
    Key("The subject's id. A user can also be given by email address, a group by name. Omitted for `everyone`."),
  ),
});

const Resource = component("NewAccessTestResource", "The destination of the test.", {
  type: oneOf(["resource", "address"]),
  id: Key("Id or name of a resource; for `address`, an IP address or a host name."),
  properties: Type.Optional(AccessTestProperties),
});

const settings = {
  description: Type.Optional(Description),
  enforced: Type.Optional(Type.Boolean()),
  device: Type.Optional(AccessTestDevice),
  context: Type.Optional(AccessTestContext),
};

/** The question and the expected answer of a test. */
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
    "States an expectation, for example that contractors can never reach a resource. A tenant can have at most 1,000 tests. If a record that the test refers to is deleted later, the test checks nothing. An `enforced` test must pass when it is created.",
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
    'Omitted fields stay unchanged; a field that is present is replaced as a whole, so that `{}` as `context` leaves all circumstances open. `""` clears the description.',
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
  summary: "Check access tests",
  description:
    "Checks all tests, the tests in `ids` in that order, or a `test` that is not stored. Requires a key that also holds `decisions:read`. Stores nothing. Failing tests are reported with status 200, because the check itself succeeded.",
  access: "access-tests:read",
  bodyOptional: true,
  body: closedObject({
    ids: Type.Optional(idList("Ids of the tests to check.", maxAccessTests)),
    test: Type.Optional(
      component("TriedAccessTest", "A test that is checked without being stored.", {
        name: Type.Optional(Name),
        ...settings,
        ...question,
      }),
    ),
  }),
  success: { status: 200, kind: "report", body: AccessTestReport },
  errors: [...settingErrors, "evaluation_too_expensive", "evaluation_rate_exceeded"],
});
