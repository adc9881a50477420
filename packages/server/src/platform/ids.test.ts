import { expect, test } from "vitest";
import { isUuid, newId } from "./ids.ts";

test("ids are UUIDs of version 7, in the order of their creation", () => {
  const before = Date.now();
  const ids = Array.from({ length: 10_000 }, newId);
  expect(ids.every(isUuid)).toBe(true);
  expect(ids.every((id) => id[14] === "7" && "89ab".includes(id[19] ?? ""))).toBe(true);
  expect(new Set(ids).size).toBe(ids.length);
  expect([...ids].sort()).toEqual(ids);
  const first = Number.parseInt((ids[0] ?? "").replace("-", "").slice(0, 12), 16);
  expect(first).toBeGreaterThanOrEqual(before);
});
