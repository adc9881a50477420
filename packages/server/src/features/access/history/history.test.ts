import { compile } from "@gatehouse/policy/model/model";
import { finish } from "@gatehouse/policy/work";
import { expect, test } from "vitest";
import type { HistoryRow } from "./history.queries.ts";
import { changesOfHistory, factsOfHistory } from "./history.ts";

const live = {
  id: "01980000-0000-7000-8000-000000000001",
  userId: null,
  active: true,
  name: "Laptop",
  os: "",
  osVersion: "",
  appVersion: "",
  hardwareId: "SERIAL",
  tags: [],
  agent: true,
  posture: { diskEncrypted: true },
  session: { authenticatedAt: 1_000, methods: ["hwk"], provider: null },
};

const row = (facts: object) =>
  ({ kind: "device", record: live.id, generation: 1, firstGeneration: 1, facts }) as unknown as HistoryRow; // a device

test("a device from before tags and sessions existed has none, in the order of the live facts", () => {
  const { tags: _tags, agent: _agent, session: _session, ...before } = live;
  const now = { ...live, session: null };
  const facts = finish(factsOfHistory([row(before)]));
  expect(JSON.stringify(facts.devices)).toBe(JSON.stringify([{ ...now, sessionEndsAt: null }]));
  expect(JSON.stringify(finish(changesOfHistory([row(before)])))).toBe(
    JSON.stringify([{ kind: "device", facts: now }]),
  );
  expect(compile(facts).devices.get(live.id)?.facts.tags).toEqual([]);
});

test.each([
  ["sessions", "session", null],
  ["other WireGuard apps", "agent", true],
])("a device with tags from before %s existed keeps its tags", (_, missing, value) => {
  const { [missing]: _missing, ...before } = { ...live, tags: ["build"], sessionEndsAt: 1_000 } as Record<
    string,
    unknown
  >;
  const now = { ...live, tags: ["build"], [missing]: value, sessionEndsAt: 1_000 };
  expect(JSON.stringify(finish(changesOfHistory([row(before)])))).toBe(
    JSON.stringify([{ kind: "device", facts: now }]),
  );
});

test("a resource has no gateway whose deletion left it in an older version of the resource", () => {
  const version = (kind: string, facts: { readonly id: string }) =>
    ({ kind, record: facts.id, generation: 1, firstGeneration: 1, facts }) as unknown as HistoryRow; // of the kind
  const resource = { id: "resource", gateways: ["gone", "gateway"] };
  const facts = finish(factsOfHistory([version("resource", resource), version("gateway", { id: "gateway" })]));
  expect(facts.resources).toEqual([{ ...resource, gateways: ["gateway"] }]);
});

test("a past device has no end of its session", () => {
  const facts = finish(factsOfHistory([row({ ...live, sessionEndsAt: 1_000 })]));
  expect(facts.devices).toEqual([{ ...live, sessionEndsAt: null }]);
});
