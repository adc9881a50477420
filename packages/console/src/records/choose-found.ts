import type { KeyboardEvent } from "react";

/**
 * Props of a field that searches a list of choices. Enter chooses the choice with this name, or the first one that
 * contains the text. While the list is open, Enter never submits the form, which would drop the text.
 */
export const choosesFound = {
  // The field handles the key first. It prevents the default if a choice was highlighted.
  wrapperProps: {
    onKeyDown(event: KeyboardEvent<HTMLElement>) {
      const field = event.target;
      if (event.key !== "Enter" || event.defaultPrevented || event.nativeEvent.isComposing) return;
      if (!(field instanceof HTMLInputElement) || field.getAttribute("aria-expanded") !== "true") return;
      event.preventDefault();
      const text = field.value.trim().toLowerCase();
      if (text === "") return;
      const list = document.getElementById(field.getAttribute("aria-controls") ?? "");
      const choices = [...(list?.querySelectorAll<HTMLElement>("[data-combobox-option]") ?? [])];
      const nameOf = (choice: HTMLElement) => (choice.textContent ?? "").trim().toLowerCase();
      // A list that the server searches may still show the choices for an earlier text.
      const found =
        choices.find((choice) => nameOf(choice) === text) ?? choices.find((choice) => nameOf(choice).includes(text));
      // A click on the choice that is selected already could remove it.
      if (found?.getAttribute("aria-selected") !== "true") found?.click();
    },
  },
};
