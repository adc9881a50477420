/**
 * Measures the console in Debian's Chromium, with a tenant of 100,000 users, 10,000 resources and 2,000 policies. It
 * measures what the console loads, and how soon its pages can be used. It also measures how soon a list of 2,000
 * policies responds to a reordering.
 *
 *     npm run bench:console [-- --quick] [--only=pages|inputs|reordering] [--pages=users,groups]
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type BrowserContext, type CDPSession, chromium, type Page } from "playwright-core";
import { type BenchTenant, makeBenchTenant, type ServerAnnouncement } from "./bench-tenant.ts";
import { type ChildServer, processorSecondsOfGroup, startChild } from "./child-server.ts";
import { eventTimes, inputs, longestTaskMs } from "./console-input.ts";
import { completeTenant } from "./console-seed.ts";
import { addPolicies, makeDirectory, sizes } from "./decisions-tenant.ts";
import { seedFacts } from "./seed-facts.ts";

const quick = process.argv.includes("--quick");
const rounds = quick ? 2 : 5;
const policyCount = 2_000;
const executablePath =
  ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find((file) => existsSync(file)) ?? "/usr/bin/chromium";
const flags =
  "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update --disable-sync";
const print = (line: string) => process.stdout.write(`${line}\n`);

const load = () =>
  loadavg()
    .map((value) => value.toFixed(1))
    .join(" ");
const browser = await chromium.launch({ executablePath, args: flags.split(" ") });

type Cookies = Parameters<BrowserContext["addCookies"]>[0];

async function signIn(baseURL: string, { key }: BenchTenant): Promise<Cookies> {
  const context = await browser.newContext({ baseURL });
  const page = await context.newPage();
  const traffic = await watch(page);
  await page.goto("/console/");
  await page.getByRole("button", { name: "Use an API key" }).click();
  await page.locator("input[type=password]").fill(key);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await page.getByRole("region", { name: "Gateways", exact: true }).getByRole("table").waitFor();
  const { scripts, scriptBytes } = traffic.take();
  print(
    `first load, from signing in to the overview: ${kilobytes(scriptBytes)} of JavaScript, compressed, in ${scripts} files`,
  );
  const cookies = await context.cookies();
  await context.close();
  return cookies;
}

/** Prints the files of the build, grouped by the page that requests them. */
function printChunks(): void {
  const folder = fileURLToPath(new URL("../../packages/console/dist/assets", import.meta.url));
  const files = readdirSync(folder).filter((name) => name.endsWith(".js"));
  const compressed = (name: string) => {
    const [smaller] = ["br", "gz"].filter((ending) => readdirSync(folder).includes(`${name}.${ending}`));
    return statSync(path.join(folder, smaller === undefined ? name : `${name}.${smaller}`)).size;
  };
  const pages = files.filter((name) => name.includes(".page-"));
  const sizes = pages.map((name) => [name.replace(/-[^-]*$/, ""), compressed(name)] as const);
  print(`${files.length} files of JavaScript; of ${pages.length} pages one each, compressed:`);
  print(`  ${sizes.map(([name, size]) => `${name} ${kilobytes(size)}`).join(", ")}\n`);
}

const pages: readonly { readonly at: string; readonly ready: string }[] = [
  { at: "overview", ready: "section[aria-label='Gateways'] td" },
  { at: "users", ready: "tbody a" },
  { at: "groups", ready: "tbody a" },
  { at: "devices", ready: "tbody a" },
  { at: "gateways", ready: "tbody a" },
  { at: "resources", ready: "tbody a" },
  { at: "policies", ready: ".policy a" },
  { at: "admission-rules", ready: "tbody a" },
  { at: "access", ready: "main input" },
  { at: "events", ready: "tbody a" },
  ...["addresses", "protocols", "roles", "api-keys", "device-sessions"].map((at) => ({ at, ready: "tbody a" })),
  ...[
    "access-tests",
    "device-approvals",
    "domains",
    "enrolment-keys",
    "identity-providers",
    "sign-ins",
    "webhooks",
  ].map(
    // Empty lists.
    (at) => ({ at, ready: "main [data-empty-list], tbody td" }),
  ),
  ...["configuration", "settings", "guides"].map((at) => ({ at, ready: "main section" })),
  { at: "publish", ready: "main input" },
];

/** Processor time so far, in milliseconds. */
interface Used {
  readonly server: number;
  readonly postgres: number;
  /** The main thread of the page. */
  readonly page: number;
}

async function usedBy(of: ChildServer<ServerAnnouncement>, page: PageMetrics): Promise<Used> {
  return {
    server: (of.processorSeconds() ?? Number.NaN) * 1000,
    postgres: (processorSecondsOfGroup(of.announcement.postgresPid) ?? Number.NaN) * 1000,
    page: await page.taskMs(),
  };
}

/**
 * Measures each page with an empty cache, from entering the address until the page can be used. Processor times are
 * those of the round with the least, because other load on the machine makes them longer.
 */
async function measurePages(of: ChildServer<ServerAnnouncement>, cookies: Cookies): Promise<void> {
  const only = argument("pages")?.split(",");
  print("| page | time to interactive | worst | server | PostgreSQL | page | JavaScript | answers of the API |");
  print("|---|---|---|---|---|---|---|---|");
  for (const { at, ready } of pages.filter((page) => only?.includes(page.at) ?? true)) {
    const times: number[] = [];
    const used: Used[] = [];
    let told = "";
    for (let round = 0; round < rounds; round += 1) {
      const { context, page, traffic, metrics } = await open(of.announcement.url, cookies);
      const before = await usedBy(of, metrics);
      await page.goto(`/console/${at}`, { waitUntil: "commit" });
      times.push(await interactive(page, ready));
      const after = await usedBy(of, metrics);
      used.push({
        server: after.server - before.server,
        postgres: after.postgres - before.postgres,
        page: after.page - before.page,
      });
      const { scripts, scriptBytes, answers, answerBytes } = traffic.take();
      told = `${kilobytes(scriptBytes)} in ${scripts} | ${kilobytes(answerBytes)} in ${answers}`;
      await context.close();
    }
    const least = (part: keyof Used) => milliseconds(Math.min(...used.map((each) => each[part])));
    print(
      `| ${at} | ${milliseconds(Math.min(...times))} | ${milliseconds(Math.max(...times))} | ${least("server")} | ${least("postgres")} | ${least("page")} | ${told} |`,
    );
  }
}

async function measurePickers(baseURL: string, cookies: Cookies): Promise<void> {
  const { context, page, traffic } = await open(baseURL, cookies);
  await page.goto("/console/access", { waitUntil: "networkidle" });
  traffic.take();
  const picker = page.getByRole("combobox", { name: "User", exact: true });
  await picker.fill("user-4242");
  await page.getByRole("option", { name: "user-4242@example.com" }).waitFor();
  const { answers, answerBytes } = traffic.take();
  print(
    `\na picker: finding one of ${sizes.users} users by typing takes ${answers} answers, ${kilobytes(answerBytes)}`,
  );
  await context.close();
}

/**
 * Measures the longest event while a person types, clicks and opens forms, and the processor time of the longest task.
 * Other load on the machine makes events longer, but not tasks.
 */
async function measureInputs(baseURL: string, cookies: Cookies): Promise<void> {
  print("\n| input | longest event, best round | worst round | longest task, best round |");
  print("|---|---|---|---|");
  for (const { name, at, ready, act } of inputs) {
    const times: number[] = [];
    const tasks: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const { context, page } = await open(baseURL, cookies);
      await page.goto(`/console/${at}`, { waitUntil: "commit" });
      await interactive(page, ready);
      await page.evaluate(eventTimes);
      await browser.startTracing(page, { categories: ["toplevel", "devtools.timeline"] });
      await act(page);
      await page.waitForTimeout(500);
      tasks.push(longestTaskMs(await browser.stopTracing()));
      times.push(await page.evaluate<number>("longestEvent"));
      await context.close();
    }
    print(
      `| ${name} | ${milliseconds(Math.min(...times))} | ${milliseconds(Math.max(...times))} | ${milliseconds(Math.min(...tasks))} |`,
    );
  }
}

/** Measures the time from the key press or the drop until the new order is painted. */
async function measureReordering(baseURL: string, cookies: Cookies): Promise<void> {
  const { context, page, traffic } = await open(baseURL, cookies);
  await page.goto("/console/policies", { waitUntil: "commit" });
  await page.locator(".policy a").first().waitFor();
  const shown = await page.evaluate<number>("performance.now()");
  await page.getByRole("button", { name: "Load all to reorder" }).click();
  await until(
    page,
    "document.querySelector('[data-grip]') !== null && document.querySelector('[aria-busy=true]') === null",
  );
  const whole = await page.evaluate<number>("performance.now()");
  const { answers, answerBytes } = traffic.take();
  const rows = await page.locator(".policy").count();
  print(
    `\nall ${policyCount} policies, ready to be moved: ${milliseconds(whole - shown)} after they were asked for; ${answers} answers, ${kilobytes(answerBytes)}; ${rows} rows in the page`,
  );
  await page.evaluate(reorderWatch);
  const times = new Map<string, number[]>();
  const keys = [
    ["arrow key, down by one", "ArrowDown"],
    ["arrow key, up by one", "ArrowUp"],
    ["End, from the first place to the last", "End"],
    ["Home, from the last place to the first", "Home"],
  ] as const;
  const grip = page.locator("[data-grip]").nth(5);
  await grip.focus();
  await page.keyboard.press("Home");
  await page.waitForTimeout(300);
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, key] of keys) {
      const before = await page.evaluate<number>("painted.length");
      await page.keyboard.press(key);
      await until(page, `painted.length > ${before}`);
      push(times, name, await page.evaluate<number>("painted.at(-1)"));
      await page.waitForTimeout(100);
    }
    const before = await page.evaluate<number>("painted.length");
    await page.locator("[data-grip]").nth(6).dragTo(page.locator("[data-grip]").nth(2));
    await until(page, `painted.length > ${before}`);
    push(times, "dropped, four places up", await page.evaluate<number>("painted.at(-1)"));
    await page.waitForTimeout(100);
    await page.locator("[data-grip]").first().focus();
  }
  print("\n| reordering, until the new order is painted | best | median | worst |");
  print("|---|---|---|---|");
  for (const [name, all] of times) {
    const sorted = [...all].sort((a, b) => a - b);
    const [best = 0, median = 0, worst = 0] = [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
    print(`| ${name} | ${milliseconds(best)} | ${milliseconds(median)} | ${milliseconds(worst)} |`);
  }
  await context.close();
}

/**
 * Runs in the page. It measures from the key press or the drop to the second frame after the rows changed. The first
 * frame was painted before the second one began.
 */
const reorderWatch = `{
  globalThis.painted = [];
  let since;
  const begin = (event) => { since = event.timeStamp; };
  addEventListener("keydown", begin, true);
  addEventListener("drop", begin, true);
  new MutationObserver(() => {
    if (since === undefined) return;
    const from = since;
    since = undefined;
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => painted.push(performance.now() - from);
      channel.port2.postMessage(0);
    });
  }).observe(document.querySelector("ol.policies"), { subtree: true, childList: true, characterData: true, attributes: true });
}`;

/** Runs in each page, and records when long tasks ended. */
const longTasks = `{
  globalThis.lastLongTask = 0;
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) lastLongTask = Math.max(lastLongTask, startTime + duration);
  }).observe({ type: "longtask", buffered: true });
}`;

async function open(baseURL: string, cookies: Cookies) {
  const context = await browser.newContext({ baseURL, viewport: { width: 1280, height: 900 }, locale: "en-GB" });
  await context.addCookies(cookies);
  await context.addInitScript(longTasks);
  const page = await context.newPage();
  return { context, page, traffic: await watch(page), metrics: await metricsOf(page) };
}

/**
 * Returns when the page shows its content and no task has blocked it since for half a second. The time is in
 * milliseconds after the address was entered.
 */
async function interactive(page: Page, ready: string): Promise<number> {
  return page.evaluate<number>(
    `new Promise((resolve) => {
      let shown;
      const look = () => {
        if (shown === undefined && document.querySelector(${JSON.stringify(ready)}) !== null) shown = performance.now();
        const from = Math.max(shown ?? Infinity, lastLongTask);
        if (performance.now() - from > 500) resolve(from);
        else requestAnimationFrame(look);
      };
      look();
    })`,
  );
}

/** The page's Content-Security-Policy permits only the debugger to evaluate text. */
function until(page: Page, condition: string): Promise<unknown> {
  return page.evaluate(
    `new Promise((resolve) => { const look = () => (${condition} ? resolve() : requestAnimationFrame(look)); look(); })`,
  );
}

interface PageMetrics {
  /** Time in which tasks occupied the page's main thread so far, in milliseconds. */
  taskMs(): Promise<number>;
}

async function metricsOf(page: Page): Promise<PageMetrics> {
  const session: CDPSession = await page.context().newCDPSession(page);
  // Processor time does not count waiting for other load.
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  return {
    async taskMs() {
      const { metrics } = await session.send("Performance.getMetrics");
      return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN) * 1000;
    },
  };
}

interface Traffic {
  readonly scripts: number;
  readonly scriptBytes: number;
  readonly answers: number;
  readonly answerBytes: number;
}

/** Records the traffic on the network, in the size in which it was sent. */
async function watch(page: Page): Promise<{ take(): Traffic }> {
  const session: CDPSession = await page.context().newCDPSession(page);
  await session.send("Network.enable");
  const kinds = new Map<string, "script" | "answer">();
  let counted = { scripts: 0, scriptBytes: 0, answers: 0, answerBytes: 0 };
  session.on("Network.responseReceived", ({ requestId, response }) => {
    const { pathname } = new URL(response.url);
    if (pathname.endsWith(".js")) kinds.set(requestId, "script");
    else if (pathname.startsWith("/tenants/") || pathname === "/console/session") kinds.set(requestId, "answer");
  });
  session.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => {
    const kind = kinds.get(requestId);
    if (kind === "script") {
      counted.scripts += 1;
      counted.scriptBytes += encodedDataLength;
    } else if (kind === "answer") {
      counted.answers += 1;
      counted.answerBytes += encodedDataLength;
    }
  });
  return {
    take() {
      const taken = counted;
      counted = { scripts: 0, scriptBytes: 0, answers: 0, answerBytes: 0 };
      return taken;
    },
  };
}

/** The value of an option, such as `--only=pages`. */
function argument(name: string): string | undefined {
  return process.argv.find((each) => each.startsWith(`--${name}=`))?.slice(name.length + 3);
}

function push(lists: Map<string, number[]>, key: string, value: number): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

function kilobytes(bytes: number): string {
  return `${(bytes / 1000).toFixed(1)} kB`;
}

function milliseconds(ms: number): string {
  return `${ms.toFixed(0)} ms`;
}

print(`Node ${process.version}, ${cpus().length} cores, load before: ${load()}; the best of ${rounds} rounds`);
const server = await startChild<ServerAnnouncement>("./server-process.js");
try {
  const { url, database } = server.announcement;
  const tenant = await makeBenchTenant(server.announcement, "Console");
  const facts = addPolicies(makeDirectory(), policyCount, 0.2);
  await seedFacts(database, tenant.id, facts);
  await completeTenant(database, tenant.id);
  print(
    `${facts.users.length} users, ${facts.devices.length} devices, ${facts.resources.length} resources, ${facts.policies.length} policies, ${facts.gateways.length} gateways; Chromium ${browser.version()}\n`,
  );
  const cookies = await signIn(url, tenant);
  // The server reads some data once for a tenant of this size. That time is not part of the console's.
  await tenant.call("GET", "/tenants/access/findings");

  printChunks();
  const only = argument("only");
  if (only === undefined || only === "pages") await measurePages(server, cookies);
  if (only === undefined || only === "inputs") await measureInputs(url, cookies);
  if (only === undefined) await measurePickers(url, cookies);
  if (only === undefined || only === "reordering") await measureReordering(url, cookies);
} finally {
  await browser.close();
  await server.stop();
}
