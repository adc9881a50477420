import { expect, test } from "vitest";
import { csvOf } from "./export-rows.ts";
import { parsePreferences } from "./list-preferences.ts";

test("CSV has one column for each field, and names in place of records", () => {
  const rows = [
    {
      id: "1",
      name: 'Ann "A", Lee',
      groups: [
        { id: "g", name: "Sales" },
        { id: "h", name: "All" },
      ],
      port: 443,
    },
    { id: "2", active: true, user: { id: "u", email: "ann@example.com" }, posture: { disk: true } },
  ];
  expect(csvOf(rows)).toBe(
    `\ufeffid,name,groups,port,active,user,posture\r\n` +
      `1,"Ann ""A"", Lee",Sales; All,443,,,\r\n` +
      `2,,,,true,ann@example.com,"{""disk"":true}"\r\n`,
  );
});

test.each(["=1+1", "+1", "-1", "@SUM(A1)", "\tx"])("a spreadsheet does not evaluate %j", (name) => {
  expect(csvOf([{ name }])).toBe(`\ufeffname\r\n'${name}\r\n`);
});

test("preferences that are not valid become defaults", () => {
  const defaults = { hidden: [], density: "comfortable", size: 25 };
  expect([null, 5, { hidden: 7, density: "x", size: 1e9 }].map(parsePreferences)).toEqual([
    defaults,
    defaults,
    defaults,
  ]);
  expect(parsePreferences({ hidden: ["user", 1], density: "compact", size: 100 })).toEqual({
    hidden: ["user"],
    density: "compact",
    size: 100,
  });
});
