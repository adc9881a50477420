/**
 * Local time in IANA zones, for rules. TestedPrincipal Intl costs some 40 µs, so the offset of a zone is asked for once and kept as long as
 * it cannot change: zones change theirs only at quarter-hours of UTC (true of every zone since 1972).
 */

const quarterHourMs = 15 * 60_000;
const dayMs = 24 * 60 * 60_000;

/** The zone names that are kept; there are some 600 in all. */
const maxZones = 1_000;

/** The quarter-hours of a zone that are kept: whoever goes through a day for one device goes through the same day for the next. */
const maxQuarterHours = 1_000;

interface Zone {
  readonly format: Intl.DateTimeFormat;
  readonly offsetsMs: Map<number, number>;
  /** The last boundary found for each length of a part. */
  readonly boundaries: Map<number, Boundary>;
}

/** The next boundary for every moment from the one that it was found for until itself. */
interface Boundary {
  readonly from: number;
  readonly at: number;
}

const zones = new Map<string, Zone>();

/**
 * How far a zone's local time is ahead of UTC.
 *
 * @param zone an IANA name, such as Europe/Berlin
 * @param at milliseconds since 1970, UTC
 * @returns milliseconds
 * @throws RangeError for a name that is no zone
 */
export function zoneOffsetMs(zone: string, at: number): number {
  return keptOffsetMs(zones.get(zone) ?? openZone(zone), at);
}

function keptOffsetMs({ format, offsetsMs }: Zone, at: number): number {
  const quarterHour = Math.floor(at / quarterHourMs);
  let offsetMs = offsetsMs.get(quarterHour);
  if (offsetMs === undefined) {
    if (offsetsMs.size >= maxQuarterHours) offsetsMs.clear();
    offsetMs = readOffset(format, at);
    offsetsMs.set(quarterHour, offsetMs);
  }
  return offsetMs;
}

/** A moment whose UTC fields are the zone's local ones. @throws RangeError for a name that is no zone */
export function localTime(zone: string, at: number): Date {
  return new Date(at + zoneOffsetMs(zone, at));
}

/**
 * The next moment at which the local time of a zone can have another minute, hour or day.
 *
 * @param partMs the length of the part, in milliseconds: of a minute, an hour, or a day
 * @throws RangeError for a name that is no zone
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
  const offsetMs = keptOffsetMs(zone, at);
  const boundary = (Math.floor((at + offsetMs) / partMs) + 1) * partMs - offsetMs;
  // A clock that is put forward or back in between may reach the next hour or day at another time.
  for (let next = nextQuarterHour(at); next < boundary && partMs <= dayMs; next += quarterHourMs) {
    if (keptOffsetMs(zone, next) !== offsetMs) return next;
  }
  return boundary;
}

/** Before it, no zone at all has another hour or day than now. */
export function nextQuarterHour(at: number): number {
  return (Math.floor(at / quarterHourMs) + 1) * quarterHourMs;
}

function openZone(name: string): Zone {
  // Offsets such as "+02:00" are zones to some versions of Intl; a rule means the same under all of them.
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
