import { conditionAfter, type GatewayCondition, gatewayEvents } from "@gatehouse/agent-protocol/gateway/gateway-status";
import type { GatewayStatus } from "@gatehouse/contract/records/gateway";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkEndpoint, conditionOf, type Heartbeat, statusByHeartbeat, testedState } from "./gateways.rules.ts";

test.each([
  ["", ""],
  ["gateway.example.com", "gateway.example.com"],
  ["Gateway.Example.COM.", "gateway.example.com"],
  ["gateway", "gateway"],
  ["192.0.2.7", "192.0.2.7"],
  ["2001:DB8:0::1", "2001:db8::1"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
])("the endpoint %j is stored as %j", (text, endpoint) => {
  expect(checkEndpoint(text)).toEqual({ ok: true, endpoint });
});

test.each([
  ["192.0.2.0/24", /block of addresses/],
  ["192.0.2.7/32", /block of addresses/],
  ["2001:db8::/32", /block of addresses/],
  ["*.example.com", /many names/],
  ["gateway.example.com:51820", /wireguardPort/],
  ["192.0.2.7:51820", /wireguardPort/],
  ["[2001:db8::1]:51820", /wireguardPort/],
  ["[2001:db8::1]", /brackets/],
  ["https://gateway.example.com", /URL/],
  ["gateway example", /white space/],
  [" ", /white space/],
  ["192.0.2.256", /192\.0\.2\.256/],
  ["010.0.0.1", /010\.0\.0\.1/],
  ["-gateway.example.com", /host name/],
])("the endpoint %j is refused with advice", (text, advice) => {
  expect(checkEndpoint(text)).toEqual({ ok: false, message: expect.stringMatching(advice) });
});

const now = new Date("2026-01-31T12:00:00.000Z");
const deployed = "2026-01-30T08:00:00.000Z";
const justNow = "2026-01-31T12:00:00.000Z";
const atTheLimit = "2026-01-31T11:59:30.000Z";
const tooLongAgo = "2026-01-31T11:59:29.999Z";
const ahead = "2026-01-31T12:00:05.000Z";

const heartbeat = (last_online: string | null, deployed_on: string | null, error = ""): Heartbeat => ({
  last_online,
  deployed_on,
  error,
});

describe("statusByHeartbeat", () => {
  test.each([
    ["PENDING before the first heartbeat", heartbeat(null, null), "PENDING"],
    ["PENDING until a configuration was applied", heartbeat(justNow, null), "PENDING"],
    ["PENDING even after such a gateway fell silent", heartbeat(tooLongAgo, null), "PENDING"],
    ["ONLINE right after a heartbeat", heartbeat(justNow, deployed), "ONLINE"],
    ["ONLINE 30 seconds after a heartbeat", heartbeat(atTheLimit, deployed), "ONLINE"],
    ["ONLINE when the heartbeat's clock is ahead", heartbeat(ahead, deployed), "ONLINE"],
    ["OFFLINE a moment later", heartbeat(tooLongAgo, deployed), "OFFLINE"],
    ["OFFLINE without any heartbeat after a deployment", heartbeat(null, deployed), "OFFLINE"],
    ["ERROR after a failed configuration", heartbeat(justNow, deployed, "failed"), "ERROR"],
    ["ERROR when the first configuration failed", heartbeat(justNow, null, "failed"), "ERROR"],
    ["OFFLINE when it fell silent after a failure", heartbeat(tooLongAgo, deployed, "failed"), "OFFLINE"],
    [
      "OFFLINE even if its first configuration had failed when it fell silent",
      heartbeat(tooLongAgo, null, "failed"),
      "OFFLINE",
    ],
  ])("is %s", (_what, reported, status) => {
    expect(statusByHeartbeat(reported, now)).toBe(status);
  });
});

test("conditions from stored reports equal the contract's table", () => {
  const events = fc.array(fc.constantFrom(...gatewayEvents), { maxLength: 12 });
  fc.assert(
    fc.property(events, (happened) => {
      let condition: GatewayCondition = "pending";
      let stored = heartbeat(null, null);
      for (const event of happened) {
        condition = conditionAfter[condition][event];
        const last_online = event === "heartbeat-missed" ? tooLongAgo : justNow;
        // A gateway that never connected is not reported as offline.
        if (stored.last_online !== null || event !== "heartbeat-missed") stored = { ...stored, last_online };
        if (event === "applied") stored = { ...stored, deployed_on: stored.deployed_on ?? deployed, error: "" };
        if (event === "failed") stored = { ...stored, error: "failed" };
        expect(conditionOf(stored, now)).toBe(condition);
      }
    }),
  );
});

describe("testedState", () => {
  test.each<[string, GatewayStatus, Heartbeat, object]>([
    ["never heard of", "PENDING", heartbeat(null, null), { status: "UNRECOGNIZED" }],
    ["heard of, nothing applied", "PENDING", heartbeat(justNow, null), { status: "UNRECOGNIZED" }],
    ["fell silent before anything was applied", "PENDING", heartbeat(tooLongAgo, null), { status: "NOT_REACHABLE" }],
    ["heard of", "ONLINE", heartbeat(atTheLimit, deployed), { status: "ONLINE" }],
    ["silent, and not yet noticed", "ONLINE", heartbeat(tooLongAgo, deployed), { status: "NOT_REACHABLE" }],
    ["silent", "OFFLINE", heartbeat(tooLongAgo, deployed), { status: "NOT_REACHABLE" }],
    ["failed", "ERROR", heartbeat(justNow, deployed, "no port"), { status: "ERROR", error: "no port" }],
    [
      "failed and silent",
      "ERROR",
      heartbeat(tooLongAgo, deployed, "no port"),
      { status: "NOT_REACHABLE", error: "no port" },
    ],
    ["in maintenance", "MAINTENANCE", heartbeat(justNow, deployed), { status: "MAINTENANCE" }],
    [
      "in maintenance and failed",
      "MAINTENANCE",
      heartbeat(null, null, "no port"),
      { status: "MAINTENANCE", error: "no port" },
    ],
  ])("of one that is %s", (_what, status, reported, state) => {
    const { details, ...rest } = testedState({ ...reported, status }, now);
    expect(rest).toEqual(state);
    expect(details).toContain(reported.last_online ?? "no heartbeat yet");
  });

  test("never claims more than was heard, whatever was reported", () => {
    const moment = fc.option(
      fc
        .date({ min: new Date("2026-01-31T11:58:00Z"), max: new Date("2026-01-31T12:01:00Z"), noInvalidDate: true })
        .map((date) => date.toISOString()),
    );
    const statuses = fc.constantFrom<GatewayStatus>("PENDING", "ONLINE", "OFFLINE", "MAINTENANCE", "ERROR");
    fc.assert(
      fc.property(statuses, moment, moment, fc.constantFrom("", "failed"), (status, lastOnline, deployedOn, error) => {
        const reported = heartbeat(lastOnline, deployedOn, error);
        const tested = testedState({ ...reported, status }, now);
        const heard = lastOnline !== null && now.getTime() - Date.parse(lastOnline) <= 30_000;
        expect(tested.status === "MAINTENANCE").toBe(status === "MAINTENANCE");
        if (tested.status === "ONLINE") expect(heard && deployedOn !== null && error === "").toBe(true);
        if (tested.status === "ERROR") expect(heard).toBe(true);
        expect(tested.error).toBe(error === "" ? undefined : error);
        if (tested.status === "ONLINE" || tested.status === "ERROR") {
          expect(statusByHeartbeat(reported, now)).toBe(tested.status);
        }
      }),
    );
  });
});
