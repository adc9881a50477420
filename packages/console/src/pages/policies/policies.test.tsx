import { screen, waitFor, within } from "@testing-library/dom";
import { describe, expect, test, vi } from "vitest";
import { t } from "../../messages/i18n.ts";
import {
  choose,
  chooseAction,
  click,
  currentPath,
  fill,
  findDialog,
  findPanel,
  findTitle,
  openConsole,
  reviewAndSend,
  waitForDialogToClose,
} from "../../testing/console-page.tsx";
import { etag, mockApi } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

const id = newId();
const always = sample("AdmissionRule", { name: "Always", type: "ALLOW" });
const officeHours = sample("AdmissionRule", {
  name: "Office hours",
  type: "CUSTOM",
  rule: 'now.getHours("Europe/Berlin") >= 8',
});
const engineering = sample("Group", { name: "Engineering" });
const wiki = sample("Resource", { name: "Wiki" });
const policy = sample("Policy", {
  id,
  name: "Engineers build",
  action: true,
  active: true,
  rule: officeHours,
  groups: [sample("PolicyGroup", { id: engineering.id, name: "Engineering" })],
  resources: [sample("PolicyResource", { id: wiki.id, name: "Wiki" })],
});
const defaultPolicy = sample("Policy", { name: "Everything else", isDefault: true, active: true, type: "INTERNET" });
const second = sample("Policy", { name: "Contractors", active: true });
const third = sample("Policy", { name: "Visitors", active: false });

const names = () => [...document.querySelectorAll("li.policy .policy-name a")].map(({ textContent }) => textContent);

function answerWithRecords() {
  mockApi.answer("get", "/tenants/admission-rules", [always, officeHours]);
  mockApi.answer("get", "/tenants/groups", pageOf([engineering]));
  mockApi.answer("get", "/tenants/resources", pageOf([wiki]));
}

describe("the list of policies", () => {
  test("shows subjects, resources and rule of each policy in a line", async () => {
    const through = { ...policy, id: newId(), gateways: [sample("Gateway", { id: newId(), name: "Cloud" })] };
    mockApi.answer("get", "/tenants/policies", pageOf([policy, through]));
    openConsole("/policies");
    await screen.findAllByRole("link", { name: "Engineers build" });
    const line = t("policies.order.lineWithRule", { subjects: "Engineering", resources: "Wiki", rule: "Office hours" });
    expect([...document.querySelectorAll(".policy-about")].map(({ textContent }) => textContent)).toEqual([
      line,
      t("policies.order.lineThrough", { scope: line, gateways: "Cloud" }),
    ]);
    expect(mockApi.received("listPolicies")[0]?.query).toMatchObject({ "filter[type]": "PRIVATE", sort: "order" });
  });

  test("has the icon of a policy before each name, whatever the action", async () => {
    const denial = sample("Policy", { name: "Contractors stay out", active: true, action: false });
    mockApi.answer("get", "/tenants/policies", pageOf([policy, denial]));
    openConsole("/policies");
    await screen.findByRole("link", { name: denial.name });
    const icons = [...document.querySelectorAll(".policy-name svg")].map((icon) => icon.getAttribute("class"));
    expect(icons).toHaveLength(2);
    expect(new Set(icons).size).toBe(1);
  });

  test("reads the policies of the chosen access type", async () => {
    const user = openConsole("/policies");
    await screen.findByText(t("policies.empty.PRIVATE"));
    await user.click(screen.getByRole("radio", { name: t("policies.types.SITETOSITE") }));
    await screen.findByText(t("policies.empty.SITETOSITE"));
    expect(currentPath()).toBe("/policies?type=SITETOSITE");
    expect(mockApi.received("listPolicies").at(-1)?.query).toMatchObject({ "filter[type]": "SITETOSITE" });
  });

  test("keeps the shown columns and the density, and exports the policies of the type that match", async () => {
    const saved: Blob[] = [];
    vi.spyOn(URL, "createObjectURL").mockImplementation((blob) => {
      saved.push(blob as Blob);
      return "blob:test";
    });
    // The window of the test would follow the address of the file.
    vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(() => undefined);
    mockApi.answer("get", "/tenants/policies", pageOf([policy]));
    const user = openConsole("/policies?type=SAAS&q=build");
    await click(user, t("lists.options.label"));
    await user.click(await screen.findByRole("menuitemcheckbox", { name: t("policies.order.appliesTo") }));
    await user.click(await screen.findByRole("menuitemradio", { name: t("lists.options.compact") }));
    expect(screen.queryByRole("menuitemradio", { name: t("lists.options.rows", { count: 100 }) })).toBeNull();
    expect(document.querySelector(".policy-about")).toBeNull();
    expect(document.querySelector(".policy-decision")).not.toBeNull();
    expect(document.querySelector<HTMLElement>(".policy-list")?.dataset.density).toBe("compact");
    await user.click(await screen.findByRole("menuitem", { name: t("lists.export.csv") }));
    await waitFor(() => expect(saved).toHaveLength(1));
    expect(await saved[0]?.text()).toContain("Engineers build");
    expect(mockApi.received("listPolicies").at(-1)?.query).toMatchObject({
      "filter[type]": "SAAS",
      "filter[name][ilike]": "%build%",
      sort: "order",
    });
    expect(JSON.parse(localStorage.getItem("gatehouse.list:/tenants/policies") ?? "")).toMatchObject({
      hidden: ["scope"],
      density: "compact",
    });
  });

  test("offers no search and no order of policies that do not exist", async () => {
    openConsole("/policies");
    await screen.findByText(t("policies.empty.PRIVATE"));
    expect(screen.queryByRole("searchbox")).toBeNull();
    expect(screen.queryByText(t("policies.evaluation"))).toBeNull();
  });

  test("saves a new order after its review", async () => {
    mockApi.answer("get", "/tenants/policies", pageOf([policy, second, third]));
    const user = openConsole("/policies");
    await click(user, t("policies.order.moveDown", { name: "Engineers build" }));
    expect(names()).toEqual(["Contractors", "Engineers build", "Visitors"]);
    await screen.findByText(t("records.reorder.moved", { name: "Engineers build", position: 2, total: 3 }));
    await click(user, t("policies.order.review"));
    await click(user, t("policies.order.save"));
    await waitForDialogToClose();
    expect(mockApi.bodies("reorderPolicies")).toEqual([{ type: "PRIVATE", policies: [second.id, id, third.id] }]);
  });

  test("moves a policy by the keys of its handle, and discards the move", async () => {
    mockApi.answer("get", "/tenants/policies", pageOf([policy, second, third]));
    const user = openConsole("/policies");
    const handle = await screen.findByRole("button", { name: t("records.reorder.grip", { name: "Visitors" }) });
    handle.focus();
    await user.keyboard("{Home}");
    expect(names()).toEqual(["Visitors", "Engineers build", "Contractors"]);
    await click(user, t("policies.order.discard"));
    expect(names()).toEqual(["Engineers build", "Contractors", "Visitors"]);
    expect(mockApi.writes()).toEqual([]);
  });

  test("asks before a link drops an order that is not saved", async () => {
    mockApi.answer("get", "/tenants/policies", pageOf([policy, second, third]));
    const user = openConsole("/policies");
    const handle = await screen.findByRole("button", { name: t("records.reorder.grip", { name: "Visitors" }) });
    handle.focus();
    await user.keyboard("{Home}");
    await user.click(screen.getByRole("link", { name: t("users.title") }));
    await screen.findByText(t("records.form.discardTitle"));
    expect(currentPath()).toBe("/policies");
    expect(names()).toEqual(["Visitors", "Engineers build", "Contractors"]);
  });

  test("keeps the default policy in the last position", async () => {
    const internet = sample("Policy", { name: "No downloads", type: "INTERNET", active: true });
    mockApi.answer("get", "/tenants/policies", pageOf([internet, defaultPolicy]));
    openConsole("/policies?type=INTERNET");
    const down = await screen.findByRole<HTMLButtonElement>("button", {
      name: t("policies.order.moveDown", { name: "No downloads" }),
    });
    expect(down.disabled).toBe(true);
    expect(screen.queryByRole("button", { name: t("policies.order.moveUp", { name: "Everything else" }) })).toBeNull();
  });

  test("offers no other order while it shows only some policies", async () => {
    mockApi.answer("get", "/tenants/policies", pageOf([policy, second, third]));
    openConsole("/policies?q=contr");
    await screen.findByRole("link", { name: "Contractors" });
    expect(names()).toEqual(["Contractors"]);
    expect(document.querySelector(".policy .place")?.textContent).toBe("2");
    expect(document.querySelector("[draggable=true]")).toBeNull();
  });
});

describe("a long list of policies", () => {
  test("is read again before a review, even after a visit to another type", async () => {
    const all = Array.from({ length: 120 }, (_, index) => sample("Policy", { name: `Policy ${index}`, active: true }));
    mockApi.answer("get", "/tenants/policies", ({ query }) => {
      const offset = Number(query.offset);
      return pageOf(all.slice(offset, offset + Number(query.limit)), all.length);
    });
    const user = openConsole("/policies");
    await screen.findByRole("link", { name: "Policy 110" });
    for (const type of ["SaaS", "Private"]) {
      await user.click(screen.getByRole("radio", { name: type }));
      await waitFor(() => expect(screen.getByRole<HTMLInputElement>("radio", { name: type }).checked).toBe(true));
      await screen.findByRole("link", { name: "Policy 110" });
    }
    const read = mockApi.received("listPolicies").length;
    await user.click(screen.getByRole("button", { name: t("policies.order.moveDown", { name: "Policy 110" }) }));
    await click(user, t("policies.order.review"));
    // The new order must not overwrite somebody else's change.
    await waitFor(() =>
      expect(mockApi.received("listPolicies").slice(read)).toContainEqual(
        expect.objectContaining({ query: expect.objectContaining({ offset: "100" }) }),
      ),
    );
  });
});

describe("the form of a policy", () => {
  test("sends a new policy", async () => {
    answerWithRecords();
    mockApi.answer("post", "/tenants/policies", policy);
    mockApi.answer("get", "/tenants/policies/{id}", policy);
    const user = openConsole("/policies?new=1");
    await fill(user, t("common.name"), "Engineers build");
    await choose(user, t("policies.fields.groups"), "Engineering");
    await choose(user, t("policies.fields.resources"), "Wiki");
    await choose(user, t("policies.fields.rule"), "Office hours");
    await user.type(screen.getByRole("combobox", { name: t("policies.fields.sourceIps") }), "192.0.2.0/24");
    await reviewAndSend(user, t("common.create"));
    await findTitle("Engineers build");
    expect(mockApi.bodies("createPolicy")).toEqual([
      {
        type: "PRIVATE",
        name: "Engineers build",
        description: "",
        action: true,
        allUsers: false,
        allGroups: false,
        allDevices: false,
        allResources: false,
        groups: [engineering.id],
        users: [],
        devices: [],
        resources: [wiki.id],
        gateways: [],
        sourceIps: ["192.0.2.0/24"],
        rule: officeHours.id,
      },
    ]);
  });

  test("sends a denial without a mode and a rule that were not chosen", async () => {
    answerWithRecords();
    const user = openConsole("/policies?new=1&type=INTERNET");
    await fill(user, t("common.name"), "No downloads");
    await choose(user, t("policies.action"), t("policies.actions.deny"));
    const name = (label: string) => label.startsWith(t("policies.fields.allUsers"));
    await user.click(await screen.findByRole("switch", { name }));
    await reviewAndSend(user, t("common.create"));
    await waitFor(() => expect(mockApi.bodies("createPolicy")).toHaveLength(1));
    const [body] = mockApi.bodies("createPolicy");
    expect(body).toMatchObject({ type: "INTERNET", action: false, allUsers: true });
    expect(body).not.toHaveProperty("mode");
    expect(body).not.toHaveProperty("rule");
  });

  test("has no subjects between sites", async () => {
    answerWithRecords();
    const user = openConsole("/policies?new=1&type=SITETOSITE");
    await fill(user, t("common.name"), "Between sites");
    // The last field is rendered after the others.
    await screen.findByRole("textbox", { name: t("common.description") });
    expect(screen.queryByRole("combobox", { name: t("policies.fields.groups") })).toBeNull();
    await reviewAndSend(user, t("common.create"));
    await waitFor(() => expect(mockApi.bodies("createPolicy")).toHaveLength(1));
    expect(mockApi.bodies("createPolicy")[0]).not.toHaveProperty("groups");
  });
});

describe("the page of a policy", () => {
  test("shows subjects, resources and the conditions of the rule in words", async () => {
    mockApi.answer("get", "/tenants/policies/{id}", policy);
    openConsole(`/policies/${id}`);
    const scope = await findPanel(t("policies.scope.title"));
    expect(scope.getByRole("link", { name: "Engineering" }).getAttribute("href")).toBe(
      `/console/groups/${engineering.id}`,
    );
    expect(scope.getByRole("link", { name: "Wiki" }).getAttribute("href")).toBe(`/console/resources/${wiki.id}`);
    expect(scope.getByRole("link", { name: "Office hours" }).getAttribute("href")).toBe(
      `/console/admission-rules/${officeHours.id}`,
    );
    expect(scope.getByText('now.getHours("Europe/Berlin") >= 8').className).toContain("whole-condition");
    scope.getByText(t("policies.scope.anyGateway"));
  });

  test("sends only changed fields, and keeps the others", async () => {
    answerWithRecords();
    mockApi.answer("get", "/tenants/policies/{id}", policy);
    const user = openConsole(`/policies/${id}`);
    await click(user, t("common.edit"));
    await fill(user, t("common.description"), "Source code and builds");
    await reviewAndSend(user, t("common.save"));
    await waitForDialogToClose();
    expect(mockApi.received("updatePolicy")).toMatchObject([
      {
        path: `/tenants/policies/${id}`,
        ifMatch: etag,
        body: {
          description: "Source code and builds",
          groups: [engineering.id],
          resources: [wiki.id],
          rule: officeHours.id,
        },
      },
    ]);
  });

  test("offers only the editable fields of the default policy", async () => {
    mockApi.answer("get", "/tenants/policies/{id}", { ...defaultPolicy, mode: "LOCAL", rule: always });
    const user = openConsole(`/policies/${defaultPolicy.id}`);
    await click(user, t("common.edit"));
    const dialog = await findDialog();
    expect(dialog.queryByRole("textbox", { name: t("common.name") })).toBeNull();
    await choose(user, t("policies.fields.mode"), t("policies.modes.RESTRICTED"));
    await reviewAndSend(user, t("common.save"));
    await waitForDialogToClose();
    expect(mockApi.bodies("updatePolicy")).toEqual([{ mode: "RESTRICTED", gateways: [], description: "" }]);
    expect(screen.queryByRole("button", { name: t("common.more") })).toBeNull();
  });

  test.each([
    ["deactivates an active policy", true, t("policies.deactivate"), "deactivatePolicy"],
    ["reactivates an inactive policy", false, t("policies.reactivate"), "reactivatePolicy"],
  ])("%s after its review", async (_, active, label, operation) => {
    mockApi.answer("get", "/tenants/policies/{id}", { ...policy, active });
    const user = openConsole(`/policies/${id}`);
    await click(user, label);
    await findDialog();
    expect(mockApi.writes()).toEqual([]);
    await click(user, label);
    await waitForDialogToClose();
    expect(mockApi.received(operation)).toMatchObject([{ path: expect.stringContaining(id), ifMatch: etag }]);
  });

  test("deletes the policy after its review, and returns to the list of its type", async () => {
    mockApi.answer("get", "/tenants/policies/{id}", { ...policy, type: "SAAS" });
    const user = openConsole(`/policies/${id}`);
    await chooseAction(user, t("common.more"), t("common.delete"));
    const dialog = within(
      await screen.findByRole("dialog", { name: t("policies.delete.title", { name: "Engineers build" }) }),
    );
    dialog.getByText(t("policies.delete.note"));
    await click(user, t("common.delete"));
    await waitFor(() => expect(currentPath()).toBe("/policies?type=SAAS"));
    expect(mockApi.received("deletePolicy")).toMatchObject([{ path: `/tenants/policies/${id}`, ifMatch: etag }]);
  });
});
