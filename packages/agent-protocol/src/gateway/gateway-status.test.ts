import { expect, test } from "vitest";
import {
  conditionAfter,
  type GatewayCondition,
  type GatewayEvent,
  gatewayConditions,
  gatewayStatus,
} from "./gateway-status.ts";

function statusAfter(...events: readonly GatewayEvent[]) {
  const condition = events.reduce<GatewayCondition>((before, event) => conditionAfter[before][event], "pending");
  return gatewayStatus(condition, false);
}

test.each([
  [[], "PENDING"],
  [["heartbeat"], "PENDING"],
  [["heartbeat", "heartbeat-missed"], "PENDING"],
  [["heartbeat", "applied"], "ONLINE"],
  [["applied", "heartbeat-missed"], "OFFLINE"],
  [["applied", "heartbeat-missed", "heartbeat"], "ONLINE"],
  [["applied", "heartbeat-missed", "applied"], "ONLINE"],
  [["applied", "failed"], "ERROR"],
  [["failed"], "ERROR"],
  [["failed", "applied"], "ONLINE"],
  [["failed", "heartbeat"], "ERROR"],
  [["failed", "heartbeat-missed"], "OFFLINE"],
  [["failed", "heartbeat-missed", "heartbeat"], "ERROR"],
  [["failed", "heartbeat-missed", "applied"], "ONLINE"],
] as const)("%j is %s", (events, status) => {
  expect(statusAfter(...events)).toBe(status);
});

test.each(gatewayConditions)("%s in maintenance is MAINTENANCE", (condition) => {
  expect(gatewayStatus(condition, true)).toBe("MAINTENANCE");
});
