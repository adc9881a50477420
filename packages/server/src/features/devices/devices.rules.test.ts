import { describe, expect, test } from "vitest";
import { deviceLimit, deviceStatus } from "./devices.rules.ts";

const now = new Date("2026-01-31T12:00:00.000Z");

describe("deviceStatus", () => {
  test.each([
    ["Offline before the first handshake", true, "active", undefined, "Offline"],
    ["Online right after a handshake", true, "active", "2026-01-31T12:00:00.000Z", "Online"],
    ["Online 180 seconds after a handshake", true, "active", "2026-01-31T11:57:00.000Z", "Online"],
    ["Offline a moment later", true, "active", "2026-01-31T11:56:59.999Z", "Offline"],
    ["Online when a gateway's clock is ahead", true, "active", "2026-01-31T12:00:05.000Z", "Online"],
    ["Online for a pending user, whom policies deny", true, "pending", "2026-01-31T12:00:00.000Z", "Online"],
    ["Deactivated for an inactive user", true, "inactive", "2026-01-31T12:00:00.000Z", "Deactivated"],
    ["Deactivated when it is not active", false, "active", "2026-01-31T12:00:00.000Z", "Deactivated"],
    ["Deactivated without a user", false, null, undefined, "Deactivated"],
  ] as const)("is %s", (_case, active, userStatus, lastConnection, status) => {
    expect(deviceStatus({ active, userStatus, lastConnection }, now)).toBe(status);
  });
});

describe("deviceLimit", () => {
  test.each([
    ["the user's own, even below the groups'", 1, 9, 1],
    ["the user's own, even if it is zero", 0, 9, 0],
    ["the largest of the groups'", null, 9, 9],
    ["five otherwise", null, null, 5],
  ])("is %s", (_case, ofUser, ofGroups, limit) => {
    expect(deviceLimit({ ofUser, ofGroups })).toBe(limit);
  });
});
