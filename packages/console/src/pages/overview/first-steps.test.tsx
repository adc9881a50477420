import { type Permission, permissions } from "@gatehouse/contract/permissions";
import { screen, waitFor, within } from "@testing-library/dom";
import { beforeEach, expect, test, vi } from "vitest";
import { t } from "../../messages/i18n.ts";
import { choose, click, closeConsole, fill, openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

type StepName = "gateway" | "resource" | "device" | "policy" | "reached";

const title = (step: StepName) => t(`overview.firstSteps.${step}.title`);
const checklist = async () => within(await screen.findByRole("region", { name: t("overview.firstSteps.title") }));
/** The button that opens a step. */
const opener = async (step: StepName) =>
  (await checklist()).findByRole("button", { name: new RegExp(`^${title(step)}`) });
const isOpen = async (step: StepName) => (await opener(step)).getAttribute("aria-expanded") === "true";
/** The content of an open step. */
const content = async (step: StepName) => within((await checklist()).getByRole("region", { name: title(step) }));
const counts = (done: number) => t("overview.firstSteps.progress", { done, total: 5 });

const gateway = sample("Gateway", {
  id: newId(),
  name: "Berlin",
  status: "ONLINE",
  deployedOn: "2026-03-02T09:00:00.000Z",
});
const wiki = sample("Resource", { id: newId(), name: "Wiki" });
const device = sample("Device", { id: newId(), name: "Laptop" });
const engineering = sample("Group", { id: newId(), name: "Engineering" });
const ann = sample("User", { id: newId(), email: "ann@example.com" });

// Completed steps are remembered for the tenant, which is the same in each test.
beforeEach(() => localStorage.clear());

const allowed = sample("Policy", { id: newId(), name: "Access to Wiki", type: "PRIVATE", action: true });
const row = sample("PastAccess", {
  user: { id: ann.id, name: "ann@example.com" },
  resource: { id: wiki.id, name: "Wiki" },
  policy: { id: allowed.id, name: allowed.name },
});
const isShown = () => screen.queryByRole("region", { name: t("overview.firstSteps.title") }) !== null;

function prepare(...done: readonly StepName[]) {
  if (done.includes("gateway")) mockApi.answer("get", "/tenants/gateways", [gateway]);
  if (done.includes("resource")) mockApi.answer("get", "/tenants/resources", pageOf([wiki]));
  if (done.includes("device")) mockApi.answer("get", "/tenants/devices", pageOf([device]));
}

test("a new tenant starts with the gateway, and loads no step before it is opened", async () => {
  const user = openConsole("/overview");
  const steps = await checklist();
  steps.getByText(counts(0));
  expect(steps.getAllByRole("button", { expanded: false })).toHaveLength(5);
  for (const button of steps.getAllByRole("button", { expanded: false })) {
    expect(button.querySelectorAll(".lucide-chevron-right")).toHaveLength(1);
  }
  expect(steps.queryByRole("textbox")).toBeNull();
  const item = (await opener("gateway")).closest("li");
  expect(item?.getAttribute("aria-current")).toBe("step");
  await user.click(await opener("gateway"));
  await steps.findByRole("textbox", { name: new RegExp(t("common.name")) });
});

test("is the only part of the page that offers the first gateway, unless it is not shown", async () => {
  openConsole("/overview");
  await checklist();
  const panel = async () => within(await screen.findByRole("region", { name: t("overview.gateways.title") }));
  await (await panel()).findByText(t("gateways.empty.title"));
  expect((await panel()).queryByText(t("overview.gateways.empty"))).toBeNull();
  expect((await panel()).queryByRole("link", { name: t("gateways.create") })).toBeNull();
  closeConsole();
  mockApi.signIn(["gateways:read", "gateways:write"]);
  openConsole("/overview");
  await (await panel()).findByText(t("overview.gateways.empty"));
  (await panel()).getByRole("link", { name: t("gateways.create") });
  expect(isShown()).toBe(false);
});

test("creates a gateway in place, and shows how to deploy it", async () => {
  const pending = sample("Gateway", { id: newId(), name: "Berlin", status: "PENDING", token: "gatehouse_gateway_1" });
  mockApi.answer("post", "/tenants/gateways", () => {
    mockApi.answer("get", "/tenants/gateways", [pending]);
    mockApi.answer("get", "/tenants/gateways/{id}", pending);
    return pending;
  });
  const user = openConsole("/overview");
  await user.click(await opener("gateway"));
  await fill(user, new RegExp(t("common.name")), "Berlin");
  await click(user, t("gateways.create"));
  const step = await content("gateway");
  await step.findByText(t("gateways.deploy.waiting"));
  expect(step.getAllByRole("tab").length).toBeGreaterThan(3);
  expect(mockApi.bodies("createGateway")).toEqual([{ name: "Berlin", wireguardPort: "51820" }]);
});

test("completes a step from the records, announces it, and opens the next one with the focus", async () => {
  mockApi.answer("post", "/tenants/gateways", () => {
    mockApi.answer("get", "/tenants/gateways", [gateway]);
    return gateway;
  });
  const user = openConsole("/overview");
  await user.click(await opener("gateway"));
  await fill(user, new RegExp(t("common.name")), "Berlin");
  await click(user, t("gateways.create"));
  const steps = await checklist();
  await steps.findByText(t("overview.firstSteps.completed", { step: title("gateway"), counts: counts(1) }));
  await waitFor(async () => expect(await isOpen("resource")).toBe(true));
  expect(await isOpen("gateway")).toBe(false);
  await (await content("resource")).findByRole("textbox", { name: new RegExp(t("publish.address.label")) });
  expect(document.activeElement?.closest("main li")?.getAttribute("aria-current")).toBe("step");
});

test("creates the resource behind the gateway, without a policy", async () => {
  prepare("gateway");
  const user = openConsole("/overview");
  await user.click(await opener("resource"));
  await fill(user, new RegExp(t("publish.address.label")), "https://wiki.internal");
  const step = await content("resource");
  expect(step.queryByText(t("publish.who.everyone"))).toBeNull();
  await click(user, t("common.review"));
  await screen.findByText(t("publish.summary.policyLater"));
  mockApi.answer("post", "/tenants/changes", () => {
    prepare("resource");
    return { generation: 7, changes: [{ status: 204, events: [] }] };
  });
  await click(user, t("publish.publish"));
  await (await checklist()).findByText(counts(2));
  expect(mockApi.bodies("applyChanges")).toMatchObject([
    {
      changes: [
        { path: "/tenants/protocols" },
        { path: "/tenants/resources", body: { name: "Wiki" } },
        { method: "PUT", path: `/tenants/resources/@resource/gateways/${gateway.id}` },
      ],
    },
  ]);
  expect((mockApi.bodies("applyChanges")[0] as { changes: unknown[] }).changes).toHaveLength(3);
});

test("invites people in place, and creates the link that enrols a device", async () => {
  prepare("gateway", "resource");
  mockApi.answer("get", "/tenants/users", pageOf([ann]));
  const link = sample("NewEnrolmentLink", {
    url: "https://gatehouse.example.com/console/enrol#secret",
    code: "ABCD-EFGH",
  });
  mockApi.answer("post", "/tenants/users/{id}/enrolment-links", link);
  const user = openConsole("/overview");
  await user.click(await opener("device"));
  await click(user, t("users.invite.title"));
  const addresses = await screen.findByRole("textbox", { name: new RegExp(t("users.invite.emails")) });
  expect(document.activeElement).toBe(addresses);
  await user.keyboard("bob@example.com");
  expect(document.activeElement).toBe(addresses);
  await click(user, t("common.review"));
  await screen.findByText(t("users.invite.summary", { names: "bob@example.com" }));
  await click(user, t("users.invite.submit", { count: 1 }));
  await waitFor(() => expect(mockApi.bodies("createUsers")).toMatchObject([[{ email: "bob@example.com" }]]));
  // Without a person, the button creates no link.
  await click(user, t("enrolmentLinks.createFor"));
  await choose(user, t("enrolmentLinks.person"), "ann@example.com");
  await click(user, t("enrolmentLinks.createFor"));
  await screen.findByText(link.url);
  expect(mockApi.received("createEnrolmentLink").map(({ path }) => path)).toEqual([expect.stringContaining(ann.id)]);
});

test.each(["policy", "reached"] as const)("leads from the step %s to the resource that it needs", async (step) => {
  const user = openConsole("/overview");
  await user.click(await opener(step));
  await user.click((await content(step)).getByRole("button", { name: title("resource") }));
  expect(await isOpen(step)).toBe(false);
  await (await content("resource")).findByRole("textbox", { name: new RegExp(t("publish.address.label")) });
  const item = (await opener("resource")).closest("li");
  await waitFor(() => expect(document.activeElement?.closest("li")).toBe(item));
});

test("explains gateways once: the panel of gateways is short while the checklist is shown", async () => {
  openConsole("/overview");
  await checklist();
  const panel = within(await screen.findByRole("region", { name: t("overview.gateways.title") }));
  await panel.findByText(t("gateways.empty.title"));
  expect(panel.queryByText(t("overview.gateways.empty"))).toBeNull();
  expect(panel.queryByText(t("gateways.create"))).toBeNull();
});

test("creates the policy for the newest resource", async () => {
  prepare("gateway", "resource", "device");
  mockApi.answer("get", "/tenants/groups", pageOf([engineering]));
  const user = openConsole("/overview");
  await user.click(await opener("policy"));
  const step = await content("policy");
  await waitFor(() =>
    expect(step.getByRole<HTMLInputElement>("combobox", { name: t("publish.resource.label") }).value).toBe("Wiki"),
  );
  await click(user, t("common.review"));
  await step.findByText(t("publish.who.missing"));
  await choose(user, t("publish.who.groups"), "Engineering");
  await click(user, t("common.review"));
  await click(user, t("policies.create"));
  await waitFor(() =>
    expect(mockApi.bodies("createPolicy")).toMatchObject([
      { type: "PRIVATE", action: true, groups: [engineering.id], resources: [wiki.id] },
    ]),
  );
});

test("names a second policy for the same resource, and its rule, differently", async () => {
  prepare("gateway", "resource", "device");
  const taken = ["Access to Wiki", "Access to Wiki (2)"];
  mockApi.answer("get", "/tenants/policies", ({ query }) => {
    const name = query["filter[name]"];
    return pageOf(name === undefined || taken.includes(name) ? [allowed] : []);
  });
  mockApi.answer("get", "/tenants/admission-rules", [
    sample("AdmissionRule", { id: newId(), name: "Admission rule for Wiki (3)" }),
  ]);
  const user = openConsole("/overview");
  await user.click(await opener("policy"));
  const step = await content("policy");
  await waitFor(() =>
    expect(step.getByRole<HTMLInputElement>("combobox", { name: t("publish.resource.label") }).value).toBe("Wiki"),
  );
  await user.click(step.getByRole("switch", { name: t("publish.who.everyone") }));
  await user.click(step.getByRole("checkbox", { name: t("publish.conditions.disk") }));
  await click(user, t("common.review"));
  await click(user, t("policies.create"));
  await waitFor(() =>
    expect(mockApi.bodies("applyChanges")).toMatchObject([
      {
        changes: [
          { path: "/tenants/admission-rules", body: { name: "Admission rule for Wiki (4)" } },
          { path: "/tenants/policies", body: { name: "Access to Wiki (4)", rule: "@rule" } },
        ],
      },
    ]),
  );
});

test("ends with the question answered “allowed”, and its path", async () => {
  prepare("gateway", "resource", "device");
  const policy = sample("Policy", {
    id: newId(),
    name: "Access to Wiki",
    type: "PRIVATE",
    action: true,
    active: true,
    allUsers: true,
    resources: [sample("PolicyResource", { id: wiki.id, name: "Wiki" })],
  });
  mockApi.answer("get", "/tenants/users/{id}", ann);
  mockApi.answer("post", "/access/v1/evaluation", {
    decision: true,
    context: sample("DecisionContext", {
      reason: "allowed_by_policy",
      policy: { id: policy.id, name: policy.name },
    }),
  });
  const user = openConsole("/overview");
  await user.click(await opener("policy"));
  const step = await content("policy");
  await waitFor(() =>
    expect(step.getByRole<HTMLInputElement>("combobox", { name: t("publish.resource.label") }).value).toBe("Wiki"),
  );
  await user.click(step.getByRole("switch", { name: t("publish.who.everyone") }));
  await click(user, t("common.review"));
  mockApi.answer("post", "/tenants/policies", () => {
    mockApi.answer("get", "/tenants/policies", pageOf([policy]));
    mockApi.answer("get", "/tenants/access", pageOf([row]));
    return policy;
  });
  await click(user, t("policies.create"));
  const steps = await checklist();
  await steps.findByText(counts(5));
  await steps.findByText(t("overview.firstSteps.complete"));
  await waitFor(async () => expect(await isOpen("reached")).toBe(true));
  const last = await content("reached");
  await last.findByText(t("access.decision.allowed"));
  expect(mockApi.bodies("evaluateAccess")).toMatchObject([
    { subject: { type: "user", id: ann.id }, resource: { type: "resource", id: wiki.id } },
  ]);
  await last.findByRole("region", { name: t("graph.path") });
  await user.click(steps.getByRole("button", { name: t("common.close") }));
  await waitFor(() => expect(screen.queryByRole("region", { name: t("overview.firstSteps.title") })).toBeNull());
});

test("is not shown to a tenant that works, while its gateway is offline and its newest resources are not in use", async () => {
  mockApi.answer("get", "/tenants/gateways", [{ ...gateway, status: "OFFLINE" }]);
  mockApi.answer("get", "/tenants/resources", ({ query }) => {
    const unused = Array.from({ length: 7 }, (_, index) =>
      sample("Resource", { id: newId(), name: `Unused ${index}` }),
    );
    return pageOf([...unused, wiki].slice(0, Number(query.limit)));
  });
  mockApi.answer("get", "/tenants/devices", pageOf([device]));
  mockApi.answer("get", "/tenants/policies", pageOf([allowed]));
  mockApi.answer("get", "/tenants/access", ({ query }) => pageOf(query.device === device.id ? [row] : []));
  openConsole("/overview");
  await waitFor(() => {
    if (isShown()) throw new Error("The checklist is shown.");
    expect(mockApi.received("listPastAccess").some(({ query }) => query.device === device.id)).toBe(true);
  });
  await mockApi.settled();
  // One check asks about two resources and two devices at most.
  expect(mockApi.received("listPastAccess").length).toBeLessThanOrEqual(4);
  // The completion is stored after the answer was rendered.
  await waitFor(() => expect(Object.keys(localStorage)).not.toEqual([]));
  expect(isShown()).toBe(false);
});

test("is not shown again in a browser in which it was complete", async () => {
  prepare("gateway", "resource", "device");
  mockApi.answer("get", "/tenants/policies", pageOf([allowed]));
  mockApi.answer("get", "/tenants/access", pageOf([row]));
  openConsole("/overview");
  await waitFor(() => expect(Object.keys(localStorage)).not.toEqual([]));
  closeConsole();
  mockApi.answer("get", "/tenants/access", pageOf([]));
  mockApi.answer("get", "/tenants/policies", pageOf([]));
  openConsole("/overview");
  await screen.findByRole("region", { name: t("overview.gateways.title") });
  await mockApi.settled();
  expect(isShown()).toBe(false);
});

test("asks more often in a session that receives no events", async () => {
  const started = vi.spyOn(globalThis, "setInterval");
  const intervalsOf = async (held: readonly Permission[]) => {
    mockApi.signIn(held);
    started.mockClear();
    openConsole("/overview");
    await checklist();
    await mockApi.settled();
    const all = started.mock.calls.map(([, interval]) => interval);
    closeConsole();
    return { often: all.filter((ms) => ms === 15_000).length, seldom: all.filter((ms) => ms === 60_000).length };
  };
  const withEvents = await intervalsOf(permissions);
  const withoutEvents = await intervalsOf(permissions.filter((permission) => permission !== "events:read"));
  started.mockRestore();
  expect(withoutEvents.often).toBeGreaterThan(withEvents.often);
  expect(withoutEvents.seldom).toBeLessThan(withEvents.seldom);
});

test("is not shown to keys that cannot take the steps", async () => {
  mockApi.signIn(["gateways:read", "resources:read", "events:read"]);
  openConsole("/overview");
  await screen.findByRole("region", { name: t("overview.gateways.title") });
  expect(screen.queryByRole("region", { name: t("overview.firstSteps.title") })).toBeNull();
});

test.each([
  ["a person", true],
  ["an API key", false],
])("%s can add a device of their own: %s", async (_who, isPerson) => {
  if (isPerson) mockApi.signInPerson(permissions);
  const user = openConsole("/overview");
  await user.click(await opener("device"));
  const step = await content("device");
  await step.findByRole("button", { name: t("users.invite.title") });
  const own = step.queryByRole("link", { name: t("overview.firstSteps.device.addOwn") });
  expect(own?.getAttribute("href")).toBe(isPerson ? "/console/my?add=1" : undefined);
});
