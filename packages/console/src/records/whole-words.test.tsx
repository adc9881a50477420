import { isValidElement, type ReactElement } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import { expect, test } from "vitest";
import { WholeConditions, WholeNames, WholePhrases, WholeWords } from "./whole-words.tsx";

/** The words that stay on one line. */
function wholeWords(text: string): readonly unknown[] {
  const parts: unknown = WholeWords({ text });
  if (!Array.isArray(parts)) return [];
  return parts.flatMap((part: ReactElement<{ children: readonly unknown[] }>) =>
    part.props.children.flatMap((child) =>
      isValidElement<{ className?: string; children: string }>(child) &&
      child.props.className?.includes("whole-word") === true
        ? [child.props.children]
        : [],
    ),
  );
}

test.each([
  ["Wiki", []],
  ["engineer-01@example.com", ["engineer-01@example.com"]],
  ["Sales → agent-05-desktop and Wiki", ["agent-05-desktop"]],
])("%s", (text, words) => expect(wholeWords(text)).toEqual(words));

test("phrases end at commas and begin at arrows", () => {
  const parts: readonly ReactElement<{ children: readonly unknown[] }>[] = WholePhrases({
    text: "Sales, agent-01@example.com and 1 more → Jump hosts, if “Office hours” is met",
  });
  const phrases = parts.flatMap(({ props }) =>
    props.children.flatMap((child) => (isValidElement<{ children: string }>(child) ? [child.props.children] : [])),
  );
  expect(phrases).toEqual(["Sales,", "agent-01@example.com and 1 more", "→ Jump hosts,", "if “Office hours” is met"]);
});

test.each([
  ["device.agent == true", ["device.agent == true"]],
  ["a == true && b > 1 && c", ["a == true &&", "b > 1 &&", "c"]],
  ["(a || b) &&\n  c", ["(a ||", "b) &&", "  c"]],
])("the conditions of %j stay whole", (text, conditions) => {
  const container = document.createElement("pre");
  const root = createRoot(container);
  flushSync(() => root.render(<WholeConditions text={text} />));
  expect(container.textContent).toBe(text);
  const whole = [...container.querySelectorAll(".whole-condition")].map(({ textContent }) => textContent);
  expect(whole).toEqual(conditions);
  root.unmount();
});

test("each name of a list stays whole, with its comma and its conjunction", () => {
  const container = document.createElement("p");
  const root = createRoot(container);
  flushSync(() => root.render(<WholeNames names={["Logs", "Source code", "Staging and test databases"]} />));
  expect(container.textContent).toBe("Logs, Source code and Staging and test databases");
  const whole = [...container.querySelectorAll(".record-name")].map(({ textContent }) => textContent);
  expect(whole).toEqual(["Logs,", "Source code", "and Staging and test databases"]);
  root.unmount();
});
