import { permissions } from "@gatehouse/contract/permissions";
import { screen, waitFor, within } from "@testing-library/dom";
import type { UserEvent } from "@testing-library/user-event";
import { HttpResponse } from "msw";
import { afterEach, describe, expect, test, vi } from "vitest";
import { t } from "../messages/i18n.ts";
import { click, currentPath, fill, findDialog, findTitle, openConsole } from "../testing/console-page.tsx";
import { mockApi, problem, validKey } from "../testing/mock-api.ts";
import { newId, pageOf, sample } from "../testing/sample.ts";

afterEach(() => vi.unstubAllGlobals());

const useKey = (user: UserEvent) => click(user, t("signIn.page.apiKey"));
const keyField = () =>
  screen.findByLabelText<HTMLInputElement>(new RegExp(t("app.session.apiKey")), { selector: "input" });

describe("signing in", () => {
  test("opens the console with a valid key", async () => {
    mockApi.endSession();
    const user = openConsole("/groups");
    await findTitle(t("app.session.title"));
    await useKey(user);
    await waitFor(async () => expect(document.activeElement).toBe(await keyField()));
    await user.paste(`  ${validKey} `);
    await click(user, t("app.session.signIn"));
    await findTitle(t("groups.title"));
  });

  test("shows why a key is refused, and keeps it for correction", async () => {
    mockApi.endSession();
    const user = openConsole("/groups");
    await useKey(user);
    await user.click(await keyField());
    await user.paste("gatehouse_key_cut_off");
    await click(user, t("app.session.signIn"));
    await screen.findByRole("alert");
    expect((await keyField()).value).toBe("gatehouse_key_cut_off");
    await findTitle(t("app.session.title"));
  });

  test("offers passkeys and providers first, and collapses the other ways", async () => {
    const fromJson = { parseCreationOptionsFromJSON: vi.fn(), parseRequestOptionsFromJSON: vi.fn() };
    vi.stubGlobal("isSecureContext", true);
    vi.stubGlobal("PublicKeyCredential", Object.assign(vi.fn(), fromJson));
    mockApi.endSession();
    openConsole("/groups");
    const passkey = await screen.findByRole("button", { name: t("signIn.page.passkey") });
    const provider = screen.getByRole("button", { name: t("signIn.page.findProviders") });
    const others = screen.getByRole("region", { name: t("signIn.page.otherWays") });
    const key = within(others).getByRole("button", { name: t("signIn.page.apiKey") });
    const order = [passkey, screen.getByLabelText(t("signIn.page.organisation")), provider, key];
    expect(
      [...order].sort((a, b) => (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1)),
    ).toEqual(order);
    expect([passkey, provider, key].map(({ className }) => /primary/.test(className))).toEqual([true, true, false]);
    expect(screen.queryByLabelText(t("app.session.apiKey"))).toBeNull();
  });

  test("ends with the session: the next page is the sign-in page", async () => {
    const user = openConsole("/groups");
    await click(user, t("app.account.label"));
    await screen.findByText("Example Ltd");
    await user.click(await screen.findByRole("menuitem", { name: t("app.account.signOut") }));
    await findTitle(t("app.session.title"));
  });
});

describe("a session that ends while a form is open", () => {
  test("asks to sign in again, keeps the input, and then sends the request", async () => {
    const user = openConsole("/groups?new=1");
    await fill(user, t("common.name"), "Engineering");
    await click(user, t("common.review"));
    await waitFor(() =>
      expect(screen.getByRole<HTMLButtonElement>("button", { name: t("common.create") }).disabled).toBe(false),
    );
    mockApi.endSession();
    await click(user, t("common.create"));
    const dialog = await findDialog(t("app.session.ended"));
    expect(mockApi.received("createGroup")).toEqual([]);
    expect(dialog.queryByLabelText(new RegExp(t("app.session.apiKey")))).toBeNull();
    await useKey(user);
    await user.click(await keyField());
    await user.paste(validKey);
    await user.click(dialog.getByRole("button", { name: t("app.session.signIn") }));
    await waitFor(() => expect(mockApi.bodies("createGroup")).toMatchObject([{ name: "Engineering" }]));
    await waitFor(() => expect(currentPath()).toMatch(/^\/groups\/0198/));
  });

  /** Opens a form as Ann, and ends her session while the form has input. */
  async function endWithInput() {
    mockApi.signInPerson(permissions);
    const user = openConsole("/groups?new=1");
    await fill(user, t("common.name"), "Engineering");
    mockApi.endSession();
    await click(user, t("common.review"));
    return { user, dialog: await findDialog(t("app.session.ended")) };
  }
  const returnToWindow = () => window.dispatchEvent(new Event("focus"));
  const dialogIsClosed = () => waitFor(() => expect(screen.queryByText(t("app.session.ended"))).toBeNull());
  const isSent = async (user: UserEvent) => {
    await click(user, t("common.create"));
    await waitFor(() => expect(mockApi.bodies("createGroup")).toMatchObject([{ name: "Engineering" }]));
  };

  test("opens the provider in a new tab, and continues when the session exists", async () => {
    const setTimer = vi.spyOn(globalThis, "setInterval");
    const path = `/console/oidc/${newId()}/${newId()}`;
    mockApi.offerProviders([{ name: "Example sign-in", path }]);
    const { user, dialog } = await endWithInput();
    expect(dialog.getByLabelText<HTMLInputElement>(t("signIn.page.organisation")).value).toBe("ann@example.com");
    await user.click(dialog.getByRole("button", { name: t("signIn.page.findProviders") }));
    const link = await dialog.findByRole("link", { name: t("signIn.page.provider", { name: "Example sign-in" }) });
    await waitFor(() => expect(document.activeElement).toBe(link));
    expect(link.getAttribute("href")).toBe(`${path}?return=%2Fconsole%2Fsigned-in`);
    expect(link.getAttribute("target")).toBe("_blank");
    // The tab of the provider is not a part of this test.
    link.addEventListener("click", (event) => event.preventDefault());
    await user.click(link);
    await dialog.findByText(t("app.session.providerTab"));
    mockApi.signInPerson(permissions);
    // The test does not wait for the interval.
    const [poll] = setTimer.mock.calls.find(([, delay]) => delay === 1_500) ?? [];
    setTimer.mockRestore();
    if (typeof poll !== "function") throw new Error("The dialog does not poll.");
    poll();
    await dialogIsClosed();
    await isSent(user);
  });

  test("continues when the person returns from another tab", async () => {
    const { user } = await endWithInput();
    mockApi.signInPerson(permissions);
    returnToWindow();
    await dialogIsClosed();
    await isSent(user);
  });

  test("shows the next recovery code until the person continues", async () => {
    const { user, dialog } = await endWithInput();
    const useCode = () => dialog.getByRole("button", { name: t("signIn.page.recovery") });
    await user.click(useCode());
    await user.type(dialog.getByLabelText(t("signIn.page.recoveryCode")), "0000");
    await user.click(useCode());
    await dialog.findByRole("alert");
    mockApi.acceptRecoveryCodes("NEXT-CODE");
    await user.click(useCode());
    await dialog.findByText("NEXT-CODE");
    const requests = vi.spyOn(globalThis, "fetch");
    returnToWindow();
    expect(requests.mock.calls.map(([path]) => path)).not.toContain("/console/session");
    requests.mockRestore();
    await user.click(dialog.getByRole("button", { name: t("signIn.page.saved") }));
    await dialogIsClosed();
    await isSent(user);
  });

  test("asks before another person or key continues with the input", async () => {
    const { user, dialog } = await endWithInput();
    mockApi.signIn();
    returnToWindow();
    await dialog.findByText(t("app.session.other", { name: "Test key" }));
    dialog.getByRole("button", { name: t("app.session.discard") });
    await mockApi.settled();
    expect(mockApi.received("previewAccess")).toEqual([]);
    await user.click(dialog.getByRole("button", { name: t("app.session.continue") }));
    await dialogIsClosed();
    await isSent(user);
  });

  test("offers a session of another tenant no continuation", async () => {
    const { user, dialog } = await endWithInput();
    mockApi.signIn(permissions, { tenant: { id: newId(), name: "Other Ltd", slug: "example" } });
    await user.click(dialog.getByRole("button", { name: t("signIn.page.apiKey") }));
    returnToWindow();
    await dialog.findByText(new RegExp(t("app.session.otherTenant", { tenant: "Example Ltd" })));
    dialog.getByRole("button", { name: t("app.session.discard") });
    expect(dialog.queryByRole("button", { name: t("app.session.continue") })).toBeNull();
    mockApi.signInPerson(permissions);
    returnToWindow();
    await dialogIsClosed();
  });
});

describe("the frame of the console", () => {
  test("opens with the overview", async () => {
    openConsole("/");
    await waitFor(() => expect(currentPath()).toBe("/overview"));
  });

  test("names the page in the title of the window, and marks it in the navigation", async () => {
    openConsole("/groups");
    await findTitle(t("groups.title"));
    expect(document.title).toBe(t("common.documentTitle", { title: t("groups.title") }));
    const current = screen.getAllByRole("link").filter((link) => link.getAttribute("aria-current") === "page");
    expect(current.map(({ textContent }) => textContent)).toEqual([t("groups.title")]);
  });

  test("lists only pages that the key may read", async () => {
    mockApi.signIn(["groups:read", "users:read"]);
    openConsole("/groups");
    await findTitle(t("groups.title"));
    const navigation = screen.getByRole("navigation", { name: t("app.navigation.label") });
    const paths = [...navigation.querySelectorAll("a")].map((link) => link.getAttribute("href"));
    expect(paths).toEqual(["/console/overview", "/console/users", "/console/groups"]);
  });

  test("says that a page does not exist, and leads to the overview", async () => {
    const user = openConsole("/no-such-page");
    await findTitle(t("app.notFound.title"));
    await user.click(screen.getByRole("link", { name: t("app.notFound.back") }));
    await waitFor(() => expect(currentPath()).toBe("/overview"));
  });

  test("switches between the light and the dark theme", async () => {
    const user = openConsole("/groups");
    await click(user, t("app.theme.dark"));
    expect(document.documentElement.getAttribute("data-mantine-color-scheme")).toBe("dark");
    await click(user, t("app.theme.light"));
    expect(document.documentElement.getAttribute("data-mantine-color-scheme")).toBe("light");
  });

  test("shows the title, the detail and the request of an error, and tries again", async () => {
    mockApi.answer("get", "/tenants/groups", () =>
      problem("permission_denied", { detail: "The key lacks groups:read." }),
    );
    const user = openConsole("/groups");
    const alert = await screen.findByRole("alert");
    expect(alert.textContent).toContain("The key lacks groups:read.");
    expect(alert.textContent).toContain("01980000");
    expect(alert.querySelector("a")?.getAttribute("href")).toBe("/errors/permission_denied");
    mockApi.answer("get", "/tenants/groups", pageOf([sample("Group", { name: "Engineering" })]));
    await click(user, t("app.problem.retry"));
    await screen.findByRole("link", { name: "Engineering" });
  });

  test("lists the first of many errors in words, and counts the others", async () => {
    const errors = Array.from({ length: 31 }, (_, index) => ({ pointer: "/groups", message: `problem ${index}` }));
    mockApi.answer("get", "/tenants/groups", () =>
      problem("invalid_parameter", { detail: "The document has 31 problems. /groups: problem 0.", errors }),
    );
    openConsole("/groups");
    const alert = await screen.findByRole("alert");
    expect(alert.textContent).toContain("The document has 31 problems.");
    expect(alert.textContent).not.toContain("/groups");
    expect(alert.textContent).toContain("problem 9");
    expect(alert.textContent).not.toContain("problem 10");
    expect(alert.textContent).toContain(t("common.andMore", { count: 21 }));
  });

  test("says that the server is not available, and when the request is repeated", async () => {
    mockApi.answer(
      "get",
      "/tenants/groups",
      () => new HttpResponse("<html>", { status: 500, headers: { "content-type": "text/html" } }),
    );
    openConsole("/groups");
    const alert = await screen.findByRole("alert");
    expect(alert.textContent).toContain(t("app.problem.unavailable", { status: 500 }));
    expect(alert.textContent).toContain(t("app.problem.retryIn", { count: 5 }));
  });

  test("focuses and announces the title of the page after a navigation", async () => {
    const user = openConsole("/groups");
    await findTitle(t("groups.title"));
    await user.click(screen.getByRole("link", { name: t("users.title") }));
    const title = await findTitle(t("users.title"));
    await waitFor(() => expect(document.activeElement).toBe(title));
    await screen.findByText(t("common.documentTitle", { title: t("users.title") }));
  });

  test("shows the overview to every key", async () => {
    mockApi.signIn(["users:read"]);
    openConsole("/overview");
    const navigation = await screen.findByRole("navigation", { name: t("app.navigation.label") });
    expect(navigation.querySelector("a[href='/console/overview']")).not.toBeNull();
  });

  test("reads a long list of addresses only for a text that could be a part of one", async () => {
    const address = sample("Address", { address: "10.20.4.7" });
    mockApi.answer("get", "/tenants/addresses", ({ query }) =>
      query.limit === undefined ? [address] : HttpResponse.json([address], { headers: { "X-Total-Count": "10000" } }),
    );
    const user = openConsole("/users");
    await click(user, new RegExp(`^${t("app.palette.search")}`));
    const field = await screen.findByPlaceholderText(t("app.palette.placeholder"));
    const asked = () => mockApi.received("listAddresses").map(({ query }) => query.limit);
    await user.type(field, "ann");
    await waitFor(() => expect(asked()).toEqual(["100"]));
    await user.clear(field);
    await user.type(field, "10.20");
    await waitFor(() => expect(asked()).toEqual(["100", undefined]));
  });

  test("finds addresses in the palette", async () => {
    mockApi.answer("get", "/tenants/addresses", [sample("Address", { address: "10.20.4.7" })]);
    const user = openConsole("/groups");
    await findTitle(t("groups.title"));
    await click(user, new RegExp(`^${t("app.palette.search")}`));
    await user.type(await screen.findByPlaceholderText(t("app.palette.placeholder")), "10.20");
    await findAction("10.20.4.7");
  });

  test("says so when something other than Gatehouse answers", async () => {
    mockApi.answer(
      "get",
      "/tenants/groups",
      () => new HttpResponse("<html>", { status: 404, headers: { "content-type": "text/html" } }),
    );
    openConsole("/groups");
    expect((await screen.findByRole("alert")).textContent).toContain(t("app.problem.unexpected"));
  });
});

const actions = () => [...document.querySelectorAll("[data-action]")].map(({ textContent }) => textContent);

/** The first action of the palette whose text begins with this. */
function findAction(text: string): Promise<Element> {
  return waitFor(() => {
    const found = [...document.querySelectorAll("[data-action]")].find(({ textContent }) =>
      textContent.startsWith(text),
    );
    if (found === undefined) throw new Error(`The palette has no action ${text}.`);
    return found;
  });
}

describe("the command palette", () => {
  test("finds records by name and opens them", async () => {
    const id = newId();
    mockApi.answer("get", "/tenants/groups", ({ query }) =>
      pageOf(query["filter[name][ilike]"] === "%engi%" ? [sample("Group", { id, name: "Engineering" })] : []),
    );
    const user = openConsole("/overview");
    await click(user, new RegExp(`^${t("app.palette.search")}`));
    await user.type(await screen.findByPlaceholderText(t("app.palette.placeholder")), "engi");
    const found = await findAction("Engineering");
    expect(found.querySelector("svg")).not.toBeNull();
    await user.click(found);
    await waitFor(() => expect(currentPath()).toBe(`/groups/${id}`));
  });

  test("opens the dialog of an action on a record that the text names", async () => {
    const ann = sample("User", { id: newId(), email: "ann@example.com", status: "active" });
    mockApi.answer("get", "/tenants/users", ({ query }) =>
      pageOf(query["filter[email][ilike]"] === "%ann%" ? [ann] : []),
    );
    mockApi.answer("get", "/tenants/users/{id}", ann);
    const user = openConsole("/overview");
    await click(user, new RegExp(`^${t("app.palette.search")}`));
    await user.type(await screen.findByPlaceholderText(t("app.palette.placeholder")), "deactivate ann");
    await user.click(await findAction("Deactivate ann@example.com"));
    await findDialog(t("users.deactivate.title", { name: "ann@example.com" }));
    expect(currentPath()).toBe(`/users/${ann.id}?deactivate=1`);
  });

  test("opens the form of a new record", async () => {
    const user = openConsole("/overview");
    await click(user, new RegExp(`^${t("app.palette.search")}`));
    await user.type(await screen.findByPlaceholderText(t("app.palette.placeholder")), t("groups.create"));
    await user.click(await findAction(t("groups.create")));
    await findDialog(t("groups.create"));
  });

  test.each([
    ["audit", t("events.title")],
    ["audit", t("app.palette.tasks.exportAudit")],
    ["rotate", t("app.palette.tasks.rotateGateway")],
    ["token", t("app.palette.tasks.rotateKey")],
    ["revert", t("app.palette.tasks.revert")],
    ["deactivate", t("app.palette.tasks.deactivateUser")],
    ["guide", t("guides.title")],
    ["guide", t("guides.names.glossary")],
  ])("finds by %s: %s", async (text, label) => {
    const user = openConsole("/overview");
    await click(user, new RegExp(`^${t("app.palette.search")}`));
    await user.type(await screen.findByPlaceholderText(t("app.palette.placeholder")), text);
    await findAction(label);
  });

  test("opens a guide", async () => {
    const user = openConsole("/overview");
    await click(user, new RegExp(`^${t("app.palette.search")}`));
    await user.type(await screen.findByPlaceholderText(t("app.palette.placeholder")), "glossary");
    await user.click(await findAction(t("guides.names.glossary")));
    await waitFor(() => expect(currentPath()).toBe("/guides/glossary"));
  });

  test("offers to rotate the token of a gateway that the text names", async () => {
    const berlin = sample("Gateway", { id: newId(), name: "Berlin" });
    mockApi.answer("get", "/tenants/gateways", [berlin]);
    mockApi.answer("get", "/tenants/gateways/{id}", berlin);
    const user = openConsole("/overview");
    await click(user, new RegExp(`^${t("app.palette.search")}`));
    await user.type(await screen.findByPlaceholderText(t("app.palette.placeholder")), "rotate token berl");
    await user.click(await findAction("Rotate token Berlin"));
    const step = t("gateways.steps.rotateToken.label");
    await findDialog(t("gateways.steps.title", { step, name: "Berlin" }));
  });

  test("offers no task that the key may not perform", async () => {
    mockApi.signIn(["events:read", "users:read"]);
    const user = openConsole("/events");
    await click(user, new RegExp(`^${t("app.palette.search")}`));
    const field = await screen.findByPlaceholderText(t("app.palette.placeholder"));
    await user.type(field, "e");
    await findAction(t("app.palette.tasks.exportAudit"));
    expect(actions().filter((text) => /^(Revert a|Deactivate|Rotate)/.test(text))).toEqual([]);
  });

  test.each(["radio", "checkbox", "text", "search"])(
    "opens while a field of the type %s has the focus",
    async (type) => {
      const user = openConsole("/overview");
      await findTitle(t("overview.title"));
      const field = document.body.appendChild(document.createElement("input"));
      field.type = type;
      field.focus();
      await user.keyboard("{Control>}k{/Control}");
      const palette = await screen.findByPlaceholderText(t("app.palette.placeholder"));
      await user.keyboard("{Escape}");
      await waitFor(() => expect(palette.isConnected).toBe(false));
      // From now on, the loaded palette listens itself.
      field.focus();
      await user.keyboard("{Control>}k{/Control}");
      await screen.findByPlaceholderText(t("app.palette.placeholder"));
      field.remove();
    },
  );

  test("offers no form that the key may not send", async () => {
    mockApi.signIn(["groups:read"]);
    const user = openConsole("/groups");
    await click(user, new RegExp(`^${t("app.palette.search")}`));
    await user.type(await screen.findByPlaceholderText(t("app.palette.placeholder")), "group");
    await findAction(t("groups.title"));
    expect(actions()).not.toContain(t("groups.create"));
  });
});
