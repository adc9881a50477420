/** Opens the console in the test's window, and finds elements by the text that a person would read. */
import { screen, waitFor, within } from "@testing-library/dom";
import { type UserEvent, userEvent } from "@testing-library/user-event";
import { createRoot, type Root } from "react-dom/client";
import { Console } from "../app/console.tsx";
import { pageSets } from "../pages/all.ts";

let root: Root | undefined;

/** @param path such as `/groups?new=1` */
export function openConsole(path: string): UserEvent {
  window.history.replaceState(null, "", `/console${path}`);
  const user = userEvent.setup({ delay: null, pointerEventsCheck: 0 });
  const container = document.body.appendChild(document.createElement("div"));
  root = createRoot(container);
  root.render(<Console nonce="" pageSets={pageSets} />);
  return user;
}

export function closeConsole(): void {
  root?.unmount();
  root = undefined;
  document.body.replaceChildren();
}

/** The path and query of the page, without the prefix of the console. */
export function currentPath(): string {
  return `${window.location.pathname}${window.location.search}`.replace(/^\/console/, "");
}

type Name = string | RegExp;

/** Waits for the title of the page. */
export function findTitle(name: Name): Promise<HTMLElement> {
  return screen.findByRole("heading", { level: 1, name });
}

/** Waits for a dialog with all fields of its form. */
export async function findDialog(name?: Name) {
  const dialog = await screen.findByRole("dialog", name === undefined ? {} : { name });
  await waitFor(() => {
    if (dialog.querySelector("form [aria-busy=true]") !== null) throw new Error("The form is not complete.");
  });
  return within(dialog);
}

export function waitForDialogToClose(): Promise<void> {
  return waitFor(() => {
    if (screen.queryByRole("dialog") !== null) throw new Error("The dialog is open.");
  });
}

/** A panel of a record's page. */
export async function findPanel(name: Name) {
  return within(await screen.findByRole("region", { name }));
}

/** Presses a button of the topmost dialog, or else of the page, as soon as it can be pressed. */
export async function click(user: UserEvent, name: Name): Promise<void> {
  const button = await waitFor(() => {
    const dialog = screen.queryAllByRole("dialog").at(-1);
    const found = within(dialog ?? document.body).getByRole<HTMLButtonElement>("button", { name });
    if (found.disabled) throw new Error(`The button ${String(name)} is disabled.`);
    return found;
  });
  await user.click(button);
}

/** Replaces the text of a field. */
export async function fill(user: UserEvent, name: Name, text: string): Promise<void> {
  const field = await screen.findByRole("textbox", { name });
  await user.clear(field);
  await user.click(field);
  if (text !== "") await user.paste(text);
}

/** Opens a list of choices, and takes one of them. */
export async function choose(user: UserEvent, name: Name, option: Name): Promise<void> {
  const field = await screen.findByRole("combobox", { name });
  await user.click(field);
  // Other lists of choices stay in the document while they are closed.
  const list = await waitFor(() => {
    const found = document.getElementById(field.getAttribute("aria-controls") ?? "");
    if (found === null) throw new Error("The list of choices is closed.");
    return found;
  });
  await user.click(await within(list).findByRole("option", { name: option }));
}

/** Opens the menu of a page, and takes one of its items. */
export async function chooseAction(user: UserEvent, menu: Name, item: Name): Promise<void> {
  await click(user, menu);
  await user.click(await screen.findByRole("menuitem", { name: item }));
}

/** Takes a form through its review. @param label of the button that saves */
export async function reviewAndSend(user: UserEvent, label: string): Promise<void> {
  await click(user, "Review");
  await click(user, label);
}
