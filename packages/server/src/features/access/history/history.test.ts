import { compile } from "@gatehouse/policy/model/model";
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
  posture: { diskEncrypted: true },
};

const row = (facts: object) =>
  ({ kind: "device", record: live.id, generation: 1, firstGeneration: 1, facts }) as unknown as HistoryRow; // a device

test("a device from before tags existed has none, in the order of the live facts", () => {
  const { tags: _, ...before } = live;
  const facts = factsOfHistory([row(before)]);
  expect(JSON.stringify(facts.devices)).toBe(JSON.stringify([{ ...live, sessionEndsAt: null }]));
  expect(JSON.stringify(changesOfHistory([row(before)]))).toBe(JSON.stringify([{ kind: "device", facts: live }]));
  expect(compile(facts).devices.get(live.id)?.facts.tags).toEqual([]);
});

test("a past device has no end of its session", () => {
  expect(factsOfHistory([row({ ...live, sessionEndsAt: 1_000 })]).devices).toEqual([{ ...live, sessionEndsAt: null }]);
});
