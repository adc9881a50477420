import { existsSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { inOrder, mostlyWaits, slowFiles } from "../file-order.ts";

const listed = Object.keys(slowFiles);
const computing = listed.filter((file) => !mostlyWaits(file));

test.each(listed)("the slow file %s exists", (file) => {
  expect(existsSync(new URL(`../../${file}`, import.meta.url))).toBe(true);
});

const consoleTests = readdirSync(new URL("../console/", import.meta.url)).filter((file) => file.endsWith(".test.ts"));
test.each(consoleTests)("%s, which drives a browser, has a duration", (file) => {
  expect(listed).toContain(`test/console/${file}`);
});

test("each file starts once, and slower files of a kind start first", () => {
  const files = [...listed, "packages/server/src/one.test.ts", "packages/server/src/two.test.ts"];
  const order = inOrder(files.toReversed(), 4);
  expect(order.toSorted()).toEqual(files.toSorted());
  for (const isOfKind of [mostlyWaits, (file: string) => !mostlyWaits(file)]) {
    const seconds = order.filter(isOfKind).map((file) => slowFiles[file] ?? 0);
    expect(seconds).toEqual(seconds.toSorted((one, other) => other - one));
  }
});

test("half of the workers start with files that mostly wait, the others with files that compute", () => {
  expect(inOrder(listed, 4).slice(0, 4).map(mostlyWaits)).toEqual([true, true, false, false]);
});

test("files of one kind use all workers", () => {
  expect(inOrder(computing, 3)).toHaveLength(computing.length);
  const packets = listed.filter(mostlyWaits);
  expect(inOrder(packets, 3)).toEqual(
    packets.toSorted((one, other) => (slowFiles[other] ?? 0) - (slowFiles[one] ?? 0) || (one < other ? -1 : 1)),
  );
});
