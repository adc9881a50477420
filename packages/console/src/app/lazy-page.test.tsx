import { MantineProvider } from "@mantine/core";
import { screen } from "@testing-library/dom";
import { userEvent } from "@testing-library/user-event";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { t } from "../messages/i18n.ts";
import { click } from "../testing/console-page.tsx";
import { lazyPage } from "./lazy-page.tsx";

let root: Root | undefined;
beforeEach(() => sessionStorage.clear());
afterEach(() => {
  root?.unmount();
  vi.unstubAllGlobals();
});

function show(load: Parameters<typeof lazyPage>[0]) {
  const reload = vi.fn();
  const Page = lazyPage(load, reload);
  root = createRoot(document.body.appendChild(document.createElement("div")));
  root.render(
    <MantineProvider>
      <Page />
    </MantineProvider>,
  );
  return { reload };
}

/** Fails each time, as browsers do after the first failure. */
const failing = () => Promise.reject(new TypeError("Failed to fetch dynamically imported module"));

test("a page that cannot be loaded says so in its place, and the tab is reloaded when the server answers", async () => {
  let isUp = false;
  vi.stubGlobal("fetch", async () => {
    if (!isUp) throw new TypeError("Failed to fetch");
    return new Response("<!doctype html>");
  });
  const { reload } = show(failing);
  await screen.findByText(t("app.lazy.noServer.text"));
  expect(reload).not.toHaveBeenCalled();
  isUp = true;
  await click(userEvent.setup(), t("app.problem.retry"));
  await vi.waitFor(() => expect(reload).toHaveBeenCalledOnce());
});

test("a page that the browser does not load although the server answers is reloaded once, and then when asked", async () => {
  vi.stubGlobal("fetch", async () => new Response("<!doctype html>"));
  const first = show(failing);
  await vi.waitFor(() => expect(first.reload).toHaveBeenCalledOnce());
  root?.unmount();
  const { reload } = show(failing);
  await screen.findByText(t("app.lazy.notLoaded.text"));
  expect(reload).not.toHaveBeenCalled();
  await click(userEvent.setup(), t("app.lazy.reload"));
  expect(reload).toHaveBeenCalledOnce();
});

test("a server that does not answer is asked again, and the page opens if the browser loads it then", async () => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
  let isUp = false;
  show(async () => (isUp ? () => <h1>Webhooks</h1> : failing()));
  await screen.findByText(t("app.lazy.noServer.title"));
  isUp = true;
  await click(userEvent.setup(), t("app.problem.retry"));
  await screen.findByRole("heading", { name: "Webhooks" });
});

test("preloading a page does not fail", async () => {
  const Page = lazyPage(() => Promise.reject(new Error("offline")));
  await Page.preload();
});
