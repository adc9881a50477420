import { expect, test } from "vitest";
import { readInvitations } from "./read-invitations.ts";

test.each([
  ["one address per line", "ann@example.com\n\nbob@example.com\r\n", ["ann@example.com", "bob@example.com"]],
  [
    "several addresses per line",
    "ann@example.com; bob@example.com,cy@example.com",
    ["ann@example.com", "bob@example.com", "cy@example.com"],
  ],
  ["a CSV file with a header", 'First name,E-mail\nAnn,"ann@example.com"\n', ["ann@example.com"]],
  ["addresses in angle brackets", "<ann@example.com>", ["ann@example.com"]],
])("reads %s", (_what, text, emails) => {
  expect(readInvitations(text)).toEqual({ emails, invalid: [], ignored: [] });
});

test("reports every invalid line and reads the others", () => {
  const { emails, invalid } = readInvitations("ann@example.com\nnobody\nbob@\nANN@example.com\ncy@example.com");
  expect(emails).toEqual(["ann@example.com", "cy@example.com"]);
  expect(invalid.map(({ line, reason }) => `${line}: ${reason}`)).toEqual([
    "2: no email address",
    "3: bob@ is not an email address",
    "4: ANN@example.com is a duplicate",
  ]);
});

test("reports names, because an invitation does not contain them", () => {
  const { emails, ignored } = readInvitations('"Ann Other" <ann@example.com>; Bob <bob@example.com>');
  expect([emails, ignored]).toEqual([
    ["ann@example.com", "bob@example.com"],
    ["Line 1: Ann Other", "Line 1: Bob"],
  ]);
});

test("reports text beside an address, except under a heading", () => {
  const { emails, ignored } = readInvitations("carla@example.com, not-an-email");
  expect([emails, ignored]).toEqual([["carla@example.com"], ["Line 1: not-an-email"]]);
});
