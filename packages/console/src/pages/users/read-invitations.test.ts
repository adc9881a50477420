import { expect, test } from "vitest";
import { readInvitations } from "./read-invitations.ts";

test.each([
  ["one a line", "ann@example.com\n\nbob@example.com\r\n", ["ann@example.com", "bob@example.com"]],
  [
    "several a line",
    "ann@example.com; bob@example.com,cy@example.com",
    ["ann@example.com", "bob@example.com", "cy@example.com"],
  ],
  ["a CSV file with a heading", 'First name,E-mail\nAnn,"ann@example.com"\n', ["ann@example.com"]],
  ["an address book's form", "Ann Other <ann@example.com>", ["ann@example.com"]],
])("reads %s", (_what, text, emails) => {
  expect(readInvitations(text)).toEqual({ emails, bad: [] });
});

test("names every bad line, and takes the others", () => {
  const { emails, bad } = readInvitations("ann@example.com\nnobody\nbob@\nANN@example.com\ncy@example.com");
  expect(emails).toEqual(["ann@example.com", "cy@example.com"]);
  expect(bad.map(({ line, reason }) => `${line}: ${reason}`)).toEqual([
    "2: holds no e-mail address",
    "3: bob@ is no e-mail address",
    "4: ANN@example.com stands further up already",
  ]);
});
