import { expect, test } from "vitest";
import { isDatabaseUrl, placeOfDatabase, urlsOfHosts } from "./database-url.ts";

test.each([
  ["postgres://u:p@db.example.com/gatehouse", ["postgres://u:p@db.example.com/gatehouse"]],
  ["postgres://u:p@/gatehouse?host=/run/postgresql", ["postgres://u:p@/gatehouse?host=/run/postgresql"]],
  [
    "postgres://u:p%2C@a.example.com:5433,b.example.com/gatehouse?target_session_attrs=read-write&sslmode=require",
    [
      "postgres://u:p%2C@a.example.com:5433/gatehouse?sslmode=require",
      "postgres://u:p%2C@b.example.com/gatehouse?sslmode=require",
    ],
  ],
  [
    "postgresql://u@[2001:db8::1]:5432,[2001:db8::2]:5432/gatehouse?target_session_attrs=primary",
    ["postgresql://u@[2001:db8::1]:5432/gatehouse", "postgresql://u@[2001:db8::2]:5432/gatehouse"],
  ],
])("%s names the servers", (url, urls) => {
  expect(urlsOfHosts(url)).toEqual(urls);
});

test.each([
  "postgres://u:p@a.example.com,b.example.com/gatehouse?target_session_attrs=standby",
  "postgres://u:p@a.example.com,,b.example.com/gatehouse",
  "postgres://u:p@a.example.com:port,b.example.com/gatehouse",
  "mysql://a.example.com/gatehouse",
])("%s is refused", (url) => {
  expect(isDatabaseUrl(url)).toBe(false);
});

test("the place of a database names the hosts without secrets", () => {
  const url = "postgres://user:secret@a.example.com:5433,b.example.com/gatehouse?sslcert=secret";
  expect(placeOfDatabase(url)).toBe("a.example.com:5433,b.example.com/gatehouse");
});
