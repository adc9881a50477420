import { expect, test } from "vitest";
import { formatCondition, formatRule } from "./format-condition.ts";

test.each([
  ["device.agent", "the device runs the Gatehouse agent"],
  ["!(device.agent)", "the device runs another WireGuard app"],
  ["device.posture.diskEncrypted == true", "disk encrypted"],
  ["device.posture.diskEncrypted == false", "disk not encrypted"],
  ["device.posture.osUpToDate != true", "OS not up to date"],
  ["user.managed == false", "not managed"],
  ["user.isAdmin == false", "is not an admin"],
  ["user.contractor == false", "not a contractor"],
  ["user.contractor != false", "a contractor"],
  ["user.isAdmin == true", "is an admin"],
  ["user.employee == false", "not an employee"],
  ["user.remote == false", "not remote"],
  ["user.external_contractor == false", "not an external contractor"],
  ['user.department != "Sales"', "department is not “Sales”"],
  ['user.department == "Sales and Marketing"', "department is “Sales and Marketing”"],
  ['device.posture.managedBy == "company"', "managed by “company”"],
  ['device.posture.managedBy != "company"', "not managed by “company”"],
  // The quoted value is isolated again in the sentence.
  ['user.site == "\u05d0"', "site is \u2068“\u2068\u05d0\u2069”\u2069"],
  ["user.level == 3", "level is 3"],
  ["device.posture.osMajor >= 14", "OS major is at least 14"],
  ['device.posture.osVersion >= "14.1"', "OS version is at least 14.1"],
  ['source.country in ["DE", "FR"]', "the source country is DE or FR"],
  ['!(source.country in ["DE"])', "the source country is not DE"],
  ['"Finance" in user.groups', "the user is in the group “Finance”"],
  ['"build" in device.tags', "the device has the tag build"],
  ['!("build" in device.tags)', "the device does not have the tag build"],
  ['session.age < duration("8h")', "the user signed in on the device less than 8 hours ago"],
  ['session.age < duration("1h")', "the user signed in on the device less than 1 hour ago"],
  ['session.age < duration("90m")', "the user signed in on the device less than 90 minutes ago"],
  ['session.age > duration("8h")', undefined],
  ['now.getHours("Europe/Berlin") >= 7', "it is 07:00 or later in Europe/Berlin"],
  ['now.getHours("Europe/Berlin") < 20', "it is before 20:00 in Europe/Berlin"],
  ['now.getHours("UTC") <= 19', "it is before 20:00 in UTC"],
  ['now.getHours("UTC") * 60 + now.getMinutes("UTC") >= 510', "it is 08:30 or later in UTC"],
  ['now.getHours("UTC") * 60 + now.getMinutes("UTC") <= 1049', "it is before 17:30 in UTC"],
  [
    '(now.getHours("UTC") * 60 + now.getMinutes("UTC") >= 1350 || now.getHours("UTC") * 60 + now.getMinutes("UTC") < 375)',
    "it is between 22:30 and 06:15 the next day in UTC",
  ],
  ['now.getHours("UTC") > 6', "it is 07:00 or later in UTC"],
  ['now.getDayOfWeek("UTC") >= 1', "it is Monday or later in the week, starting on Sunday, in UTC"],
  ['now.getDayOfWeek("UTC") < 6', "it is Friday or earlier in the week, starting on Sunday, in UTC"],
  ['now.getDayOfWeek("UTC") in [1, 2]', "it is Monday or Tuesday in UTC"],
  ["user.level > 3", undefined],
  ['user.name.startsWith("a")', undefined],
  ["user.a == 1 && user.b == 2", undefined],
] as const)("%s reads: %s", (text, words) => {
  expect(formatCondition(text)).toBe(words);
});

test("a rule reads as its conditions, of which all or any must be met", () => {
  expect(formatRule('source.country in ["DE"] &&\nnow.getHours("UTC") >= 7 && now.getHours("UTC") < 20')).toEqual({
    match: "all",
    conditions: ["the source country is DE", "it is between 07:00 and 20:00 in UTC"],
  });
  expect(formatRule('"Finance" in user.groups || user.level >= 3')).toEqual({
    match: "any",
    conditions: ["the user is in the group “Finance”", "level is at least 3"],
  });
  const office = 'now.getDayOfWeek("UTC") >= 1 && now.getDayOfWeek("UTC") < 6';
  expect(formatRule(`${office} && now.getHours("UTC") >= 7 && now.getHours("UTC") < 20`)).toEqual({
    match: "all",
    conditions: ["Monday to Friday, 07:00–20:00 (UTC)"],
  });
  expect(formatRule(`${office} && now.getHours("Europe/Berlin") >= 7 && now.getHours("Europe/Berlin") < 20`)).toEqual({
    match: "all",
    conditions: ["it is Monday to Friday in UTC", "it is between 07:00 and 20:00 in Europe/Berlin"],
  });
  expect(formatRule(`${office} && (now.getHours("UTC") >= 22 || now.getHours("UTC") < 6)`)).toEqual({
    match: "all",
    conditions: ["it is Monday to Friday in UTC", "it is between 22:00 and 06:00 the next day in UTC"],
  });
  expect(formatRule('user.name.startsWith("a") && user.level >= 3')).toBeUndefined();
});
