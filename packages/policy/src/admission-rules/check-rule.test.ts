import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { budgeted } from "../../../../test/budget.ts";
import { checkRuleText } from "./check-rule.ts";

describe("accepts", () => {
  test.each([
    "true",
    "user.department == 'Engineering'",
    "user.email.endsWith('@example.com')",
    'user["cost-center"] == "4711"',
    "user.clearance >= 3 && user.status == 'active'",
    "user.contractor",
    "!user.contractor",
    "user.contractor ? false : true",
    "has(user.title) && user.title == 'Director'",
    "has(user.address.city)",
    "'Engineering' in user.groups",
    "user.groups.exists(g, g.startsWith('vpn-'))",
    "'build' in device.tags",
    "'hwk' in session.methods || has(session.provider)",
    "session.authenticatedAt > timestamp('2026-01-01T00:00:00Z')",
    "user.groups.exists_one(g, g == 'Admins')",
    "user.groups.all(user, user != 'Guests')",
    "user.groups.filter(g, g.contains('eng')).size() > 0",
    "user.groups.map(g, g.lowerAscii()) == ['a', 'b']",
    "user.groups.map(g, g != 'x', size(g)).exists(n, n > 3)",
    "user.groups.exists(g, g.matches('^vpn-[a-z]{1,20}$'))",
    "device.os in ['macOS', 'Windows'] && device.posture.diskEncrypted == true",
    "device.posture['edr.version'] > 4.5",
    "has(device.posture.firewall) && device.posture.firewall",
    "device.posture.exists(key, key.startsWith('edr'))",
    "int(device.osVersion.split('.')[0]) >= 14",
    "source.country in ['DE', 'FR'] || source.ip == '192.0.2.1'",
    "user.email.matches(r'^[^@]+@example\\.com$')",
    "user.email.matches(user.pattern)",
    "resource.type == 'PRIVATE' && resource.name != 'Payroll'",
    "['DE', user.country, 3].exists(c, c == source.country)",
    "type(user.level) == int",
    "user.name == 'the attribute, not a field'",
    "user.in_probation || user.as == 1",
    "true // with a comment",
    "user.department ==\n  'Engineering' &&\n\tdevice.name != ''",
    "user.email == '😀'",
    Array.from({ length: 150 }, () => "source.country == 'DE'").join(" || "),
  ])("%s", (text) => {
    expect(checkRuleText(text)).toEqual({ ok: true, readsNow: false });
  });
});

describe("detects whether a rule reads the clock", () => {
  test.each([
    ["now.getHours('Europe/Berlin') >= 8", true],
    ["now > timestamp('2026-01-01T00:00:00Z')", true],
    ["user.groups.exists(g, now.getDayOfWeek() < 6)", true],
    ["user.groups.exists(now, now == 'x') && now.getHours() > 8", true],
    ["[now].exists(now, now.getHours() > 8)", true],
    ["now < timestamp(user.until)", true],
    ["now == user.until", true],
    ["session.age < duration('8h')", true],
    ["session['age'] < duration('8h')", true],
    ["has(session.age)", true],
    ["[session].exists(one, one.age < duration('8h'))", true],
    ["session.methods.exists(session, session == 'otp')", false],
    ["session.authenticatedAt > timestamp('2026-01-01T00:00:00Z')", false],
    ["user.now == 1", false],
    ["user['now'] == 1", false],
    ["device.posture.now == true", false],
    ["user.groups.exists(now, now == 'x')", false],
    ["user.groups.map(now, [now].exists(g, g == now)) == [true]", false],
    ["user.title == 'now'", false],
    ["true // now", false],
  ])("%s: %s", (text, readsNow) => {
    expect(checkRuleText(text)).toEqual({ ok: true, readsNow });
  });
});

describe("rejects a text with position and advice", () => {
  test.each([
    ["", 1, 1, "The rule is empty"],
    [" \n ", 1, 1, "The rule is empty"],
    ["// nothing", 1, 11, "a value is expected at its end"],
    ["user.email ==", 1, 14, "a value is expected at its end"],
    ["(user.email == 'a'", 1, 19, '")" is expected at its end'],
    ["user.email == 'a')", 1, 18, '")" is not expected here'],
    ["user.email = 'a'", 1, 12, "To compare, write =="],
    ["user.contractor and true", 1, 17, "write &&"],
    ["user.contractor | true", 1, 17, "write ||"],
    ["user.email == 'a", 1, 15, "Unterminated string"],
    ["user.email == 'a\\q'", 1, 17, "Invalid escape sequence"],
    ["user.in == 1", 1, 6, 'Write it as an index: ["in"]'],
    [".now", 1, 1, 'A value is expected here, not "."'],
    ["if == 1", 1, 1, "reserved word"],
    ["`a`", 1, 1, "is not expected here"],
    ["user.groups.exists('g', true)", 1, 20, "The first argument of exists must be a name"],
    ["user.groups.exists(g, h, true)", 1, 13, "exists takes 2 arguments"],
    ["user.email == 'a\u0000'", 1, 17, "control character"],
    ["user.email == '\ud800'", 1, 16, "incomplete character"],
    ["department == 'Engineering'", 1, 1, 'Variable "department" does not exist'],
    ["user.department == Engineering", 1, 20, "Text needs quotes"],
    ["user.groups.exists(g, true) && g == 'a'", 1, 32, 'Variable "g" does not exist'],
    ["user.email == 'é😀' || foo", 1, 23, 'Variable "foo" does not exist'],
    ["true &&\n  foo", 2, 3, 'Variable "foo" does not exist'],
    ["true &&\r\n  foo", 2, 3, 'Variable "foo" does not exist'],
    ["google.protobuf.Timestamp == type(user.since)", 1, 1, 'Variable "google" does not exist'],
    ["device.postur.disk == true", 1, 8, 'device has no field "postur"'],
    ["has(device.postur)", 1, 12, 'device has no field "postur"'],
    ["session.ended == true", 1, 9, "It has authenticatedAt, age, methods and provider"],
    ["session.age < 8", 1, 13, "< does not take duration and int"],
    ["session.authenticatedAt < duration('8h')", 1, 25, "< does not take timestamp and duration"],
    ["source['cuntry'] == 'DE'", 1, 8, 'source has no field "cuntry"'],
    ["user[device.name] == 1", 1, 6, "must be a text in quotes"],
    ["lower(user.email) == 'a'", 1, 1, 'Function "lower" does not exist'],
    ["user.email.lower() == 'a'", 1, 12, 'Function "lower" does not exist'],
    ["cel.bind(x, 1, x == 1)", 1, 5, 'Function "bind" does not exist'],
    ["b'{}'.json().a", 1, 7, 'Function "json" does not exist'],
    ["startsWith(user.email, 'a')", 1, 1, "Write value.startsWith(…)"],
    ["user.clearance.int() > 3", 1, 16, "Write int(value)"],
    ["user.email.startsWith()", 1, 12, "Check the types of the arguments"],
    ["user.email.matches(1)", 1, 12, "Check the types of the arguments"],
    ["user.email == 3", 1, 12, "== does not take string and int"],
    ["true && user.groups == 'a'", 1, 21, "== does not take list<string> and string"],
    ["resource.type in user", 1, 15, "in does not take string and User"],
    ["-user.email == 1", 1, 1, "- does not take string"],
    ["user.groups['a'] == 'b'", 1, 13, "List index must be int"],
    ["user.email && true", 1, 12, "requires bool operands"],
    ["user.email.exists(c, true)", 1, 6, "cannot be range of a comprehension"],
    ["has(user)", 1, 5, "has(user.title)"],
    ["user.email", 1, 1, "gives string. It must give true or false"],
    ["now", 1, 1, "gives timestamp. It must give true or false"],
    ["user.level + 1", 1, 1, "gives int. It must give true or false"],
    ["{}", 1, 1, "gives map. It must give true or false"],
    ["user.email.matches('(')", 1, 20, "missing closing )"],
    ["user.email.matches('(?=a)')", 1, 20, "not a pattern in RE2 syntax"],
    ["user.email.matches('a{1001}')", 1, 20, "invalid repeat count"],
    [`user.email.matches('${"a".repeat(257)}')`, 1, 20, "at most 256 characters"],
    ["user.email.matches('\\\\pL{1000}\\\\pL{1000}')", 1, 20, "patterns of the rule are too large"],
    ["now.getHours('Europe/Berln') > 8", 1, 14, "not a time zone"],
    ["now.getHours('+02:00') > 8", 1, 14, "not a time zone"],
  ])("%j at %i:%i: %s", (text, line, column, advice) => {
    const check = checkRuleText(text);
    expect(check).toMatchObject({ ok: false });
    expect(check.ok ? [] : check.problems).toEqual([{ message: expect.stringContaining(advice), line, column }]);
  });

  it("with all unknown names, in the order of the text", () => {
    const check = checkRuleText("foo ||\ndevice.bar == 1 || baz()");
    expect(check.ok ? [] : check.problems.map(({ line, column }) => `${line}:${column}`)).toEqual([
      "1:1",
      "2:8",
      "2:20",
    ]);
  });

  it("with at most 20 problems", () => {
    const check = checkRuleText(Array.from({ length: 100 }, (_, index) => `unknown${index}`).join(" || "));
    expect(check.ok ? 0 : check.problems.length).toBe(20);
  });
});

/** Nested comprehensions, one over each variable. */
function nested(lists: readonly string[]): string {
  return lists.reduceRight((body, list, depth) => `${list}.exists(v${depth}, ${body})`, "v0 == 'a'");
}

describe("bounds", () => {
  const tooLong = "longer than 4096 characters";
  const tooNested = "nested more than 40 deep";
  const tooMany = "more than 2000 parts";
  const tooChained = "More than 300 operators";
  const tooCostly = "could take too long";
  const doubling = (times: number) => `['ab']${".map(x, x + x)".repeat(times)} == []`;

  test.each([
    ["4,097 characters", `true${" ".repeat(4093)}`, tooLong],
    ["a very long text", "x".repeat(10_000_000), tooLong],
    ["4,096 opening brackets", "(".repeat(4096), tooNested],
    ["4,096 opening lists", "[".repeat(4096), tooNested],
    ["4,096 opening maps", "{".repeat(4096), tooNested],
    ["calls within calls", `${"size(".repeat(600)}1${")".repeat(600)}`, tooNested],
    ["a long selection", `user${".a".repeat(2000)}`, tooNested],
    ["a chain of conditions", `${"true?true:".repeat(400)}true`, tooNested],
    ["4,095 negations", `${"!".repeat(4091)}true`, tooMany],
    ["400 negations", `${"!".repeat(400)}true`, tooChained],
    ["350 alternatives", `${"true||".repeat(350)}true`, tooChained],
    ["a list of 257 elements", `1 in [${"1,".repeat(256)}1]`, "at most 256 elements"],
    ["a call with five arguments", "size(1,2,3,4,5)", "at most 4 arguments"],
    ["lists four deep", "[[[[1]]]] == [[[[1]]]]", "nested at most 3 levels deep"],
    ["lists made four deep", `[1]${".map(x, [x])".repeat(3)} == []`, "nested at most 3 levels deep"],
    ["three comprehensions over groups", nested(["user.groups", "user.groups", "user.groups"]), tooCostly],
    ["ten small comprehensions", nested(Array.from({ length: 10 }, () => "[1,2,3,4,5]")), tooCostly],
    ["lists that double 30 times", doubling(30), tooCostly],
    ["lists that grow within", nested(["user.groups.map(g, user.groups)", "v0", "v1"]), tooCostly],
    ["a pattern over groups of groups", nested(["user.groups", "user.groups.filter(g, g.matches('a'))"]), tooCostly],
    ["a large pattern over a long text", "user.x.matches('(.{1,50}a){15}$')", tooCostly],
    ["dynamic patterns over groups", "user.groups.exists(g, g.matches(user.pattern))", tooCostly],
    ["a time zone for the time of every group", "user.groups.exists(g, timestamp(g).getHours('UTC') > 1)", tooCostly],
    [
      "a timestamp for every group and version",
      `user.groups.exists(g, [${"'v',".repeat(50)}].exists(h, timestamp('2020-01-01T00:00:00Z') == now))`,
      tooCostly,
    ],
  ])("rejects %s", (_, text, advice) => {
    const check = checkRuleText(text);
    expect(check.ok ? "accepted" : check.problems[0]?.message).toContain(advice);
  });

  test.each([
    ["4,096 characters", `true${" ".repeat(4092)}`],
    ["4,096 characters of two units each", `true//${"😀".repeat(4090)}`],
    ["40 brackets less one", `${"(".repeat(39)}true${")".repeat(39)}`],
    ["two comprehensions over groups and posture", nested(["user.groups", "device.posture"])],
    ["lists three deep", "[[[1]]] == [[[1]]]"],
    ["a pattern of 600 instructions over a long text", "user.x.matches('(.{1,50}a){5}$')"],
    ["a computed pattern over a long text", "user.x.matches(user.pattern)"],
    ["lists that double a few times", doubling(5)],
    ["256 elements", `1 in [${"1,".repeat(255)}1]`],
  ])("accepts %s", (_, text) => {
    expect(checkRuleText(text)).toEqual({ ok: true, readsNow: false });
  });
});

const ruleFragments = fc.constantFrom(
  ..."user device source resource now .email .groups .posture .x [0] ['a'] ( ) [ ] { } , : ? ! - + * / % == != < > && || in".split(
    " ",
  ),
  ...[" ", "\n", "true", "null", "1", "1u", "1.5", "'a'", "b'a'", "r'('", "'''", '"', "\\", "//", "as", "__proto__"],
  ...[
    ".matches('a+')",
    ".exists(g, ",
    ".map(x, x + x)",
    ".filter(now, ",
    "has(",
    "size(",
    "dyn(",
    ".constructor",
    "\0",
  ],
);

describe("for any text", () => {
  const texts = fc.oneof(
    fc.string({ unit: "binary", maxLength: 200 }),
    fc.string({ unit: ruleFragments, maxLength: 40 }),
    fc.string({ unit: ruleFragments, minLength: 200, maxLength: 900 }),
    fc.tuple(ruleFragments, fc.integer({ min: 1, max: 4096 })).map(([fragment, times]) => fragment.repeat(times)),
    fc
      .tuple(ruleFragments, ruleFragments, fc.integer({ min: 1, max: 400 }))
      .map(([open, close, times]) => `${open.repeat(times)}true${close.repeat(times)}`),
  );

  it("returns a result with positions inside the text", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const check = checkRuleText(text);
        if (check.ok) return;
        const lines = text.split("\n");
        expect(check.problems.length).toBeGreaterThan(0);
        for (const { message, line, column } of check.problems) {
          expect(message).toMatch(/^.{5,600}[.)]$/su);
          expect(line).toBeLessThanOrEqual(lines.length);
          expect(column).toBeLessThanOrEqual([...(lines[line - 1] ?? "")].length + 1);
          expect(Math.min(line, column)).toBeGreaterThanOrEqual(1);
        }
      }),
      { numRuns: budgeted(3000) },
    );
  });

  it("resolves names independently of the names of attributes", () => {
    const attribute = fc.oneof(
      fc.string({ unit: "grapheme-ascii", maxLength: 20 }),
      fc.constantFrom("__proto__", "constructor", "toString", "hasOwnProperty", "get", "size", "then", "email "),
    );
    fc.assert(
      fc.property(attribute, (name) => {
        fc.pre(!["email", "firstName", "lastName", "status", "groups"].includes(name));
        expect(checkRuleText(`user[${JSON.stringify(name)}] == 1`)).toEqual({ ok: true, readsNow: false });
      }),
    );
  });

  it("detects the clock only in a free variable", () => {
    interface Piece {
      readonly text: string;
      readonly free: boolean;
    }
    const { piece } = fc.letrec<{ piece: Piece }>((tie) => ({
      piece: fc.oneof(
        { maxDepth: 3, depthIdentifier: "rule" },
        fc.constantFrom<Piece>(
          { text: "now == user.x", free: true },
          { text: "user.now == 1", free: false },
          { text: "true", free: false },
        ),
        fc.tuple(tie("piece"), tie("piece")).map(([a, b]) => ({
          text: `(${a.text} || ${b.text})`,
          free: a.free || b.free,
        })),
        tie("piece").map((a) => ({ text: `[1].exists(now, ${a.text})`, free: false })),
        tie("piece").map((a) => ({ text: `[1].exists(other, ${a.text})`, free: a.free })),
        tie("piece").map((a) => ({ text: `[${a.text}].all(now, now)`, free: a.free })),
      ),
    }));
    fc.assert(
      fc.property(piece, ({ text, free }) => {
        expect(checkRuleText(text)).toEqual({ ok: true, readsNow: free });
      }),
    );
  });
});

it("has bounded time for adversarial texts", () => {
  const texts = [
    "(".repeat(4096),
    `${"!".repeat(4091)}true`,
    `${"a||".repeat(1300)}true`,
    `user.email.matches('${"(a|".repeat(80)}')`,
    `${"user.email.matches('a{1000}')||".repeat(130)}true`,
    `user.email.matches('${"\\\\pL{999}".repeat(25)}')`,
    `[${"[[1]],".repeat(255)}[[1]]] == []`,
    `user.groups${".map(x, [x])".repeat(300)} == []`,
    `${"now.getHours('Europe/Berln')>1||".repeat(120)}true`,
    `'${"a".repeat(4000)}`,
    "//".repeat(2048),
  ];
  for (const text of texts) {
    const started = performance.now();
    checkRuleText(text);
    // Generous for a busy machine. Each text takes about 10 ms, while exponential work would take years.
    expect(performance.now() - started).toBeLessThan(20_000);
  }
});
