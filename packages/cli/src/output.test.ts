import { expect, test, vi } from "vitest";
import { parse, stringify } from "yaml";
import { writeError, writeErrorLines, writeJson, writeLines, writeText } from "./output.ts";

const hostile = "a\u001b[2J\u0007\r\u007f\u0090\u009b1m b\nc";
const shown = "a\\u001b[2J\\u0007\\u000d\\u007f\\u0090\\u009b1m b";

/** Returns the text that the work writes to a stream. */
async function written(stream: NodeJS.WriteStream, work: () => unknown): Promise<string> {
  let text = "";
  const spy = vi.spyOn(stream, "write").mockImplementation((chunk, ...rest: unknown[]) => {
    text += String(chunk);
    const done = rest.at(-1) as (() => void) | undefined;
    done?.();
    return true;
  });
  try {
    await work();
  } finally {
    spy.mockRestore();
  }
  return text;
}

test("control characters are escaped, and a line stays one line", async () => {
  expect(await written(process.stdout, () => writeLines([hostile, "d"]))).toBe(`${shown}\\u000ac\nd\n`);
  expect(await written(process.stderr, () => writeErrorLines([hostile, "d"]))).toBe(`${shown}\\u000ac\nd\n`);
  expect(await written(process.stdout, () => writeText(hostile))).toBe(`${shown}\nc`);
  expect(await written(process.stderr, () => writeError(hostile))).toBe(`${shown}\nc`);
});

test("JSON and YAML keep their values", async () => {
  const value = { text: hostile, [hostile]: ["plain", "ü 漢 \u202e"] };
  const json = await written(process.stdout, () => writeJson(value));
  const yaml = await written(process.stdout, () => writeText(stringify(value)));
  expect(JSON.parse(json)).toEqual(value);
  expect(parse(yaml)).toEqual(value);
  expect(`${json}${yaml}`).not.toMatch(/[^\P{Cc}\n]/u);
});
