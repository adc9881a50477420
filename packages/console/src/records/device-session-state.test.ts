import { expect, test } from "vitest";
import { t } from "../messages/i18n.ts";
import { newId, sample } from "../testing/sample.ts";
import { formatSessionEnd } from "./device-session-state.tsx";

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
