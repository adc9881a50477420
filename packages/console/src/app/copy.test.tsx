import { MantineProvider } from "@mantine/core";
import { screen } from "@testing-library/dom";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, expect, test, vi } from "vitest";
import { t } from "../messages/i18n.ts";
import { CopyText } from "./copy.tsx";

let root: Root | undefined;
afterEach(() => {
  root?.unmount();
  vi.unstubAllGlobals();
  Reflect.deleteProperty(document, "execCommand");
});

/** A page without TLS has no clipboard. @param allowed whether the old way of copying works */
function showInsecure(allowed: boolean): string[] {
  const copied: string[] = [];
  vi.stubGlobal("navigator", { clipboard: undefined });
  Object.defineProperty(document, "execCommand", {
    configurable: true,
    value: () => {
      copied.push(document.querySelector("textarea")?.value ?? "");
      return allowed;
    },
  });
  root = createRoot(document.body.appendChild(document.createElement("div")));
  root.render(
    <MantineProvider>
      <CopyText text="the secret">Copy</CopyText>
    </MantineProvider>,
  );
  return copied;
}

test("copies on a page without TLS", async () => {
  const copied = showInsecure(true);
  (await screen.findByRole("button", { name: "Copy" })).click();
  await screen.findByRole("button", { name: t("common.copied") });
  expect(copied).toEqual(["the secret"]);
});

test("says that copying failed", async () => {
  showInsecure(false);
  (await screen.findByRole("button", { name: "Copy" })).click();
  await screen.findByRole("button", { name: t("common.copyFailed") });
});
