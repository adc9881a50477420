/** Runs before each file of component tests. */
import { notifications } from "@mantine/notifications";
import { configure } from "@testing-library/dom";
import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from "vitest";
import { palette } from "../app/palette.tsx";
import { resumeRequests } from "../app/session-end.ts";
import { speedUpComputedStyles } from "./computed-style.ts";
import { closeConsole } from "./console-page.tsx";
import { mockApi, mockServer } from "./mock-api.ts";

configure({
  // A busy machine takes longer than the default of one second.
  asyncUtilTimeout: 20_000,
  // Computing what assistive technology sees takes most of a query's time. Hidden elements are not rendered here.
  defaultHidden: true,
  // The whole document as the message of a failure hides what failed.
  getElementError: (message) => new Error(message ?? "The element was not found."),
});

if (document.defaultView !== null) speedUpComputedStyles(document.defaultView);

// happy-dom has no document.fonts, which text areas that grow with their text listen to.
Object.defineProperty(document, "fonts", { configurable: true, value: new EventTarget() });

beforeAll(() => mockServer.listen({ onUnhandledRequest: "error" }));
beforeEach(() => {
  mockApi.reset();
  // A notice may have appeared after the end of the previous test.
  notifications.clean();
});
afterEach(async () => {
  await mockApi.settled();
  closeConsole();
  palette.close();
  notifications.clean();
  resumeRequests();
  await mockApi.settled();
  expect(mockApi.violations()).toEqual([]);
});
afterAll(async () => {
  // A page that loads without a window would stay broken in the files after this one.
  await vi.dynamicImportSettled();
  mockServer.close();
});
