import fc from "fast-check";

/**
 * Texts of admission rules over the few facts of random tenants, so that about half of them are met. They contain
 * typical sources of mistakes: missing attributes, names of inherited object properties, and local time around clock
 * changes.
 */

export const zones = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  // A summer time offset of half an hour.
  "Australia/Lord_Howe",
  "Asia/Kolkata",
  "America/St_Johns",
  // The clock changes at midnight, so that a day begins at one.
  "America/Santiago",
  // No clock changes, and one day ahead.
  "Pacific/Apia",
] as const;

/** Times at which the rules below, or clocks, change. */
export const turningPoints = [
  "2026-03-29T01:00:00Z",
  "2026-10-25T01:00:00Z",
  "2026-03-08T07:00:00Z",
  "2026-11-01T06:00:00Z",
  "2026-04-04T15:00:00Z",
  "2026-10-03T15:30:00Z",
  "2026-09-06T04:00:00Z",
  "2026-01-15T08:00:00Z",
  "2026-01-15T18:30:00Z",
  "2026-12-31T23:00:00Z",
  "2027-01-01T00:00:00Z",
  "2028-02-29T00:00:00Z",
] as const;

const zone = fc.constantFrom(...zones).map((name) => `'${name}'`);
/** If absent, UTC. */
const zoneOrNone = fc.oneof({ arbitrary: zone, weight: 5 }, { arbitrary: fc.constant(""), weight: 1 });
const hour = fc.integer({ min: 0, max: 24 });
const instant = fc.constantFrom(...turningPoints).map((text) => `timestamp('${text}')`);
const comparison = fc.constantFrom("<", "<=", ">", ">=", "==", "!=");

const timeConditions = fc.oneof(
  fc
    .tuple(zoneOrNone, hour, hour)
    .map(([z, from, to]) => `now.getHours(${z}) >= ${from} && now.getHours(${z}) < ${to}`),
  fc.tuple(zoneOrNone, comparison, hour).map(([z, op, value]) => `now.getHours(${z}) ${op} ${value}`),
  fc.tuple(zone, comparison, hour).map(([z, op, value]) => `!(${value} ${op} now.getHours(${z}))`),
  zoneOrNone.map((z) => `now.getDayOfWeek(${z}) in [1, 2, 3, 4, 5]`),
  fc.tuple(comparison, instant).map(([op, at]) => `now ${op} ${at}`),
  fc.tuple(instant, comparison).map(([at, op]) => `${at} ${op} now`),
  fc.tuple(instant, instant).map(([from, to]) => `now >= ${from} && now < ${to} || user.contractor`),
  fc.tuple(instant, comparison).map(([at, op]) => `now - ${at} ${op} duration('90m')`),
  fc.tuple(instant, comparison).map(([at, op]) => `now + duration('36h') ${op} ${at}`),
  instant.map((at) => `(now - ${at}).getHours() == 2`),
  // Negative before the instant: parts of durations are rounded toward zero.
  fc
    .tuple(instant, comparison, fc.constantFrom("getHours()", "getMinutes() / 60"), fc.integer({ min: -3, max: 1 }))
    .map(([at, op, part, value]) => `(now - ${at}).${part} ${op} ${value}`),
  zone.map((z) => `now.getMinutes(${z}) < 30`),
  fc
    .tuple(zone, comparison, fc.integer({ min: 0, max: 1440 }))
    .map(([z, op, minute]) => `now.getHours(${z}) * 60 + now.getMinutes(${z}) ${op} ${minute}`),
  zoneOrNone.map((z) => `now.getDate(${z}) == 29 || now.getDayOfMonth(${z}) == 0`),
  zoneOrNone.map((z) => `now.getDayOfYear(${z}) in [0, 14, 59, 364]`),
  zoneOrNone.map((z) => `now.getFullYear(${z}) == 2026 && now.getMonth(${z}) != 2`),
  zoneOrNone.map((z) => `now.getHours(${z}) == now.getMinutes(${z})`),
  fc.constant("now.getSeconds('Asia/Kolkata') < 30"),
  fc.constant("now.getMilliseconds() < 500"),
  fc.constant("now.getHours(user.zone) >= 8"),
  fc.constant("timestamp(user.until) > now"),
  fc.constant("has(user.until) && now >= timestamp(user.until)"),
  zone.map((z) => `[now].exists(moment, moment.getHours(${z}) > 8)`),
  zone.map((z) => `(user.department == 'Engineering' ? now.getHours(${z}) : 12) >= 9`),
  zone.map((z) => `user.department == 'Engineering' || now.getHours(${z}) < 12`),
  zone.map((z) => `user.nothing == 1 && now.getHours(${z}) < 12`),
  fc
    .tuple(comparison, fc.constantFrom("8h", "90m", "0s", "86399.5s"))
    .map(([op, limit]) => `session.age ${op} duration('${limit}')`),
  fc.constantFrom("8h", "-1h").map((limit) => `!(duration('${limit}') <= session.age) || device.os == 'macOS'`),
  instant.map((at) => `session.age < duration('36h') && now - session.authenticatedAt >= now - ${at}`),
  zone.map((z) => `has(session.age) && session.authenticatedAt.getHours(${z}) <= now.getHours(${z})`),
  fc.constantFrom("getHours() < 8", "getMinutes() < 90", "getSeconds() >= 30").map((part) => `session.age.${part}`),
  instant.map((at) => `(${at} - now).getHours() > 2 && session.age.getSeconds() < 40000`),
  fc.constant("source.country == 'DE' || session.age < duration('8h')"),
  fc.constant("[session].exists(one, one.age < duration('8h'))"),
  fc.constant("session.methods.exists(session, session == 'otp') || session['age'] < duration('1h')"),
  fc.constant("[1, 5].exists(day, day == now.getDayOfWeek('Europe/Berlin'))"),
);

/** All of these texts are valid. */
export const ruleTexts = [
  "true",
  "false",
  "user.department == 'Engineering'",
  "user.department != 'Engineering'",
  "!(user.department == 'Engineering')",
  "has(user.department)",
  "!has(user.department)",
  "has(user.title) && user.title == 'Director' || user.contractor",
  "user.contractor",
  "!user.contractor",
  "user.level",
  "user.level >= 2",
  "user.level == 2",
  "user.level > 2.25",
  "user.level in [1, 2.5]",
  "int(user.level) == 2",
  "user.department + '' == user.department",
  "has(user.constructor)",
  "user.toString == 'stored'",
  "has(user.email) && user.email.endsWith('@example.com')",
  "user.email == 'stored'",
  "user.email.matches('^user-[12]@')",
  "user.email.matches('er-(1|3)')",
  "user.email.matches(user.pattern)",
  "user.firstName + ' ' + user.lastName == 'First Last'",
  "user.status == 'active'",
  "user.now == 'an attribute'",
  "'Engineers' in user.groups",
  "!('Engineers' in user.groups)",
  "user.groups.size() > 1",
  "user.groups[0] == 'Engineers'",
  "user.groups == ['Engineers', 'Guests']",
  "user.groups.size() == 2 && user.groups[1] == '\u{1f600}'",
  "user.groups.exists(name, name.startsWith('G'))",
  "user.groups.all(name, name != 'Guests')",
  "user.groups.exists_one(name, name in ['Engineers', 'Guests'])",
  "user.groups.map(name, name.lowerAscii()).join(',') == 'engineers,guests'",
  "device.os == 'macOS'",
  "device.os != 'macOS'",
  "!(device.os == 'macOS') || user.contractor",
  "int(device.osVersion.split('.')[0]) >= 14",
  "device.posture.diskEncrypted",
  "device.posture.diskEncrypted == true && device.posture.level > 1",
  "has(device.posture.diskEncrypted)",
  "!has(device.posture.diskEncrypted)",
  "has(device.posture.hasOwnProperty)",
  "device.posture['edr.version'] == '7.1'",
  "device.posture.exists(key, key == 'level')",
  "'level' in device.posture && device.posture.level == 2",
  "device.name.contains('laptop') && device.hardwareId != '' && device.appVersion >= '2'",
  "'build' in device.tags",
  "!('build' in device.tags)",
  "device.tags.exists(tag, tag.startsWith('site:')) && device.tags.size() == 2",
  "device.tags == ['build']",
  "'hwk' in session.methods",
  "!('hwk' in session.methods)",
  "session.methods == ['otp']",
  "session.methods.all(method, method != 'pwd')",
  "has(session.provider)",
  "!has(session.provider)",
  "!has(session.age)",
  "session.provider == 'provider-1'",
  "session.provider != 'provider-1' || user.contractor",
  "session.authenticatedAt >= timestamp('2026-01-15T08:00:00Z')",
  "device.agent",
  "!device.agent || device.posture.level == 2",
  "device.agent == false",
  "source.country in ['DE', 'FR']",
  "!(source.country in ['DE', 'FR'])",
  "has(source.country)",
  "!has(source.ip)",
  "source.ip == '192.0.2.7'",
  "source.ip == '2001:db8::7'",
  "source.ip.startsWith('192.0.2.')",
  "resource.type == 'PRIVATE'",
  "resource.name == 'Resource 1' || resource.name == 'Resource 3'",
  "has(resource.name)",
  "resource.name != 'Resource 1'",
  "user.nothing == 1 || user.level >= 2",
  "user.nothing == 1 && false || device.posture.diskEncrypted",
  "1 / 0 == 1",
  "user.level == 2 ? device.posture.diskEncrypted : user.contractor",
  "user.department",
] as const;

/** Texts that cannot be stored but must not break a decision. */
const hopelessTexts = [
  "",
  "user.",
  "1 + ",
  "nobody.name == 'x'",
  "device.postur == 1",
  "'text'",
  "user.email.matches('(')",
];

export const ruleText: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: fc.constantFrom(...ruleTexts), weight: 10 },
  { arbitrary: timeConditions, weight: 14 },
  { arbitrary: fc.constantFrom(...hopelessTexts), weight: 1 },
);
