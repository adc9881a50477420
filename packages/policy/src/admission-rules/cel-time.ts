import type { Environment } from "@marcbachmann/cel-js";
import { localTime } from "./local-time.ts";

/**
 * Timestamps and durations of CEL with nanoseconds and with the ranges of the specification. The library stores
 * timestamps as dates, loses digits below a millisecond, and leaves the ranges.
 */

const nanosPerMs = 1_000_000;
const nanosPerMsExact = 1_000_000n;
/** 0001-01-01T00:00:00Z to 9999-12-31T23:59:59.999Z. */
const earliestMs = -62_135_596_800_000;
const latestMs = 253_402_300_799_999;
/** Durations are signed 64-bit nanoseconds. */
const maxNanos = 2n ** 63n - 1n;
const minNanos = -(2n ** 63n);

/** A point in time. */
export class Instant {
  /** Milliseconds since 1970, rounded down. */
  readonly ms: number;
  /** The nanoseconds after that millisecond. */
  readonly nanos: number;

  constructor(ms: number, nanos = 0) {
    this.ms = ms;
    this.nanos = nanos;
  }

  plus(span: bigint): Instant {
    const total = BigInt(this.nanos) + span;
    // Rounds down, even for negative spans.
    const nanos = ((total % nanosPerMsExact) + nanosPerMsExact) % nanosPerMsExact;
    return instantInRange(this.ms + Number((total - nanos) / nanosPerMsExact), Number(nanos));
  }

  valueOf(): number {
    return this.ms + this.nanos / nanosPerMs;
  }

  toString(): string {
    return new Date(this.ms).toISOString();
  }
}

/** A length of time. */
export class Span {
  readonly nanos: bigint;

  /** @throws RangeError if the nanoseconds do not fit in 64 bits */
  constructor(nanos: bigint) {
    if (nanos > maxNanos || nanos < minNanos) throw new RangeError("The duration is out of range.");
    this.nanos = nanos;
  }

  /** Milliseconds. */
  valueOf(): number {
    return Number(this.nanos) / nanosPerMs;
  }

  toString(): string {
    return `${Number(this.nanos) / 1e9}s`;
  }
}

function instantInRange(ms: number, nanos: number): Instant {
  if (ms >= earliestMs && ms <= latestMs) return new Instant(ms, nanos);
  throw new RangeError("The timestamp is not between the years 1 and 9999.");
}

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$/;

/** Reads a time in the format of RFC 3339. */
function parseInstant(text: string): Instant {
  const match = rfc3339.exec(text);
  if (match === null) throw new RangeError("timestamp() needs a time such as 2026-01-31T09:30:00Z.");
  const number = (index: number) => Number(match[index] ?? 0);
  const day = number(3);
  const [hour, minute, second] = [number(4), number(5), number(6)];
  const [zoneHour, zoneMinute] = [number(9), number(10)];
  const date = new Date(0);
  date.setUTCFullYear(number(1), number(2) - 1, day);
  if (date.getUTCDate() !== day || hour > 23 || minute > 59 || second > 59 || zoneHour > 23 || zoneMinute > 59) {
    throw new RangeError("timestamp() needs a day and a time that exist.");
  }
  date.setUTCHours(hour, minute, second);
  const fraction = Number((match[7] ?? "").padEnd(9, "0"));
  const offsetMs = (zoneHour * 60 + zoneMinute) * 60_000 * (match[8] === "-" ? -1 : 1);
  const ms = date.getTime() - offsetMs + Math.floor(fraction / nanosPerMs);
  return instantInRange(ms, fraction % nanosPerMs);
}

function instantOfSeconds(seconds: bigint): Instant {
  return instantInRange(Number(seconds) * 1000, 0);
}

const unitNanos: Readonly<Record<string, bigint>> = {
  h: 3_600_000_000_000n,
  m: 60_000_000_000n,
  s: 1_000_000_000n,
  ms: nanosPerMsExact,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ns: 1n,
};
const wholeDuration = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/;
const durationPart = /(\d*)\.?(\d*)(ns|us|µs|μs|ms|s|m|h)/g;

/** The maximum number of digits that are read of a part. A longer part is out of range, or too precise to matter. */
const maxDigits = 30;

/** Reads a duration such as "1h30m" or "-1.5s". */
function parseSpan(text: string): Span {
  if (/^[+-]?0$/.test(text)) return new Span(0n);
  if (!wholeDuration.test(text)) throw new RangeError('duration() needs a text such as "1h30m" or "-1.5s".');
  let nanos = 0n;
  for (const [, whole = "", fraction = "", unit = ""] of text.matchAll(durationPart)) {
    const length = unitNanos[unit] ?? 0n;
    const digits = fraction.slice(0, maxDigits);
    if (whole.length > maxDigits) throw new RangeError("The duration is out of range.");
    nanos += BigInt(whole || "0") * length + (BigInt(digits || "0") * length) / 10n ** BigInt(digits.length);
  }
  return new Span(text.startsWith("-") ? -nanos : nanos);
}

const msPerDay = 24 * 60 * 60_000;

/** The day of the year, starting at 0. */
function dayOfYear(local: Date): number {
  const start = new Date(0);
  start.setUTCFullYear(local.getUTCFullYear(), 0, 1);
  return Math.floor((local.getTime() - start.getTime()) / msPerDay);
}

/** Parts of a time whose UTC fields hold local time (CEL specification, "Timestamp" methods). */
const timeParts: Readonly<Record<string, (local: Date) => number>> = {
  getDate: (local) => local.getUTCDate(),
  getDayOfMonth: (local) => local.getUTCDate() - 1,
  getDayOfWeek: (local) => local.getUTCDay(),
  getDayOfYear: dayOfYear,
  getFullYear: (local) => local.getUTCFullYear(),
  getHours: (local) => local.getUTCHours(),
  getMilliseconds: (local) => local.getUTCMilliseconds(),
  getMinutes: (local) => local.getUTCMinutes(),
  getMonth: (local) => local.getUTCMonth(),
  getSeconds: (local) => local.getUTCSeconds(),
};

/** Whole units of a duration, rounded toward zero. Milliseconds are those after the last whole second. */
const spanParts: Readonly<Record<string, (nanos: bigint) => bigint>> = {
  getHours: (nanos) => nanos / 3_600_000_000_000n,
  getMinutes: (nanos) => nanos / 60_000_000_000n,
  getSeconds: (nanos) => nanos / 1_000_000_000n,
  getMilliseconds: (nanos) => (nanos / nanosPerMsExact) % 1_000n,
};

/** Functions of the specification and the names under which this module registers them. */
export const timeFunctions: ReadonlyMap<string, string> = new Map([
  ["timestamp", "toInstant"],
  ["duration", "toSpan"],
]);

/** Registers timestamps and durations, with their operators and methods. */
export function registerTimes(environment: Environment): void {
  environment
    .registerType("timestamp", Instant)
    .registerType("duration", Span)
    .registerFunction("toInstant(string): timestamp", parseInstant)
    .registerFunction("toInstant(int): timestamp", instantOfSeconds)
    .registerFunction("toSpan(string): duration", parseSpan)
    .registerOperator("timestamp + duration", (at: Instant, span: Span) => at.plus(span.nanos))
    .registerOperator("duration + timestamp: timestamp", (span: Span, at: Instant) => at.plus(span.nanos))
    .registerOperator("timestamp - duration", (at: Instant, span: Span) => at.plus(-span.nanos))
    .registerOperator("timestamp - timestamp: duration", spanBetween)
    .registerOperator("duration + duration", (a: Span, b: Span) => new Span(a.nanos + b.nanos))
    .registerOperator("duration - duration", (a: Span, b: Span) => new Span(a.nanos - b.nanos));
  // Comparisons are evaluated by cel-values.ts. The operators are declared for the check of types.
  for (const type of ["timestamp", "duration"]) {
    for (const operator of ["==", "<", "<=", ">", ">="]) {
      environment.registerOperator(`${type} ${operator} ${type}`, () => false);
    }
  }
  for (const [method, part] of Object.entries(timeParts)) {
    environment
      .registerFunction(`timestamp.${method}(): int`, (at: Instant) => BigInt(part(new Date(at.ms))))
      .registerFunction(`timestamp.${method}(string): int`, (at: Instant, zone: string) =>
        BigInt(part(localTime(zone, at.ms))),
      );
  }
  for (const [method, part] of Object.entries(spanParts)) {
    environment.registerFunction(`duration.${method}(): int`, (span: Span) => part(span.nanos));
  }
}

function spanBetween(a: Instant, b: Instant): Span {
  return new Span(BigInt(a.ms - b.ms) * nanosPerMsExact + BigInt(a.nanos - b.nanos));
}
