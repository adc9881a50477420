/** A dialog over the page. Focus enters at its first field, and returns to the element that opened it. */
import { Modal } from "@mantine/core";
import { type ReactNode, useEffect, useState } from "react";
import { useScrollLock } from "../app/scroll-lock.ts";
import { t } from "../messages/i18n.ts";

/** The width in pixels. A form and the review of its changes share it, so that the dialog keeps its size. */
const dialogWidth = 700;

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** False if a click outside must not close the dialog, because it would lose input. */
  readonly closeOnClickOutside?: boolean;
  /** False for a dialog that only its own buttons close. */
  readonly closable?: boolean;
  readonly children: ReactNode;
}

/** An open dialog. Unmount it to close it. */
export function Dialog({ title, onClose, closeOnClickOutside = true, closable = true, children }: DialogProps) {
  useReturnedFocus();
  useScrollLock();
  return (
    <Modal
      opened
      onClose={onClose}
      title={<bdi>{title}</bdi>}
      size={dialogWidth}
      lockScroll={false}
      closeOnClickOutside={closeOnClickOutside && closable}
      closeOnEscape={closable}
      withCloseButton={closable}
      closeButtonProps={{ "aria-label": t("common.close") }}
    >
      <div ref={startInside}>{children}</div>
    </Modal>
  );
}

/** Returns the focus when the component unmounts. The library does so only for dialogs that stay mounted. */
function useReturnedFocus(): void {
  const [opener] = useState(() => document.activeElement);
  // An item of a menu is gone by then. Its menu's button is not.
  const [menu] = useState(() => opener?.closest("[role=menu]")?.getAttribute("aria-labelledby") ?? "");
  const [panels] = useState(() => panelsAround(opener));
  useEffect(
    () => () => {
      setTimeout(() => {
        if (!isFocusLost()) return;
        const isGone = !(opener instanceof HTMLElement) || !opener.isConnected || opener === document.body;
        const target = isGone ? (document.getElementById(menu) ?? titleOf(panels)) : opener;
        if (target instanceof HTMLElement) focusAnyway(target);
        if (!isGone) followRemoval(opener, panels);
      });
    },
    [opener, menu, panels],
  );
}

function isFocusLost(): boolean {
  return document.activeElement === null || document.activeElement === document.body;
}

/** The panels that contain an element, from the inside. */
function panelsAround(element: Element | null): readonly Element[] {
  const panel = element?.parentElement?.closest("section.panel") ?? null;
  return panel === null ? [] : [panel, ...panelsAround(panel)];
}

/** The title of the first panel that still exists, or else of the page. */
function titleOf(panels: readonly Element[]): Element | null {
  return panels.find(({ isConnected }) => isConnected)?.querySelector("h2") ?? document.querySelector("main h1");
}

/**
 * A change can make its own button unnecessary, which disappears when the page is read again. The focus then moves to
 * the title of the panel, unless it has left the button.
 */
function followRemoval(opener: Element, panels: readonly Element[]): void {
  const observer = new MutationObserver(() => {
    if (opener.isConnected && document.activeElement === opener) return;
    observer.disconnect();
    const title = titleOf(panels);
    if (isFocusLost() && title instanceof HTMLElement) focusAnyway(title);
  });
  observer.observe(document.body, { childList: true, subtree: true });
}

/** Focuses an element, also one such as a heading that the keyboard does not reach. */
export function focusAnyway(element: HTMLElement): void {
  if (element.tabIndex < 0) element.tabIndex = -1;
  element.focus({ preventScroll: true });
}

/** A ref for the content of a dialog: the focus starts there, not at the button that closes the dialog. */
function startInside(content: HTMLElement | null): void {
  if (content === null || content.querySelector("[data-autofocus]") !== null) return;
  focusFirstField(content);
  if (content.querySelector("[data-autofocus]") !== null) return;
  content.querySelector("button:not(:disabled), a[href]")?.setAttribute("data-autofocus", "true");
}

/** A ref for the fields of a dialog: marks the first of them for the initial focus. */
export function focusFirstField(fields: HTMLElement | null): void {
  fields
    ?.querySelector("input:not(:disabled, [type=file]), textarea:not(:disabled)")
    ?.setAttribute("data-autofocus", "true");
}
