import { expect, test } from "vitest";
import { nearestName } from "./nearest-name.ts";

const names = ["port", "host", "dataDir", "databaseUrl"];

test.each([
  ["prot", "port"],
  ["Host", "host"],
  ["data_dir", "dataDir"],
  ["databaseURL", "databaseUrl"],
  ["poort", "port"],
  ["data", "dataDir"],
  ["database", "databaseUrl"],
  ["p", undefined],
  ["colour", undefined],
  ["", undefined],
])("%s most likely means %s", (name, meant) => {
  expect(nearestName(name, names)).toBe(meant);
});
