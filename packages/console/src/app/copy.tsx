/** Copies text, even from pages that were not loaded over TLS. Browsers then offer no clipboard. */
import { Button, type ButtonProps } from "@mantine/core";
import { useState } from "react";
import { t } from "../messages/i18n.ts";

const shownMs = 2_000;

async function copyText(text: string): Promise<boolean> {
  try {
    // Undefined in insecure contexts, despite its type.
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** The method of old browsers, which insecure contexts still allow. */
function copyBySelection(text: string): boolean {
  const { activeElement } = document;
  const area = document.createElement("textarea");
  area.value = text;
  area.style.cssText = "position:fixed;opacity:0";
  // Inside a dialog, focus cannot leave the dialog.
  const place = activeElement?.closest("[role=dialog]") ?? document.body;
  place.append(area);
  area.select();
  try {
    return document.execCommand("copy");
  } catch {
    return false;
  } finally {
    area.remove();
    if (activeElement instanceof HTMLElement) activeElement.focus();
  }
}

interface CopyTextProps extends ButtonProps {
  readonly text: string;
  /** The label of the button. */
  readonly children: string;
  readonly "data-autofocus"?: boolean;
}

/** A button that copies a text, and says whether that succeeded. */
export function CopyText({ text, children, ...button }: CopyTextProps) {
  const [result, setResult] = useState<"copied" | "failed">();
  const copy = async () => {
    setResult((await copyText(text)) ? "copied" : "failed");
    setTimeout(() => setResult(undefined), shownMs);
  };
  return (
    <Button {...button} onClick={() => void copy()} aria-live="polite">
      {result === "copied" ? t("common.copied") : result === "failed" ? t("common.copyFailed") : children}
    </Button>
  );
}
