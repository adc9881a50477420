import { isValidElement, type ReactElement } from "react";
import { expect, test } from "vitest";
import { WholeWords } from "./whole-words.tsx";

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
