/**
 * How long the console takes to react to input: the time from an event to the next frame, by the browser's own clock.
 */
import type { Page } from "playwright-core";

/** Runs in each page, and records the longest event. Events below 16 ms, a frame, are not reported by the browser. */
export const eventTimes = `{
  globalThis.longestEvent = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) longestEvent = Math.max(longestEvent, duration);
  }).observe({ type: "event", durationThreshold: 16, buffered: false });
}`;

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Processor time in microseconds. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** The processor time of the longest task of a page's main thread, from a trace of Chromium. */
export function longestTaskMs(trace: Buffer): number {
  const { traceEvents } = JSON.parse(trace.toString()) as { readonly traceEvents: readonly TraceEvent[] };
  const threadOf = ({ pid, tid }: TraceEvent) => `${pid} ${tid}`;
  const main = new Set(
    traceEvents
      .filter(({ name, args }) => name === "thread_name" && args?.name === "CrRendererMain")
      .map((event) => threadOf(event)),
  );
  return (
    traceEvents.reduce(
      (longest, event) => (main.has(threadOf(event)) ? Math.max(longest, event.tdur ?? 0) : longest),
      0,
    ) / 1000
  );
}

interface Input {
  readonly name: string;
  /** The path of the page in the console. */
  readonly at: string;
  /** The element that shows that the page is ready. */
  readonly ready: string;
  readonly act: (page: Page) => Promise<unknown>;
}

const typing = { delay: 30 } as const;

export const inputs: readonly Input[] = [
  {
    name: "users: search, sort, select all, open the options",
    at: "users",
    ready: "tbody a",
    act: async (page) => {
      await page.getByRole("searchbox").pressSequentially("user-4242", typing);
      await page.locator("th button").first().click();
      await page.getByRole("checkbox", { name: "Select all rows on this page" }).click();
      await page.getByRole("button", { name: "List options" }).click();
    },
  },
  {
    name: "resources: open the form, choose a gateway",
    at: "resources",
    ready: "tbody a",
    act: async (page) => {
      await page.getByRole("button", { name: "Create resource" }).click();
      await page.getByRole("textbox", { name: "Name" }).pressSequentially("Wiki", typing);
      await page.getByRole("combobox", { name: "Gateways" }).click();
    },
  },
  {
    name: "policies: search among all, open the form",
    at: "policies",
    ready: ".policy a",
    act: async (page) => {
      await page.getByRole("searchbox").pressSequentially("policy 19", typing);
      await page.getByRole("button", { name: "Create policy" }).click();
      await page.getByRole("textbox", { name: "Name" }).pressSequentially("Office", typing);
    },
  },
  {
    name: "access: find a user and a resource",
    at: "access",
    ready: "main input",
    act: async (page) => {
      await page.getByRole("combobox", { name: "User", exact: true }).pressSequentially("user-4242", typing);
      await page.getByRole("option").first().click();
      await page.getByRole("combobox", { name: "Resource", exact: true }).pressSequentially("resource-42", typing);
    },
  },
  {
    name: "access: switch to the graph",
    at: "access",
    ready: "main input",
    act: (page) => page.getByText("Graph", { exact: true }).click(),
  },
  {
    name: "command palette: open, find, select",
    at: "users",
    ready: "tbody a",
    act: async (page) => {
      await page.keyboard.press("Control+k");
      await page.getByPlaceholder(/^Search pages/).pressSequentially("user-4242", typing);
      for (let step = 0; step < 4; step += 1) await page.keyboard.press("ArrowDown");
    },
  },
];
