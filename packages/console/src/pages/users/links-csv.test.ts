import { expect, test } from "vitest";
import { csvOf } from "./links-csv.ts";

test("each link is a row, and no cell is a formula", () => {
  const link = {
    url: "https://gatehouse.example.com/console/enrol#x",
    code: "AAAA-BBBB-CCCC",
    expiresAt: "2030-01-01",
  };
  expect(csvOf([{ ...link, email: '=cmd"@example.com' }])).toBe(
    "email,link,code,expires".replace(/\w+/g, (name) => `"${name}"`) +
      '\r\n"\'=cmd""@example.com","https://gatehouse.example.com/console/enrol#x","AAAA-BBBB-CCCC","2030-01-01"\r\n',
  );
});
