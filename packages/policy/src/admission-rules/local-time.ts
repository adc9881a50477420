/**
 * Local time in IANA zones, for rules. A query to Intl takes about 40 µs, so offsets are cached. Zones change their
 * offset only at quarter-hours of UTC (true of every zone since 1972).
 */

const quarterHourMs = 15 * 60_000;
const dayMs = 24 * 60 * 60_000;

/** The maximum number of cached zones. About 600 exist. */
const maxZones = 1_000;

/** The maximum number of cached quarter-hours per zone. Evaluations for different devices cover the same day. */
const maxQuarterHours = 1_000;

interface Zone {
  readonly format: Intl.DateTimeFormat;
  readonly offsetsMs: Map<number, number>;
  /** The last boundary found for each length of a part. */
  readonly boundaries: Map<number, Boundary>;
}

/** The next boundary for all times from `from` up to `at`. */
interface Boundary {
  readonly from: number;
  readonly at: number;
}

const zones = new Map<string, Zone>();

/**
 * The offset of a zone's local time from UTC.
 *
 * @param zone an IANA name, such as Europe/Berlin
 * @param at milliseconds since 1970, UTC
 * @returns milliseconds; positive if local time is ahead of UTC
 * @throws RangeError for an unknown zone
 */
export function zoneOffsetMs(zone: string, at: number): number {
  return cachedOffsetMs(zones.get(zone) ?? openZone(zone), at);
}

function cachedOffsetMs({ format, offsetsMs }: Zone, at: number): number {
  const quarterHour = Math.floor(at / quarterHourMs);
  let offsetMs = offsetsMs.get(quarterHour);
  if (offsetMs === undefined) {
    if (offsetsMs.size >= maxQuarterHours) offsetsMs.clear();
    offsetMs = readOffset(format, at);
    offsetsMs.set(quarterHour, offsetMs);
  }
  return offsetMs;
}

/**
 * A date whose UTC fields hold the zone's local time.
 *
 * @throws RangeError for an unknown zone
 */
export function localTime(zone: string, at: number): Date {
  return new Date(at + zoneOffsetMs(zone, at));
}

/**
 * The next time at which the minute, hour or day of local time can change.
 *
 * @param partMs the length of the part in milliseconds: a minute, an hour or a day
 * @throws RangeError for an unknown zone
 */
export function nextLocalBoundary(zone: string, at: number, partMs: number): number {
  const known = zones.get(zone) ?? openZone(zone);
  const last = known.boundaries.get(partMs);
  if (last !== undefined && last.from <= at && at < last.at) return last.at;
  const boundary = findBoundary(known, at, partMs);
  known.boundaries.set(partMs, { from: at, at: boundary });
  return boundary;
}

function findBoundary(zone: Zone, at: number, partMs: number): number {
  const offsetMs = cachedOffsetMs(zone, at);
  const boundary = (Math.floor((at + offsetMs) / partMs) + 1) * partMs - offsetMs;
  // A clock change before the boundary can start the next hour or day at another time.
  for (let next = nextQuarterHour(at); next < boundary && partMs <= dayMs; next += quarterHourMs) {
    if (cachedOffsetMs(zone, next) !== offsetMs) return next;
  }
  return boundary;
}

/** The next quarter-hour. Before it, the hour and day do not change in any zone. */
export function nextQuarterHour(at: number): number {
  return (Math.floor(at / quarterHourMs) + 1) * quarterHourMs;
}

function openZone(name: string): Zone {
  // Some versions of Intl accept offsets such as "+02:00". A rule must have the same meaning in all versions.
  if (!/^[A-Za-z]/.test(name)) throw new RangeError(`${JSON.stringify(name)} is not the name of a time zone`);
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: name,
    hourCycle: "h23",
    era: "short",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  if (zones.size >= maxZones) zones.clear();
  const zone: Zone = { format, offsetsMs: new Map(), boundaries: new Map() };
  zones.set(name, zone);
  return zone;
}

function readOffset(format: Intl.DateTimeFormat, at: number): number {
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const part = (type: Intl.DateTimeFormatPartTypes) => Number(parts.get(type));
  const year = parts.get("era") === "BC" ? 1 - part("year") : part("year");
  const local = new Date(0);
  local.setUTCFullYear(year, part("month") - 1, part("day"));
  local.setUTCHours(part("hour"), part("minute"), part("second"));
  return local.getTime() - Math.floor(at / 1000) * 1000;
}
