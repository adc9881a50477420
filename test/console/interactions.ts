/** Counts what a person does on a page, from the events in the page. */
import type { Locator } from "playwright-core";
import { expect } from "vitest";
import type { Visit } from "./console-world.ts";

export interface Interactions {
  /** Clicks, typed fields and keys that act, such as Enter. Tab only moves the focus and is not counted. */
  count(): Promise<number>;
  /** The counted interactions, for messages of failed tests. */
  list(): Promise<readonly string[]>;
  /** Fails if the mouse was used. */
  expectNoMouse(): Promise<void>;
}

const bindingName = "recordInteraction";

/**
 * Runs in each page. A field counts once, however much is typed into it and whether a click leads into it. Opening a
 * list and choosing from it count separately. Playwright stops clicks that would miss their target at the window,
 * before the document has them.
 */
const recorder = `{
  const isTyped = (element) =>
    element instanceof HTMLTextAreaElement || element.isContentEditable === true ||
    (element instanceof HTMLInputElement && !["checkbox", "radio", "button", "submit", "file"].includes(element.type));
  const nameOf = (element) =>
    (element.getAttribute?.("aria-label") || element.textContent || element.getAttribute?.("placeholder") || element.tagName)
      .trim().slice(0, 40);
  let typedInto;
  document.addEventListener("pointerdown", (event) => {
    if (!event.isTrusted) return;
    const opensList = event.target.closest("[role=combobox], [aria-haspopup=listbox]") !== null;
    if (!isTyped(event.target) || opensList) ${bindingName}("click " + nameOf(event.target));
  }, true);
  addEventListener("input", ({ target }) => {
    if (!isTyped(target) || target === typedInto) return;
    typedInto = target;
    ${bindingName}("type " + nameOf(target));
  }, true);
  addEventListener("focusout", () => { typedInto = undefined; }, true);
  addEventListener("keydown", ({ isTrusted, key, ctrlKey, metaKey, target }) => {
    if (!isTrusted || ["Tab", "Shift", "Control", "Alt", "Meta"].includes(key)) return;
    const types = key.length === 1 || key === "Backspace" || key === "Delete";
    if (types && isTyped(target) && !ctrlKey && !metaKey) return;
    ${bindingName}("key " + (ctrlKey || metaKey ? "Ctrl " : "") + key);
  }, true);
}`;

/** Call it before the first page is opened. */
export async function countInteractions({ page, context }: Visit): Promise<Interactions> {
  const found: string[] = [];
  await context.exposeBinding(bindingName, (_source, what: string) => {
    found.push(what);
  });
  await context.addInitScript(recorder);
  // Events that the page has seen are reported before it answers.
  const list = async () => {
    await page.evaluate("0");
    return found;
  };
  return {
    list,
    count: async () => (await list()).length,
    expectNoMouse: async () => {
      expect((await list()).filter((what) => what.startsWith("click"))).toEqual([]);
    },
  };
}

/** Runs in the page. The compiler does not know the document there. */
const hasFocus = (element: unknown) => element === (globalThis as unknown as PageGlobals).document.activeElement;

interface PageGlobals {
  readonly document: { readonly activeElement: unknown };
}

/** More elements than any page has before its content and its form. */
const mostTabs = 150;

/** Moves the focus with the Tab key until an element has it. */
export async function tabTo({ page }: Visit, target: Locator): Promise<void> {
  await target.waitFor();
  for (let pressed = 0; pressed < mostTabs; pressed += 1) {
    if (await target.evaluate(hasFocus)) return;
    await page.keyboard.press("Tab");
  }
  expect.fail(`Tab does not reach ${target}`);
}

/** Moves the focus to a control with Tab, and presses a key on it. */
export async function pressOn(visit: Visit, target: Locator, key: "Enter" | "Space"): Promise<void> {
  await tabTo(visit, target);
  await visit.page.keyboard.press(key);
}

/** Moves the focus to a field with Tab, and types into it in place of its content. */
export async function typeInto(visit: Visit, field: Locator, text: string): Promise<void> {
  await tabTo(visit, field);
  // A browser selects the content of an input that Tab reaches.
  await visit.page.keyboard.type(text);
}

/** Finds an option by typing into a list that can be searched, and chooses it with the keyboard. */
export async function chooseByTyping(visit: Visit, list: Locator, text: string, option: Locator): Promise<void> {
  const { page } = visit;
  await typeInto(visit, list, text);
  // The list shows what it found before until the server has answered.
  const wanted = await option.textContent();
  await expect.poll(() => page.getByRole("option").first().textContent()).toBe(wanted);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
}
