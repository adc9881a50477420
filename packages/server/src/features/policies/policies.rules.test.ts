import { describe, expect, test } from "vitest";
import { changedFields, initialSettings, mergeSettings } from "./policies.rules.ts";

describe("mergeSettings", () => {
  const [a, b] = ["01890000-0000-7000-8000-00000000000a", "01890000-0000-7000-8000-00000000000b"];
  const initial = initialSettings("Policy", true, a);

  test("keeps missing fields", () => {
    const settings = { ...initial, users: [a], sourceIps: ["192.0.2.1"], description: "Kept" };
    expect(mergeSettings("PRIVATE", settings, {})).toEqual(settings);
  });

  test("treats empty lists, empty texts and false as values", () => {
    const settings = { ...initial, users: [a], allUsers: true, description: "Gone" };
    const merged = mergeSettings("PRIVATE", settings, { users: [], allUsers: false, description: "", action: false });
    expect(merged).toEqual({ ...initial, action: false });
  });

  test("keeps the order of gateways, and treats other lists as sets", () => {
    const ids = [b, a, b.toUpperCase()];
    const merged = mergeSettings("PRIVATE", initial, { gateways: ids, users: ids });
    expect(merged).toMatchObject({ gateways: [b, a], users: [a, b] });
    expect(changedFields(initial, merged)).toEqual(["users", "gateways"]);
  });
});
