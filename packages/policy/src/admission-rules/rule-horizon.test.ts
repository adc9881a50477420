import { expect, test } from "vitest";
import { CompiledRule } from "../model/compiled-rule.ts";

const newYear = "timestamp('2027-01-01T00:00:00Z')";

test.each<[part: string, now: string, changesAt: string]>([
  // Before the time, the duration is negative. Its parts are rounded toward zero.
  [`(now - ${newYear}).getHours()`, "2026-12-31T22:00:00.000Z", "2026-12-31T22:00:00.001Z"],
  [`(now - ${newYear}).getHours()`, "2026-12-31T22:00:00.001Z", "2026-12-31T23:00:00.001Z"],
  [`(now - ${newYear}).getHours()`, "2026-12-31T22:30:00.000Z", "2026-12-31T23:00:00.001Z"],
  [`(now - ${newYear}).getHours()`, "2026-12-31T22:59:59.999Z", "2026-12-31T23:00:00.001Z"],
  [`(now - ${newYear}).getHours()`, "2026-12-31T23:00:00.000Z", "2026-12-31T23:00:00.001Z"],
  [`(now - ${newYear}).getHours()`, "2026-12-31T23:00:00.001Z", "2027-01-01T01:00:00.000Z"],
  [`(now - ${newYear}).getHours()`, "2027-01-01T00:00:00.000Z", "2027-01-01T01:00:00.000Z"],
  [`(now - ${newYear}).getMinutes()`, "2026-12-31T23:58:00.000Z", "2026-12-31T23:58:00.001Z"],
  [`(now - ${newYear}).getSeconds()`, "2026-12-31T23:59:58.000Z", "2026-12-31T23:59:58.001Z"],
  [`(now - ${newYear} + duration('500us')).getHours()`, "2026-12-31T22:30:00.000Z", "2026-12-31T23:00:00.000Z"],
  [`(${newYear} - now).getHours()`, "2026-12-31T22:00:00.000Z", "2026-12-31T22:00:00.001Z"],
  [`(${newYear} - now).getHours()`, "2026-12-31T22:30:00.000Z", "2026-12-31T23:00:00.001Z"],
  [`(${newYear} - now).getHours()`, "2026-12-31T23:30:00.000Z", "2027-01-01T01:00:00.000Z"],
  [`(${newYear} - now).getHours()`, "2027-01-01T00:30:00.000Z", "2027-01-01T01:00:00.000Z"],
  [`(${newYear} - now).getHours()`, "2027-01-01T01:00:00.000Z", "2027-01-01T02:00:00.000Z"],
])("%s at %s changes at %s, and the horizon is not later", (part, from, to) => {
  const [now, changesAt] = [Date.parse(from), Date.parse(to)];
  const valueAt = (at: number) =>
    [-3, -2, -1, 0, 1, 2, 3].map((value) => holdsAt(`${part} == ${value}`, at)).join() +
    [-121, -120, -119].map((value) => holdsAt(`${part} == ${value}`, at)).join();
  expect(valueAt(changesAt - 1)).toBe(valueAt(now));
  expect(valueAt(changesAt)).not.toBe(valueAt(now));
  const horizon = compiled(`${part} < 0`).horizon({ source: {}, now: new Date(now) });
  expect(horizon).toBeGreaterThan(now);
  expect(horizon).toBeLessThanOrEqual(changesAt);
});

function compiled(text: string): CompiledRule {
  return new CompiledRule({ id: "rule", name: "Rule", type: "CUSTOM", text });
}

function holdsAt(text: string, at: number): boolean {
  return compiled(text).evaluate({ source: {}, now: new Date(at) }) === true;
}
