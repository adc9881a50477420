import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, test } from "vitest";
import { en } from "./en/en.ts";
import { formatDate, formatList, formatNumber, formatRelativeTime } from "./format.ts";
import { t } from "./i18n.ts";
import { RichText } from "./rich-text.tsx";

describe("a message", () => {
  test("holds its values as they are", () => {
    expect(t("groups.delete.title", { name: `"R&D" <{{name}}> $t(common.save)` })).toBe(
      `Delete group “"R&D" <{{name}}> $t(common.save)”?`,
    );
  });

  test("isolates a value that would turn the text around it", () => {
    expect(t("groups.delete.title", { name: "\u202eevil" })).toBe("Delete group “\u2068\u202eevil\u2069”?");
    expect(t("groups.delete.title", { name: "\u05e9\u05dc\u05d5\u05dd" })).toContain("\u2068\u05e9");
  });

  test("selects the plural form and groups the digits of numbers", () => {
    expect(t("records.effect.users", { count: 1 })).toBe("1 user");
    expect(t("records.effect.users", { count: 1234 })).toBe("1,234 users");
  });

  test("renders its elements, and a value that looks like markup as text", () => {
    const html = renderToStaticMarkup(
      createElement(RichText, {
        message: "records.effect.test",
        values: { name: "<test>R&D</test>", count: 2 },
        elements: { test: createElement("b") },
      }),
    );
    expect(html).toBe("<b>&lt;test&gt;R&amp;D&lt;/test&gt;</b> in 2 cases");
  });
});

describe("formats", () => {
  const now = Date.parse("2026-03-03T09:30:00Z");

  test.each([
    ["2026-03-03T09:29:50Z", "just now"],
    ["2026-03-03T09:29:00.400Z", "1\u00a0minute ago"],
    ["2026-03-03T09:25:00Z", "5\u00a0minutes ago"],
    ["2026-03-02T09:00:00Z", "yesterday"],
    ["2026-03-05T09:30:00Z", "in 2\u00a0days"],
    ["2026-01-15T12:00:00Z", "15 Jan 2026"],
  ])("%s as %s", (at, text) => {
    expect(formatRelativeTime(at, now)).toBe(text);
  });

  test("dates, numbers and lists in one locale", () => {
    expect([formatDate("2026-03-03T12:00:00Z"), formatNumber(1234.5), formatList(["a", "b", "c"])]).toEqual([
      "3 Mar 2026",
      "1,234.5",
      "a, b and c",
    ]);
  });
});

const withoutParts = (message: string): string =>
  message.replaceAll(/<(\w+)(?:\/>|>(.*?)<\/\1>)/gs, "$2").replaceAll(/\{\{\w+(, number)?\}\}/g, "");

/** Removes complete elements and placeholders. The remaining text must contain neither tags nor braces. */
const incomplete = /[<>{}]/;

/** The faults of all messages. */
function faultsOf(isFaulty: (message: string, key: string) => boolean): readonly string[] {
  const faults: string[] = [];
  const visit = (key: string, value: unknown) => {
    if (typeof value !== "string")
      for (const [name, inner] of Object.entries(value as object)) visit(`${key}.${name}`, inner);
    else if (isFaulty(value, key)) faults.push(key);
  };
  visit("en", en);
  return faults;
}

test("every message has no stray spaces, and only complete elements and placeholders", () => {
  const isFaulty = (message: string) =>
    message !== message.trim() || /\s{2}/.test(message) || message === "" || incomplete.test(withoutParts(message));
  expect(faultsOf(isFaulty)).toEqual([]);
});

test("titles of dialogs set the names of records in quotation marks, and prose has no straight ones", () => {
  const isTitle = (key: string) =>
    /(?:\.title|Title|\.edit)(?:[A-Z]\w*)?$/.test(key) && key !== "en.common.documentTitle";
  const unquoted = /(?<!“)\{\{(?:name|user|group|policy|gateway|resource|device)\}\}/;
  expect(faultsOf((message, key) => isTitle(key) && unquoted.test(message))).toEqual([]);
  expect(faultsOf((message) => /["']/.test(message.replaceAll(/<code>.*?<\/code>/g, "")))).toEqual([]);
});
