/** Every operation in a change set: it works as by itself, or it is refused. */
import { isAllowedInSet, isWrite } from "@gatehouse/contract/operation";
import { operations } from "@gatehouse/contract/operations/all";
import { setOperations } from "@gatehouse/contract/operations/change-set-operations";
import { permissions } from "@gatehouse/contract/permissions";
import { beforeAll, describe, expect, test } from "vitest";
import { compileCheck } from "../../http/validation.ts";
import { createWorld, pathOf, type TestWorld } from "../../testing/operations/operation-case.ts";
import { namedCases } from "../../testing/operations/operation-cases.ts";
import { unique } from "../../testing/operations/test-records.ts";
import { secretForms } from "../../testing/secret-forms.ts";
import { sharedTestServer, type TestClient } from "../../testing/test-server.ts";

let world: TestWorld;

/** The client with every permission except reading gateway tokens, which would be in the records of gateways. */
let client: TestClient;

beforeAll(async () => {
  const server = await sharedTestServer();
  world = await createWorld(server);
  client = server.client(await world.ours.tenant.keyWith(...permissions.filter((name) => name !== "gateways:token")));
});

const send = (changes: readonly object[], by = client) => by.post("/tenants/changes", { changes });

test("the contract lists exactly the operations that a set can include", () => {
  const wanted = operations.filter(isAllowedInSet).map(({ id }) => id);
  expect(setOperations.map(({ id }) => id).sort()).toEqual(wanted.sort());
  expect(wanted.length).toBeGreaterThan(45);
});

test("the contract gives a reason for each write in a tenant that a set cannot include", () => {
  const refused = operations.filter((operation) => operation.refusedInSets !== undefined).map(({ id }) => id);
  expect(refused.sort()).toMatchInlineSnapshot(`
    [
      "addMyDevice",
      "applyChanges",
      "applyConfiguration",
      "createApiKey",
      "createDomain",
      "createEnrolmentKey",
      "createEnrolmentLink",
      "createIdentityProvider",
      "createView",
      "createWebhook",
      "deleteDomain",
      "deleteEnrolmentKey",
      "deleteEnrolmentLink",
      "deleteIdentityProvider",
      "deletePasskey",
      "deleteView",
      "endSession",
      "endUserSessions",
      "patchIdentityProvider",
      "removeMyDevice",
      "renameMyDevice",
      "renamePasskey",
      "resetPasskeys",
      "revertEvent",
      "revokeEnrolmentKey",
      "rotateApiKey",
      "rotateDeviceToken",
      "rotateSigningKey",
      "rotateWebhookSecret",
      "signInMyDevice",
      "updateEnrolmentKey",
      "updateView",
      "verifyDomain",
    ]
  `);
});

const cases = namedCases.filter(({ operation: { method, path } }) => method !== "GET" && path.startsWith("/tenants/"));

describe.each(cases.filter(({ operation }) => isAllowedInSet(operation)))(
  "$id",
  ({ operation, prepare, references }) => {
    const { method, success } = operation;

    test("works in a set", async () => {
      const { parameters, body } = await prepare(world.ours);
      // Only a key with every permission can grant ownership.
      const by = operation.id === "transferOwnership" ? world.ours.tenant.client : client;
      const reply = await send([{ method, path: pathOf(operation, parameters), body }], by);
      expect(reply.status, reply.text).toBe(200);
      const [result] = reply.body.changes;
      expect(result.status).toBe(success.status);
      expect(result.events.length).toBeGreaterThan(0);
      if (success.kind === "record") expect(result.etag).toMatch(/^"\d+"$/);
      if (success.kind === "record" || success.kind === "records") {
        expect(compileCheck(success.body)(result.body)).toEqual([]);
      } else expect(result.body).toBeUndefined();
      expect(reply.text).not.toMatch(secretForms);
    });

    test.each((references ?? []).map((reference) => [reference.field, reference.noun, reference] as const))(
      "takes a reference in %s to a %s",
      async (_field, noun, { body, code = "unknown_reference" }) => {
        const { parameters } = await prepare(world.ours);
        const group = {
          method: "POST",
          path: "/tenants/groups",
          body: { name: unique("Group"), roles: [] },
          as: "made",
        };
        const reply = await send([group, { method, path: pathOf(operation, parameters), body: body("@made") }]);
        // The id of a group is valid for groups only.
        if (noun === "group") expect(reply.status, reply.text).toBe(200);
        else expect(reply.body.code, reply.text).toBe(code);
        expect(reply.text).not.toContain("@made");
      },
    );
  },
);

test.each(cases.filter(({ operation }) => !isAllowedInSet(operation)))(
  "$id is refused, and a preview refuses it unless it can change access",
  async ({ operation, prepare }) => {
    const { parameters, body } = await prepare(world.ours);
    const { method } = operation;
    const reply = await send([{ method, path: pathOf(operation, parameters), body }]);
    expect(reply).toMatchObject({ status: 422, body: { code: "not_allowed_in_set" } });
    const reason = operation.refusedInSets ?? "it changes nothing";
    expect(isWrite(operation) === (operation.refusedInSets !== undefined)).toBe(true);
    expect(reply.body.detail).toContain(reason);
    expect(reply.body.errors).toMatchObject([{ pointer: "/changes/0" }]);
  },
);
