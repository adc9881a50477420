import { expect, test } from "vitest";
import { mockApi, problem } from "../testing/mock-api.ts";
import { newId, sample } from "../testing/sample.ts";
import { type BulkProgress, runBulk } from "./bulk-run.ts";

function changes(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    id: `${index}`,
    name: `Device ${index}`,
    change: { method: "DELETE" as const, path: `/tenants/devices/${newId()}` },
  }));
}

const answer = sample("ChangeSetResult", { generation: 1, changes: [] });

test("sends sets of 100 changes, and reports after each", async () => {
  mockApi.answer("post", "/tenants/changes", answer);
  const reports: BulkProgress[] = [];
  const result = await runBulk(changes(230), undefined, (progress) => reports.push(progress));
  const sizes = mockApi.bodies("applyChanges").map((body) => (body as { changes: unknown[] }).changes.length);
  expect(sizes).toEqual([100, 100, 30]);
  expect(reports.map(({ made }) => made)).toEqual([100, 200, 230]);
  expect(result).toMatchObject({ made: 230, left: [] });
  expect(result.sent.map((request) => request.changes.length)).toEqual(sizes);
});

test("stops at the first refused set, and names the record whose change was refused", async () => {
  const refusal = problem("invalid_body", { errors: [{ pointer: "/changes/7/path", message: "not found" }] });
  mockApi.answer("post", "/tenants/changes", () => (mockApi.received("applyChanges").length === 2 ? refusal : answer));
  const all = changes(250);
  const result = await runBulk(all, undefined, () => undefined);
  expect(result).toMatchObject({ made: 100, refused: "Device 107", error: { code: "invalid_body" } });
  expect(result.left).toEqual(all.slice(100));
  expect(mockApi.received("applyChanges")).toHaveLength(2);
});
