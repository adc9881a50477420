import type { ASTNode } from "@marcbachmann/cel-js";
import { Instant, Span } from "./cel-time.ts";
import { type Evaluation, preparePart, type RuleContext } from "./evaluate-rule.ts";
import { nextLocalBoundary, nextQuarterHour } from "./local-time.ts";
import { TIME_PARTS, TIME_VARIABLE } from "./rule-language.ts";
import {
  asComprehension,
  asFreeVariable,
  asLiteralText,
  type BoundNames,
  childrenOf,
  clockUse,
  sessionField,
  walkRule,
} from "./rule-syntax.ts";

/**
 * The time before which the clock alone cannot change the result of a rule: milliseconds since 1970, later than
 * `context.now`, or Infinity. May be earlier than necessary, but is never later.
 */
export type Horizon = (context: RuleContext) => number;

/**
 * Finds every place where a rule reads the clock, and the next time at which the value there can change. A part of
 * local time changes at the next minute, hour or day. A comparison changes when both sides are equal. A part of a
 * duration that grows with the clock, such as the age of the session, changes with its next unit. Any other use of the
 * clock changes with the next millisecond.
 *
 * @returns undefined for a rule that does not read the clock
 */
export function horizonOf(root: ASTNode): Horizon | undefined {
  const horizons: Horizon[] = [];
  collect(root, new Set(), horizons);
  if (horizons.length === 0) return undefined;
  return (context) => {
    let earliest = Number.POSITIVE_INFINITY;
    for (const horizon of horizons) earliest = Math.min(earliest, horizon(context));
    return earliest;
  };
}

const nextMillisecond: Horizon = ({ now }) => now.getTime() + 1;
const never: Horizon = () => Number.POSITIVE_INFINITY;

function collect(node: ASTNode, bound: BoundNames, horizons: Horizon[]): void {
  const known =
    comparisonHorizon(node, bound) ??
    minuteHorizon(node, bound) ??
    partHorizon(node, bound) ??
    durationPartHorizon(node, bound);
  if (known !== undefined) {
    horizons.push(known);
    return;
  }
  if (isPresenceOfAge(node, bound)) {
    horizons.push(never);
    return;
  }
  const clock = clockUse(node, bound);
  if (clock.reads) horizons.push(nextMillisecond);
  if (clock.reads || !clock.descend) return;
  const comprehension = asComprehension(node);
  if (comprehension === undefined) {
    for (const child of childrenOf(node)) collect(child, bound, horizons);
    return;
  }
  collect(comprehension.receiver, bound, horizons);
  const inner = new Set(bound).add(comprehension.variable);
  for (const child of comprehension.body) collect(child, inner, horizons);
}

/** `has(session.age)`: whether there is a session does not depend on the clock. */
function isPresenceOfAge(node: ASTNode, bound: BoundNames): boolean {
  if (node.op !== "call" || node.args[0] !== "has") return false;
  const [argument] = node.args[1];
  return argument !== undefined && sessionField(argument, bound) === "age";
}

// Comparisons -----------------------------------------------------------------------------------------------------

/**
 * The horizon of a comparison such as `now < timestamp(user.until)`. Both sides must be times or durations that grow
 * evenly with the clock.
 */
function comparisonHorizon(node: ASTNode, bound: BoundNames): Horizon | undefined {
  switch (node.op) {
    case "==":
    case "!=":
    case "<":
    case "<=":
    case ">":
    case ">=":
      break;
    default:
      return undefined;
  }
  const [left, right] = node.args;
  const leftPace = paceOf(left, bound);
  const rightPace = paceOf(right, bound);
  if (leftPace === undefined || rightPace === undefined || (leftPace === 0 && rightPace === 0)) return undefined;
  const pace = leftPace - rightPace;
  if (pace === 0) return never;
  const sides = [preparePart(left), preparePart(right)] as const;
  return (context) => {
    const now = context.now.getTime();
    const difference = milliseconds(sides[0], context) - milliseconds(sides[1], context);
    // A value that is not a time never equals the clock.
    if (Number.isNaN(difference)) return Number.POSITIVE_INFINITY;
    const meeting = Math.floor(now - difference / pace);
    // Sums truncate fractions of milliseconds. One millisecond too early is allowed.
    for (const moment of [meeting - 1, meeting, meeting + 1]) if (moment > now) return moment;
    return Number.POSITIVE_INFINITY;
  };
}

/**
 * The rate at which a time or duration grows with the clock: 1 for `now`, 0 for a constant. Undefined if it does not
 * grow evenly.
 */
function paceOf(node: ASTNode, bound: BoundNames): number | undefined {
  if (asFreeVariable(node, bound) === TIME_VARIABLE || sessionField(node, bound) === "age") return 1;
  if (node.op === "+" || node.op === "-") {
    const [left, right] = node.args;
    const leftPace = paceOf(left, bound);
    const rightPace = paceOf(right, bound);
    if (leftPace === undefined || rightPace === undefined) return undefined;
    return node.op === "+" ? leftPace + rightPace : leftPace - rightPace;
  }
  return standsAlone(node, bound) ? 0 : undefined;
}

function milliseconds(side: Evaluation, context: RuleContext): number {
  try {
    const value = side(context);
    // Only timestamps and durations are comparable.
    return value instanceof Instant || value instanceof Span ? value.valueOf() : Number.NaN;
  } catch {
    return Number.NaN;
  }
}

// Parts of local time -----------------------------------------------------------------------------------------------

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/**
 * The time for which a part of local time stays the same, in milliseconds. Parts that are not listed change with the
 * day.
 */
const partLengthsMs: ReadonlyMap<string, number> = new Map([
  ["getMilliseconds", 1],
  ["getSeconds", 1_000],
  ["getMinutes", minuteMs],
  ["getHours", hourMs],
]);

/** The horizon of a part of local time, such as `now.getHours("Europe/Berlin")`. */
function partHorizon(node: ASTNode, bound: BoundNames): Horizon | undefined {
  if (node.op !== "rcall" || !TIME_PARTS.has(node.args[0])) return undefined;
  const [method, receiver, [zone]] = node.args;
  if (asFreeVariable(receiver, bound) !== TIME_VARIABLE) return undefined;
  const lengthMs = partLengthsMs.get(method) ?? dayMs;
  if (zone === undefined || lengthMs < minuteMs) {
    return ({ now }) => (Math.floor(now.getTime() / lengthMs) + 1) * lengthMs;
  }
  const zoneName = zoneOf(zone, bound);
  if (zoneName === undefined) return unknownZone(lengthMs);
  return (context) => {
    try {
      const name = zoneName(context);
      if (typeof name === "string") return nextLocalBoundary(name, context.now.getTime(), lengthMs);
    } catch {
      // An invalid zone is invalid at any time.
    }
    return Number.POSITIVE_INFINITY;
  };
}

/** The horizon of a part of a duration that grows or shrinks with the clock, such as `session.age.getHours()`. */
function durationPartHorizon(node: ASTNode, bound: BoundNames): Horizon | undefined {
  if (node.op !== "rcall") return undefined;
  const [method, receiver, args] = node.args;
  const lengthMs = partLengthsMs.get(method);
  const pace = paceOf(receiver, bound);
  if (lengthMs === undefined || args.length > 0 || (pace !== 1 && pace !== -1)) return undefined;
  const duration = preparePart(receiver);
  return (context) => {
    const now = context.now.getTime();
    let value: unknown;
    try {
      value = duration(context);
    } catch {
      // A device without a session never has an age.
      return Number.POSITIVE_INFINITY;
    }
    if (!(value instanceof Span)) return now + 1;
    const length = value.valueOf();
    const below = Math.floor(length / lengthMs) * lengthMs;
    // Parts are rounded toward zero, so the part of a negative duration of whole units changes at once.
    const untilLonger = length < 0 && length === below ? 1 : below + lengthMs - length;
    return now + Math.max(1, Math.floor(pace === 1 ? untilLonger : length - below));
  };
}

/**
 * The horizon of a comparison of `now.getHours(zone) * 60 + now.getMinutes(zone)` with a constant, in which the console
 * writes windows with minutes. Without it, each of these windows would be evaluated every minute.
 */
function minuteHorizon(node: ASTNode, bound: BoundNames): Horizon | undefined {
  if (node.op !== ">=" && node.op !== "<" && node.op !== "<=" && node.op !== ">") return undefined;
  const [left, right] = node.args;
  const zone = zoneOfMinute(left, bound);
  if (zone === undefined || right.op !== "value" || typeof right.args !== "bigint") return undefined;
  // The first minute that has another result than the minutes before it.
  const edge = Number(right.args) + (node.op === "<=" || node.op === ">" ? 1 : 0);
  const minuteNow = preparePart(left);
  return (context) => {
    const now = context.now.getTime();
    let minute: number;
    try {
      minute = Number(minuteNow(context));
    } catch {
      // An invalid zone is invalid at any time.
      return Number.POSITIVE_INFINITY;
    }
    // Also the next clock change.
    const nextHour = nextLocalBoundary(zone, now, hourMs);
    const minutes = edge - minute;
    if (minutes <= 0 || minutes > 60) return nextHour;
    return Math.min(nextHour, nextLocalBoundary(zone, now, minuteMs) + (minutes - 1) * minuteMs);
  };
}

/** The zone of `now.getHours(zone) * 60 + now.getMinutes(zone)`. Undefined for any other node. */
function zoneOfMinute(node: ASTNode, bound: BoundNames): string | undefined {
  if (node.op !== "+") return undefined;
  const [product, minutes] = node.args;
  if (product.op !== "*") return undefined;
  const [hours, factor] = product.args;
  if (factor.op !== "value" || factor.args !== 60n) return undefined;
  const zone = zoneOfPart(hours, "getHours", bound);
  return zone !== undefined && zone === zoneOfPart(minutes, "getMinutes", bound) ? zone : undefined;
}

function zoneOfPart(node: ASTNode, part: string, bound: BoundNames): string | undefined {
  if (node.op !== "rcall") return undefined;
  const [method, receiver, [zone]] = node.args;
  return method === part && asFreeVariable(receiver, bound) === TIME_VARIABLE ? asLiteralText(zone) : undefined;
}

function zoneOf(zone: ASTNode, bound: BoundNames): Evaluation | undefined {
  const literal = asLiteralText(zone);
  if (literal !== undefined) return () => literal;
  return standsAlone(zone, bound) ? preparePart(zone) : undefined;
}

function unknownZone(lengthMs: number): Horizon {
  return ({ now }) => {
    const at = now.getTime();
    return lengthMs === minuteMs ? (Math.floor(at / minuteMs) + 1) * minuteMs : nextQuarterHour(at);
  };
}

/** Whether a part of a rule reads neither the clock nor a variable of a surrounding comprehension. */
function standsAlone(node: ASTNode, bound: BoundNames): boolean {
  let alone = true;
  walkRule(node, (part, boundWithin) => {
    if (part.op === "id" && !boundWithin.has(part.args) && bound.has(part.args)) alone = false;
    const clock = clockUse(part, boundWithin);
    if (clock.reads) alone = false;
    return alone && clock.descend;
  });
  return alone;
}
