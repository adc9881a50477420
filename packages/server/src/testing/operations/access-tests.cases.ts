import * as tests from "@gatehouse/contract/operations/access-tests.operations";
import type { Actors, BodyReference, OperationCase } from "./operation-case.ts";
import { nothing } from "./operation-case.ts";
import { make, makeId, type RecordNoun, unique } from "./test-records.ts";

const existing = async ({ tenant }: Actors) => ({ parameters: { id: await makeId("access-test", tenant.client) } });

const address = { type: "address", id: "git.example.com", properties: { protocol: "TCP", port: 22 } };

/** The fields of all records that a test can refer to. */
const references = (rest: (fields: object) => object): BodyReference[] => [
  ...(["group", "user", "device"] as const).map((noun: RecordNoun) => ({
    field: "/subject/id",
    noun,
    body: (id: string) => rest({ subject: { type: noun, id }, resource: address }),
  })),
  {
    field: "/resource/id",
    noun: "resource",
    body: (id) => rest({ subject: { type: "everyone" }, resource: { type: "resource", id } }),
  },
];

const created = (fields: object) => ({ name: unique("Test"), expected: "denied", ...fields });

export const accessTestCases: readonly OperationCase[] = [
  { operation: tests.listAccessTests, prepare: nothing },
  {
    operation: tests.createAccessTest,
    prepare: async ({ tenant }) => ({
      body: {
        name: unique("Test"),
        description: "Whatever else changes.",
        subject: { type: "group", id: await makeId("group", tenant.client) },
        device: { posture: { diskEncrypted: true } },
        resource: {
          type: "resource",
          id: await makeId("resource", tenant.client),
          properties: { protocol: "TCP", port: 22 },
        },
        context: { sourceIp: "192.0.2.7", country: "DE", time: "2026-01-31T12:00:00Z" },
        expected: "denied",
      },
    }),
    references: references(created),
    conflict: async ({ tenant }) => ({
      body: {
        ...created({ subject: { type: "everyone" }, resource: address }),
        name: (await make("access-test", tenant.client)).name,
      },
    }),
  },
  { operation: tests.readAccessTest, prepare: existing },
  {
    operation: tests.updateAccessTest,
    prepare: async ({ tenant }) => ({
      parameters: { id: await makeId("access-test", tenant.client) },
      body: { name: unique("Test"), subject: { type: "user", id: await makeId("user", tenant.client) } },
    }),
    references: references((fields) => fields),
    conflict: async ({ tenant }) => ({
      parameters: { id: await makeId("access-test", tenant.client) },
      body: { name: (await make("access-test", tenant.client)).name },
    }),
  },
  { operation: tests.deleteAccessTest, prepare: existing },
  {
    operation: tests.checkAccessTests,
    prepare: async ({ tenant }) => ({ body: { ids: [await makeId("access-test", tenant.client)] } }),
    references: [
      { field: "/ids/*", noun: "access-test", body: (id) => ({ ids: [id] }) },
      ...references((fields) => ({ test: { expected: "denied", ...fields } })).map((reference) => ({
        ...reference,
        field: `/test${reference.field}`,
      })),
    ],
  },
];
