/** The console in Chromium, with the real server and the example organisation. */
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { RoleType } from "@gatehouse/contract/permissions";
import { fillDemoTenant } from "@gatehouse/server/demo/fill-demo-tenant";
import { copyDatabase, createDatabase } from "@gatehouse/server/testing/test-database";
import { startTestServer, type TestClient, type TestServer } from "@gatehouse/server/testing/test-server";
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from "playwright-core";
import { expect } from "vitest";
import { chromiumFlags, chromiumPath, withoutBrowser } from "../chromium.ts";
import { waitLimitMs } from "../wait-limit.ts";

export { withoutBrowser };

const root = fileURLToPath(new URL("../../", import.meta.url));
/** Without a browser, these tests report that and are skipped. */
export const hasBrowser = chromiumPath !== undefined;

export interface ConsoleWorld {
  readonly url: string;
  /** The example organisation, with every permission. */
  readonly client: TestClient;
  readonly server: TestServer;
  /** A key with a role's permissions. */
  keyOf(role: RoleType): Promise<string>;
  /** A separate browser that is not signed in. */
  visit(options?: VisitOptions): Promise<Visit>;
  close(): Promise<void>;
}

export interface VisitOptions {
  readonly theme?: "light" | "dark";
  readonly width?: number;
  /** Whether the screen is a touch screen. */
  readonly touch?: boolean;
  /** Whether to open the public address, on which passkeys work. */
  readonly publicly?: boolean;
  /** Signs in with this key, without the page for it. */
  readonly key?: string;
  /** Opens another server than that of the world. */
  readonly url?: string;
  /** Uses a new profile of the browser, with an empty cache. */
  readonly fresh?: boolean;
}

export interface Visit {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Shows a page. If the console runs, it navigates inside the console, which takes a fifth of the time of a load. */
  open(path: string): Promise<void>;
  /** Loads a page by its address, like a person who types it or reloads the page. */
  load(path: string): Promise<void>;
  /** Statuses of responses that are expected to fail. */
  expectFailures(...statuses: number[]): void;
  /** Fails if the console logged an error, a request failed, or another host was contacted. */
  leave(): Promise<void>;
}

const bootstrapApiKey = "the-first-key-of-the-example-tenant";

/** A tab with its own profile. */
interface Tab {
  readonly context: BrowserContext;
  readonly page: Page;
}

/** Shared by all files of a worker, because starting a browser and filling the example organisation take seconds. */
interface Shared {
  readonly browser: Browser;
  /**
   * Tabs that no visit uses. The next visit gets one without cookies and storage, but with a warm process: loading the
   * console into a new profile takes 50% more processor time.
   */
  readonly idleTabs: Tab[];
  /** A database with the example organisation, which each file copies. */
  readonly template: string;
}

let shared: Promise<Shared> | undefined;

async function openShared(): Promise<Shared> {
  await promisify(execFile)(process.execPath, [path.join(root, "packages/console/build-if-changed.mjs")]);
  const database = await createDatabase();
  const server = await startTestServer({ connection: database.connection, bootstrapApiKey });
  await fillDemoTenant(server, database.connection);
  await server.close();
  if (chromiumPath === undefined) throw new Error(withoutBrowser);
  const browser = await chromium.launch({ executablePath: chromiumPath, args: chromiumFlags });
  return { browser, idleTabs: [], template: database.name };
}

export interface WorldOptions {
  /** The people of demo mode. */
  readonly demoPeople?: readonly string[];
}

export async function openConsoleWorld({ demoPeople }: WorldOptions = {}): Promise<ConsoleWorld> {
  shared ??= openShared();
  const { browser, idleTabs, template } = await shared;
  const database = await copyDatabase(template);
  let publicUrl = "";
  const server = await startTestServer({
    connection: database.connection,
    settings: {
      consoleFolder: path.join(root, "packages/console/dist"),
      publicUrl: () => publicUrl,
      demoPeople,
      // Identity providers of the stories.
      providerNetworks: ["127.0.0.0/8"],
    },
  });
  const url = await server.listen();
  // Browsers refuse passkeys on IP addresses.
  publicUrl = url.replace("127.0.0.1", "localhost");
  const client = server.client(bootstrapApiKey);
  const visits = new Set<BrowserContext>();
  return {
    url,
    client,
    server,
    async keyOf(role) {
      const { body, status } = await client.post("/tenants/api-keys", { name: `${role} key`, role });
      expect(status).toBe(201);
      return body.key;
    },
    async visit(options = {}) {
      const at = options.url ?? (options.publicly === true ? publicUrl : url);
      const isOrdinary = at === url && options.touch !== true && options.fresh !== true;
      const tab = (isOrdinary ? idleTabs.pop() : undefined) ?? (await newTab(browser, options));
      visits.add(tab.context);
      const opened = await visit(tab, at, options, async () => {
        if (isOrdinary) {
          await clear(tab, url);
          visits.delete(tab.context);
          idleTabs.push(tab);
        } else await tab.context.close();
      });
      if (options.key !== undefined)
        await opened.context.addCookies([await newSession(server.client(options.key), url)]);
      return opened;
    },
    async close() {
      for (const context of visits) await context.close();
      const closed = server.close();
      // Idle tabs may still have connections without a request, for which the server would wait.
      server.app.server.closeAllConnections();
      await closed;
      await database.drop();
    },
  };
}

async function newTab(browser: Browser, { touch = false }: VisitOptions): Promise<Tab> {
  const context = await browser.newContext({
    // Pictures and axe-core would capture animated elements at a random stage.
    reducedMotion: "reduce",
    hasTouch: touch,
    locale: "en-GB",
    timezoneId: "Europe/Berlin",
    permissions: ["clipboard-read", "clipboard-write"],
  });
  return { context, page: await context.newPage() };
}

/** Resets a tab after a visit. It stays on a page of the server, because another site would need another process. */
async function clear({ context, page }: Tab, url: string): Promise<void> {
  await page.evaluate("localStorage.clear(); sessionStorage.clear();");
  await page.unrouteAll();
  for (const event of ["console", "pageerror", "requestfailed", "request", "response"] as const) {
    page.removeAllListeners(event);
  }
  for (const other of context.pages()) if (other !== page) await other.close();
  await page.goto(`${url}/healthz`);
  await context.clearCookies();
}

async function visit(
  { context, page }: Tab,
  url: string,
  { theme = "light", width = 1280 }: VisitOptions,
  end: () => Promise<void>,
): Promise<Visit> {
  await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
  await page.setViewportSize({ width, height: 900 });
  page.setDefaultTimeout(waitLimitMs);
  const problems: string[] = [];
  let expected: readonly number[] = [];
  page.on("console", (message) => {
    // The browser's own message about a failed response, which is checked below.
    const isAnswer = message.text().startsWith("Failed to load resource");
    if (["error", "warning"].includes(message.type()) && !isAnswer) problems.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => problems.push(`page: ${error.message}`));
  page.on("requestfailed", (request) => {
    const reason = request.failure()?.errorText ?? "";
    // The page cancels a question if the user types on.
    if (reason !== "net::ERR_ABORTED") problems.push(`failed: ${request.url()} ${reason}`);
  });
  page.on("request", (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== "data:" && protocol !== "blob:" && origin !== url) problems.push(`elsewhere: ${request.url()}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400 && !expected.includes(response.status())) {
      problems.push(`answer: ${response.status()} ${response.url()}`);
    }
  });
  const load = async (at: string) => {
    await page.goto(`${url}/console${at}`);
  };
  return {
    page,
    context,
    async open(at) {
      if (!page.url().startsWith(`${url}/console/`) || !(await page.evaluate<boolean>(navigationTo(`/console${at}`)))) {
        await load(at);
      }
    },
    load,
    expectFailures(...statuses) {
      expected = statuses;
    },
    async leave() {
      // Requests that the page makes while it is left are not checked.
      const found = [...problems];
      await end();
      expect(found).toEqual([]);
    },
  };
}

/**
 * Runs in the page. Navigates with the console's router through a page without content, so that nothing of the previous
 * page remains. Returns false if the page must be loaded: it has no router, or a form that could block the navigation.
 */
const navigationTo = (path: string) => `(async () => {
  const hasRouter = "__TSR_index" in (history.state ?? {});
  const isConsole = document.querySelector("style[data-mantine-styles]") !== null;
  if (!hasRouter || !isConsole || document.querySelector("[role=dialog]") !== null) return false;
  history.pushState(null, "", "/console/-");
  const isEmpty = () => document.querySelector("main h1")?.textContent === "Page not found";
  const end = performance.now() + ${waitLimitMs};
  while (!isEmpty()) {
    if (performance.now() > end) return false;
    await new Promise((done) => requestAnimationFrame(done));
  }
  history.replaceState(null, "", ${JSON.stringify(path)});
  // The heading of the empty page must not be taken for that of the next one, which may be the same in a few tests.
  const shownBy = performance.now() + 2_000;
  while (isEmpty() && performance.now() < shownBy) await new Promise((done) => requestAnimationFrame(done));
  return true;
})()`;

/** Exchanges a key for the cookie of a new session, like the sign-in page does. */
async function newSession(client: TestClient, url: string) {
  const { status, headers, text } = await client.post("/console/session", undefined, {
    "sec-fetch-site": "same-origin",
  });
  expect(status, text).toBe(201);
  const [name, value] = headers["set-cookie"]?.split(";")[0]?.split("=") ?? [];
  if (name === undefined || value === undefined) throw new Error("the server set no cookie");
  return { name, value, url, httpOnly: true, sameSite: "Strict" as const };
}

export async function signIn(page: Page, key: string): Promise<void> {
  await page.getByRole("button", { name: "Use an API key" }).click();
  await page.locator("input[type=password]").fill(key);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("button", { name: "Account" }).waitFor();
}

const axeSource = readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface AxeViolation {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

type Theme = "light" | "dark";

interface Examined {
  /** Also examines the page behind an open dialog, which is hidden from assistive technology. */
  readonly withPage?: boolean;
}

/** Open dialogs that hide the page behind them, and open menus. */
const overlays = "[role=dialog][aria-modal=true], [role=menu]";

/**
 * Problems of any severity that axe-core finds on a page as it is, or in an open dialog or menu: by the rules of WCAG
 * 2.2 AA and by its best practices. axe-core runs all of these rules by default, except the one that is enabled below.
 */
export async function accessibilityProblems(page: Page, examined: Examined = {}): Promise<readonly string[]> {
  return problemsNow(page, examined, {});
}

/** The same in both themes, if the page follows the theme of the system. */
export async function accessibilityProblemsInBothThemes(
  page: Page,
  examined: Examined = {},
): Promise<readonly string[]> {
  const found = [...(await accessibilityProblems(page, examined))];
  if (await followsSystem(page)) {
    const current = await page.evaluate<Theme>("matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'");
    const other = current === "dark" ? "light" : "dark";
    await emulateTheme(page, other);
    // Themes differ in nothing but colours.
    const ofColours = await problemsNow(page, examined, { runOnly: rulesAboutColours });
    found.push(...ofColours.map((problem) => `${other}: ${problem}`));
    await emulateTheme(page, current);
  }
  return found;
}

const rulesAboutColours = { type: "rule", values: ["color-contrast", "link-in-text-block"] } as const;

/** The sign-in page applies the theme once. The console follows the system until a person chooses a theme. */
function followsSystem(page: Page): Promise<boolean> {
  return page.evaluate<boolean>(
    `document.querySelector("style[data-mantine-styles]") !== null &&
      ["auto", null].includes(localStorage.getItem("mantine-color-scheme-value"))`,
  );
}

async function emulateTheme(page: Page, theme: Theme): Promise<void> {
  await page.emulateMedia({ colorScheme: theme });
  await page.locator(`html[data-mantine-color-scheme=${theme}]`).waitFor();
}

async function problemsNow(
  page: Page,
  { withPage = false }: Examined,
  options: { readonly runOnly?: typeof rulesAboutColours },
): Promise<readonly string[]> {
  // The page's Content-Security-Policy does not restrict the debugger.
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(await axeSource);
  const all = { resultTypes: ["violations"], rules: { "target-size": { enabled: true } }, ...options };
  const violations = (await page.evaluate(`(() => {
    const open = [...document.querySelectorAll(${JSON.stringify(overlays)})].filter((part) => part.checkVisibility());
    const part = open.length === 0 || ${withPage} ? document : open;
    return axe.run(part, ${JSON.stringify(all)}).then(({ violations }) => violations);
  })()`)) as AxeViolation[]; // axe-core's form
  return violations.map(
    ({ id, impact, nodes }) =>
      `${id} (${impact}): ${nodes
        .map(({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary}`)
        .slice(0, 4)
        .join(" | ")}`,
  );
}

const folder = process.env.GATEHOUSE_TEST_PICTURES;
export const takesPictures = folder !== undefined;

/** Takes a picture for people and documents. It is written only on request. */
export async function picture(part: Page | Locator, name: string): Promise<void> {
  if (folder === undefined) return;
  await mkdir(folder, { recursive: true });
  await part.screenshot({ path: path.join(folder, `${name}.png`) });
}

/** Takes a picture for documents, in docs/pictures. It is written only if GATEHOUSE_DOCUMENT_PICTURES is set. */
export async function documentPicture(part: Page | Locator, name: string, maxBytes = 200_000): Promise<void> {
  await picture(part, name);
  if (process.env.GATEHOUSE_DOCUMENT_PICTURES === undefined) return;
  const content = await part.screenshot({ animations: "disabled", caret: "hide" });
  expect(content.length, `${name}.png in bytes`).toBeLessThanOrEqual(maxBytes);
  const pictures = path.join(root, "docs/pictures");
  await mkdir(pictures, { recursive: true });
  await writeFile(path.join(pictures, `${name}.png`), content);
}
