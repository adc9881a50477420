import { expect, test } from "vitest";
import { t } from "../messages/i18n.ts";
import { newId, sample } from "../testing/sample.ts";
import { formatSessionEnd, sessionStateOf } from "./device-session-state.tsx";

const session = sample("ListedDeviceSession", {
  id: newId(),
  endReason: "user-deactivated",
  endedBy: { type: "user", name: "owner@example.com" },
});

test("an ended session has a reason and an author", () => {
  expect(formatSessionEnd({ ...session, state: "ended" })).toBe(
    t("deviceSessions.reasonBy", { reason: t("deviceSessions.reasons.user-deactivated"), name: "owner@example.com" }),
  );
});

test("a session that has not ended has no end reason", () => {
  expect(formatSessionEnd({ ...session, state: "active" })).toBeUndefined();
});

test.each([
  ["not-signed-in", {}],
  ["active", { session: { signedInAt: "2026-03-01T09:00:00Z", methods: [] } }],
  [
    "pending",
    { approval: "pending", status: "Deactivated", session: { signedInAt: "2026-03-01T09:00:00Z", methods: [] } },
  ],
  ["expired", { session: { endsAt: "2026-03-01T09:00:00Z", methods: [] } }],
  ["ended", { session: { endsAt: "2026-03-01T09:00:00Z", ended: true, methods: [] } }],
  ["ended", { status: "Deactivated", session: { ended: true, methods: [] } }],
  [undefined, { status: "Deactivated" }],
  [undefined, { enrolmentKey: newId() }],
] as const)("the session of a device is %s: %o", (state, fields) => {
  const user = sample("DeviceUser", { id: newId() });
  expect(sessionStateOf(sample("Device", { status: "Offline", user, ...fields }))).toBe(state);
});
