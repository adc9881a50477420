/** The text editor of a rule, with completion, and with the server's errors at their position while typing. */
import { autocompletion, type CompletionContext, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { type Diagnostic, linter } from "@codemirror/lint";
import { EditorState, type Text } from "@codemirror/state";
import { drawSelection, EditorView, keymap, placeholder } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { api } from "../../app/api.ts";

interface RuleTextProps {
  readonly value: string;
  readonly onChange: (text: string) => void;
  readonly labelledBy: string;
  /** The nonce of the page, for the styles of the editor. */
  readonly nonce: string;
}

export function RuleText({ value, onChange, labelledBy, nonce }: RuleTextProps) {
  const container = useRef<HTMLDivElement>(null);
  const editor = useRef<EditorView>(null);
  const change = useRef(onChange);
  change.current = onChange;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the editor owns its text; the effect below sets a new one
  useEffect(() => {
    if (container.current === null) return;
    const view = new EditorView({
      parent: container.current,
      state: EditorState.create({
        doc: value,
        extensions: [
          EditorView.cspNonce.of(nonce),
          history(),
          drawSelection(),
          EditorView.lineWrapping,
          autocompletion({ override: [complete], icons: false }),
          linter(check, { delay: 300 }),
          // No binding for Tab: Tab leaves the editor, like every other field.
          keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
          placeholder("device.posture.diskEncrypted == true"),
          EditorView.contentAttributes.of({ "aria-labelledby": labelledBy, "aria-multiline": "true" }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) change.current(update.state.doc.toString());
          }),
          editorTheme,
        ],
      }),
    });
    editor.current = view;
    return () => view.destroy();
  }, []);
  useEffect(() => {
    const view = editor.current;
    if (view === null || view.state.doc.toString() === value) return;
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
  }, [value]);
  return <div ref={container} className="rule-text" />;
}

const editorTheme = EditorView.theme({
  "&": {
    border: "1px solid var(--mantine-color-default-border)",
    borderRadius: "6px",
    color: "var(--mantine-color-text)",
  },
  "&.cm-focused": { outline: "2px solid var(--mantine-primary-color-filled)" },
  ".cm-content": { fontFamily: "var(--mantine-font-family-monospace)", minHeight: "110px", caretColor: "currentColor" },
  ".cm-cursor": { borderLeftColor: "currentColor" },
  ".cm-placeholder": { color: "var(--mantine-color-dimmed)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    background: "var(--mantine-primary-color-light-hover)",
  },
  ".cm-tooltip": {
    background: "var(--mantine-color-body)",
    color: "var(--mantine-color-text)",
    border: "1px solid var(--mantine-color-default-border)",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { background: "var(--mantine-primary-color-filled)" },
});

/** The server's errors. If the request fails, reports none: the form reports the failure when it is sent. */
async function check(view: EditorView): Promise<readonly Diagnostic[]> {
  const { doc } = view.state;
  const rule = doc.toString();
  if (rule.trim() === "") return [];
  const report = await api.post("/tenants/admission-rules/check", { body: { rule } }).catch(() => undefined);
  return (report?.errors ?? []).map(({ message, line, column }) => {
    const from = offsetOf(doc, line, column);
    return { from, to: Math.max(from, Math.min(wordEnd(rule, from), doc.length)), severity: "error", message };
  });
}

/** @param column counted in Unicode characters, starting at 1 */
function offsetOf(doc: Text, line: number, column: number): number {
  const { from, text } = doc.line(Math.min(line, doc.lines));
  return Math.min(from + [...text].slice(0, column - 1).join("").length, doc.length);
}

function wordEnd(text: string, from: number): number {
  return from + Math.max(1, /^\w*/.exec(text.slice(from))?.[0].length ?? 1);
}

const names = {
  "": [
    "user",
    "device",
    "session",
    "source",
    "resource",
    "now",
    "has",
    "size",
    "duration",
    "timestamp",
    "true",
    "false",
  ],
  "user.": ["email", "firstName", "lastName", "status", "groups", "department", "contractor"],
  "device.": ["name", "os", "osVersion", "appVersion", "hardwareId", "tags", "agent", "posture"],
  "device.posture.": ["diskEncrypted", "osUpToDate", "managedBy"],
  "session.": ["authenticatedAt", "age", "methods", "provider"],
  "source.": ["ip", "country"],
  "resource.": ["name", "type"],
  "now.": ["getHours", "getMinutes", "getDayOfWeek", "getDate", "getMonth", "getFullYear"],
} as const;
const methods = ["startsWith", "endsWith", "contains", "matches", "lowerAscii", "size", "exists", "all"];

function complete(context: CompletionContext) {
  const word = context.matchBefore(/[\w.]+/);
  if (word === null && !context.explicit) return null;
  const text = word?.text ?? "";
  const dot = text.lastIndexOf(".") + 1;
  const known: readonly string[] = names[text.slice(0, dot) as keyof typeof names] ?? methods; // other objects have no known properties
  return {
    from: (word?.from ?? context.pos) + dot,
    options: known.map((label) => ({ label, type: label.startsWith("get") ? "method" : "property" })),
    validFor: /^\w*$/,
  };
}
