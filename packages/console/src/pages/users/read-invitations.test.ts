import { expect, test } from "vitest";
import { readInvitations } from "./read-invitations.ts";

const people = (...emails: readonly string[]) => emails.map((email) => ({ email }));
const ann = { email: "ann@example.com", firstName: "Ann", lastName: "Example" };

test.each([
  ["one address per line", "ann@example.com\n\nbob@example.com\r\n", people("ann@example.com", "bob@example.com")],
  [
    "several addresses per line",
    "ann@example.com; bob@example.com,cy@example.com",
    people("ann@example.com", "bob@example.com", "cy@example.com"),
  ],
  ["addresses in angle brackets", "<ann@example.com>", people("ann@example.com")],
  ["a name before an address", "Ann Example <ann@example.com>", [ann]],
  ["a quoted name with a comma", '"Example, Ann" <ann@example.com>', [ann]],
  [
    "several names before addresses",
    '"Ann Example" <ann@example.com>; Bob <bob@example.com>',
    [ann, { email: "bob@example.com", firstName: "Bob" }],
  ],
  [
    "names in different forms on one line",
    '"Bob Example" <bob@example.com>; Ann Example\tann@example.com',
    [{ email: "bob@example.com", firstName: "Bob", lastName: "Example" }, ann],
  ],
  ["a name and an address with a space between them", "Ann Example ann@example.com", [ann]],
  ["a name beside an address", "Ann Example, ann@example.com", [ann]],
  ["columns of a spreadsheet", "Ann\tExample\tann@example.com", [ann]],
  [
    "a name of several words",
    "ann@example.com\tAnn Maria O’Example",
    [{ email: "ann@example.com", firstName: "Ann Maria", lastName: "O’Example" }],
  ],
  [
    "a CSV file with a header",
    'First name,E-mail,Office\nAnn,"ann@example.com",Berlin\n',
    [{ ...people(ann.email)[0], firstName: "Ann" }],
  ],
  [
    "empty cells under a header",
    "Given name;Surname;Email\n;Example;ann@example.com",
    [{ email: ann.email, lastName: "Example" }],
  ],
  ["a column of full names", "Email,Name\nann@example.com,Ann Example", [ann]],
])("reads %s", (_what, text, invitees) => {
  expect(readInvitations(text)).toEqual({ invitees, invalid: [], ignored: [] });
});

test.each([
  ["Please contact ann@example.com", []],
  ["Write to us ann@example.com", []],
  ["Ann van den Berg ann@example.com", [{ email: ann.email, firstName: "Ann van den", lastName: "Berg" }]],
  ["Åsa Ek ann@example.com", [{ email: ann.email, firstName: "Åsa", lastName: "Ek" }]],
  ["李 小龙 ann@example.com", [{ email: ann.email, firstName: "李", lastName: "小龙" }]],
])("reads words before an address as a name if they look like one: %s", (text, invitees) => {
  const read = readInvitations(text);
  expect(read.invitees).toEqual(invitees);
  expect(read.invalid).toHaveLength(invitees.length === 0 ? 1 : 0);
});

test("takes no name for several addresses if the names do not belong to them", () => {
  const { invitees } = readInvitations("ann@example.com, Ann Example, bob@example.com, Bob Example");
  expect(invitees).toEqual(people("ann@example.com", "bob@example.com"));
});

test("reports every invalid line and reads the others", () => {
  const { invitees, invalid } = readInvitations("ann@example.com\nnobody\nbob@\nANN@example.com\ncy@example.com");
  expect(invitees).toEqual(people("ann@example.com", "cy@example.com"));
  expect(invalid.map(({ line, reason }) => `${line}: ${reason}`)).toEqual([
    "2: no email address",
    "3: bob@ is not an email address",
    "4: ANN@example.com is a duplicate",
  ]);
});

test.each([
  ["a number", "carla@example.com, 4711", ["4711"]],
  ["more cells than a name has", "carla@example.com, Carla, Example, Sales", ["Carla", "Example", "Sales"]],
  ["text beside several addresses", "carla@example.com, Carla, cy@example.com", ["Carla"]],
  [
    "names after several addresses",
    "ann@example.com, Ann Example, bob@example.com, Bob Example",
    ["Ann Example", "Bob Example"],
  ],
  ["a name of one of several addresses", "Ann Example, ann@example.com, bob@example.com", ["Ann Example"]],
])("reports text that is not a name: %s", (_what, text, ignored) => {
  expect(readInvitations(text).ignored).toEqual(ignored.map((each) => `Line 1: ${each}`));
});
