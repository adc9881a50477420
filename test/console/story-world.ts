/** Common parts of the files of stories: a world, its owner's key, and functions named after elements on the screen. */
import { isWrite } from "@gatehouse/contract/operation";
import { operations } from "@gatehouse/contract/operations/all";
import { afterAll, beforeAll, expect } from "vitest";
import {
  type ConsoleWorld,
  hasBrowser,
  openConsoleWorld,
  type Visit,
  type VisitOptions,
  withoutBrowser,
} from "./console-world.ts";

export interface StoryWorld {
  /** Available only within tests, like all of the following. */
  readonly world: ConsoleWorld;
  readonly client: ConsoleWorld["client"];
  /** The key of an owner. */
  readonly owner: string;
  /** Signs in as the owner, unless another key is given. */
  visit(options?: VisitOptions): Promise<Visit>;
  /** Signs in as an auditor. Leaving fails if the console sent a request that changes something. */
  visitAsAuditor(options?: Omit<VisitOptions, "key">): Promise<Visit>;
  /** Returns the id of a record by its name. */
  idOf(path: string, name: string): Promise<string>;
}

/** Call it in a `describe`. */
export function storyWorld(): StoryWorld {
  let opened: { readonly world: ConsoleWorld; readonly owner: string } | undefined;
  let auditor: string | undefined;
  beforeAll(async () => {
    const world = await openConsoleWorld();
    opened = { world, owner: await world.keyOf("OWNER") };
  });
  afterAll(() => opened?.world.close());
  const now = () => {
    if (opened === undefined) throw new Error("the world of the stories is not open yet");
    return opened;
  };
  return {
    get world() {
      return now().world;
    },
    get client() {
      return now().world.client;
    },
    get owner() {
      return now().owner;
    },
    visit: (options = {}) => now().world.visit({ key: now().owner, ...options }),
    async visitAsAuditor(options = {}) {
      auditor ??= await now().world.keyOf("AUDITOR");
      const visit = await now().world.visit({ ...options, key: auditor });
      const changes = changesSentBy(visit);
      return {
        ...visit,
        async leave() {
          await visit.leave();
          expect(changes).toEqual([]);
        },
      };
    },
    async idOf(path, name) {
      const { body } = await now().world.client.get(`/tenants/${path}?filter[name]=${encodeURIComponent(name)}`);
      return body.data[0].id;
    },
  };
}

export function warnIfSkipped(): void {
  if (!hasBrowser) console.warn(`The console is not tested: ${withoutBrowser}.`);
}

export const heading = ({ page }: Visit, name: string | RegExp) => page.getByRole("heading", { level: 1, name });
export const button = ({ page }: Visit, name: string | RegExp) => page.getByRole("button", { name, exact: true });
export const inDialog = ({ page }: Visit, name: string | RegExp) =>
  page.getByRole("dialog").getByRole("button", { name, exact: true });
/** Chooses an action in the menu "More" of a record. */
export async function chooseAction(visit: Visit, name: string): Promise<void> {
  await button(visit, "More").click();
  await visit.page.getByRole("menuitem", { name, exact: true }).click();
}
export const region = ({ page }: Visit, name: string | RegExp) => page.getByRole("region", { name, exact: true });
export const effectOf = ({ page }: Visit) => page.getByRole("region", { name: "Effect of this change" });

/** Reviews the changes in a form and saves them. @param label of the button that saves the form */
export async function review(visit: Visit, label: string): Promise<void> {
  await inDialog(visit, "Review").click();
  await effectOf(visit).waitFor();
  await inDialog(visit, label).click();
}

/** Questions that use other methods than GET, as patterns of their paths. */
const questions = operations
  .filter((operation) => operation.method !== "GET" && !isWrite(operation))
  .map(({ path }) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+")}$`));

/** Records the requests that a page sends from now on and that change something, or would. */
export function changesSentBy({ page }: Visit): readonly string[] {
  const sent: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (request.method() === "GET" || questions.some((question) => question.test(pathname))) return;
    sent.push(`${request.method()} ${pathname}`);
  });
  return sent;
}

/** Labels of buttons that change something, or open a form. */
const writing =
  /^(create|invite|edit|delete|deactivate|reactivate|add|more(?! filters)|remove|move|reorder|assign|rotate|restore|redeliver|disconnect|connect|save|review|discard|revoke|replace|give|take|deliver|put|make|send)\b/i;

/** Returns the controls of the page that change something, or lead to a form. A page has none for a read-only key. */
export async function controlsThatWrite({ page }: Visit): Promise<readonly string[]> {
  const main = page.locator("main");
  const found = main
    .getByRole("button", { name: writing })
    .or(main.locator("a[href*='new=1']"))
    .or(
      main.locator(
        "[draggable=true], [contenteditable=true], textarea, input[type=checkbox]:not([role=switch], [data-reads])",
      ),
    )
    .or(page.getByRole("dialog"));
  return await found.evaluateAll((all: readonly { readonly outerHTML: string }[]) =>
    all.map(({ outerHTML }) => outerHTML.slice(0, 160)),
  );
}

/** Waits until all requests of the page have completed. */
export async function isQuiet({ page }: Visit): Promise<void> {
  await expect.poll(() => page.locator("[aria-busy=true]").count()).toBe(0);
}

/** @param where names the place in the error, if a control is found */
export async function offersNothing(visit: Visit, where: string): Promise<void> {
  await isQuiet(visit);
  expect(await controlsThatWrite(visit), where).toEqual([]);
}

/** Narrows users by search, order and status until one is left. Each step is in the address. */
export async function narrowUsers(visit: Visit): Promise<void> {
  const { page } = visit;
  await visit.open("/users");
  await page.getByText("1–25 of 41 results").waitFor();
  await page.getByRole("button", { name: "Page 2" }).click();
  await page.getByText("26–41 of 41 results").waitFor();
  await page.getByRole("searchbox").fill("agent");
  await page.waitForURL("**/users?q=agent");
  await page.getByText("6 results", { exact: true }).waitFor();
  await button(visit, "Email address").click();
  await page.waitForURL(/sort=-email/);
  await page.locator("tbody tr").first().getByText("agent-06@example.com").waitFor();
  await page.getByRole("combobox", { name: "Status" }).click();
  await page.getByRole("option", { name: "Pending" }).click();
  await page.waitForURL(/status=pending/);
  await page.getByText("1 result", { exact: true }).waitFor();
}

/** Creates a policy that lets one user reach the resource "Logs". @returns a time before the policy */
export async function giveLogs({ client }: StoryWorld, user: string, logs: string): Promise<string> {
  const { body: before } = await client.get("/tenants/events?sort=-position&limit=1");
  const policy = { name: "Logs for sellers", type: "PRIVATE", action: true, users: [user], resources: [logs] };
  expect((await client.post("/tenants/policies", policy)).status).toBe(201);
  return before.data[0].createdAt;
}
