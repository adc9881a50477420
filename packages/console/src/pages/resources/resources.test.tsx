import { screen, waitFor, within } from "@testing-library/dom";
import type { UserEvent } from "@testing-library/user-event";
import { beforeEach, describe, expect, test } from "vitest";
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
import { etag, mockApi, problem } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

const id = newId();
const https = sample("Protocol", { name: "HTTPS" });
const berlin = sample("Gateway", { name: "Berlin", status: "ONLINE" });
const madrid = sample("Gateway", { name: "Madrid", status: "OFFLINE" });
const address = sample("Address", { address: "wiki.example.com", protocols: [https] });
const resource = sample("Resource", {
  id,
  name: "Wiki",
  type: "PRIVATE",
  loadBalancingMode: "MANUAL",
  addresses: [address],
  gateways: [berlin, madrid],
});

const gatewayNames = () =>
  [...document.querySelectorAll("tr[data-row-of=gateway] a")].map(({ textContent }) => textContent);

function openResource() {
  mockApi.answer("get", "/tenants/resources/{id}", resource);
  mockApi.answer("get", "/tenants/protocols", [https]);
  return openConsole(`/resources/${id}`);
}

describe("the list of resources", () => {
  test("says which resources no gateway serves", async () => {
    mockApi.answer("get", "/tenants/resources", pageOf([resource, sample("Resource", { name: "Printer" })]));
    openConsole("/resources");
    const row = await screen.findByRole("row", { name: /Printer/ });
    expect(row.textContent).toContain(t("overview.findings.resources.no_gateways"));
    expect(screen.getByRole("row", { name: /Wiki/ }).textContent).toContain("Berlin, Madrid");
  });

  test("filters by type", async () => {
    const user = openConsole("/resources");
    await choose(user, t("common.type"), t("resources.types.SAAS"));
    await waitFor(() => expect(mockApi.received("listResources").at(-1)?.query["filter[type]"]).toBe("SAAS"));
  });
});

describe("the form of a resource", () => {
  test("sends each address with its protocols, and leaves out empty lines", async () => {
    mockApi.answer("get", "/tenants/protocols", [https]);
    mockApi.answer("post", "/tenants/resources", resource);
    mockApi.answer("get", "/tenants/resources/{id}", resource);
    const user = openConsole("/resources?new=1");
    await fill(user, t("common.name"), "Wiki");
    await fill(user, t("resources.addresses.address"), "wiki.example.com");
    await choose(user, t("resources.addresses.protocols"), "HTTPS");
    await click(user, t("resources.addresses.another"));
    await reviewAndSend(user, t("common.create"));
    await findTitle("Wiki");
    expect(mockApi.bodies("createResource")).toEqual([
      { name: "Wiki", type: "PRIVATE", addresses: [{ address: "wiki.example.com", protocols: [https.id] }] },
    ]);
  });

  test("creates a resource and connects its gateways in one change set", async () => {
    const gateway = sample("Gateway", { id: newId(), name: "Frankfurt" });
    mockApi.answer("get", "/tenants/gateways", [gateway]);
    mockApi.answer("get", "/tenants/resources/{id}", resource);
    mockApi.answer("post", "/tenants/changes", {
      generation: 2,
      changes: [
        { status: 201, events: [], body: resource },
        { status: 204, events: [] },
      ],
    });
    const user = openConsole("/resources?new=1");
    await fill(user, t("common.name"), "Wiki");
    await choose(user, t("resources.gateways.label"), "Frankfurt");
    await reviewAndSend(user, t("common.create"));
    await findTitle("Wiki");
    expect(mockApi.bodies("applyChanges")).toMatchObject([
      {
        changes: [
          { path: "/tenants/resources", as: "resource" },
          { path: "/tenants/resources/@resource/loadBalancing", body: { gateways: [gateway.id] } },
        ],
      },
    ]);
  });

  test("shows the server's error about an address", async () => {
    mockApi.answer("post", "/tenants/policies/preview", () =>
      problem("invalid_body", {
        errors: [{ pointer: "/changes/0/body/addresses/0/address", message: "wiki:443 has a port." }],
      }),
    );
    const user = openConsole("/resources?new=1");
    await fill(user, t("common.name"), "Wiki");
    await fill(user, t("resources.addresses.address"), "wiki:443");
    await click(user, t("common.review"));
    await screen.findByText("wiki:443 has a port.");
  });

  test("removes an address that is not needed", async () => {
    const user = openConsole("/resources?new=1");
    await click(user, t("resources.addresses.another"));
    await click(user, t("resources.addresses.removeField", { number: 2 }));
    expect(screen.queryByRole("textbox", { name: t("resources.addresses.field", { number: 2 }) })).toBeNull();
  });

  test("changes only the name and the description", async () => {
    const user = openResource();
    await click(user, t("common.edit"));
    await fill(user, t("common.name"), "Handbook");
    await reviewAndSend(user, t("common.save"));
    await waitForDialogToClose();
    expect(mockApi.received("updateResource")).toMatchObject([{ ifMatch: etag }]);
    expect(mockApi.bodies("updateResource")).toEqual([{ name: "Handbook", description: "" }]);
  });
});

describe("addresses on the page of a resource", () => {
  test("are added with their protocols", async () => {
    const user = openResource();
    await click(user, t("resources.addresses.add"));
    await fill(user, t("records.address.address"), "10.0.0.0/24");
    await choose(user, t("records.address.protocols"), "HTTPS");
    await reviewAndSend(user, t("resources.addresses.add"));
    await waitForDialogToClose();
    expect(mockApi.received("addResourceAddress")).toMatchObject([
      { path: `/tenants/resources/${id}/addresses`, body: { address: "10.0.0.0/24", protocols: [https.id] } },
    ]);
  });

  test("are removed after a review", async () => {
    const user = openResource();
    await click(user, t("resources.addresses.remove", { address: "wiki.example.com" }));
    await findDialog(t("resources.addresses.removeTitle", { address: "wiki.example.com", name: "Wiki" }));
    await click(user, t("common.remove"));
    await waitForDialogToClose();
    expect(mockApi.received("removeResourceAddress")).toMatchObject([
      { path: `/tenants/resources/${id}/addresses/${address.id}`, ifMatch: etag },
    ]);
  });
});

describe("gateways on the page of a resource", () => {
  test("are cards in a narrow panel, which keep and label each field", async () => {
    openResource();
    const panel = await findPanel(t("resources.gateways.title", { count: 2 }));
    expect(panel.getByRole("table").className).toContain("cards");
    const row = within(panel.getByRole("row", { name: /Berlin/ }));
    const fields = row
      .getAllByRole("cell")
      .map((cell) => [cell.dataset.label, cell.dataset.main, cell.textContent])
      .filter(([, , text]) => text !== "");
    expect(fields).toEqual([
      [t("resources.gateways.priority"), undefined, "1"],
      [undefined, "true", "Berlin"],
      [t("common.status"), undefined, t("records.status.online")],
      [undefined, undefined, t("resources.gateways.disconnectShort")],
    ]);
  });

  test("change their priority, which is saved as one change", async () => {
    const user = openResource();
    await click(user, t("resources.gateways.moveDown", { name: "Berlin" }));
    expect(gatewayNames()).toEqual(["Madrid", "Berlin"]);
    await click(user, t("resources.gateways.save"));
    await waitFor(() =>
      expect(mockApi.received("configureLoadBalancing")).toMatchObject([
        { ifMatch: etag, body: { loadBalancingMode: "MANUAL", gateways: [madrid.id, berlin.id] } },
      ]),
    );
  });

  test("are disconnected after a review", async () => {
    const user = openResource();
    const label = t("resources.gateways.disconnect", { name: "Madrid" });
    await click(user, label);
    await findDialog();
    await click(user, label);
    await waitForDialogToClose();
    expect(mockApi.bodies("configureLoadBalancing")).toEqual([{ loadBalancingMode: "MANUAL", gateways: [berlin.id] }]);
  });

  test("are connected after a review", async () => {
    const lisbon = sample("Gateway", { name: "Lisbon" });
    mockApi.answer("get", "/tenants/gateways", [berlin, madrid, lisbon]);
    const user = openResource();
    await click(user, t("resources.gateways.add"));
    const dialog = await findDialog();
    await user.click(dialog.getByRole("combobox", { name: new RegExp(t("resources.gateways.gateway")) }));
    expect((await screen.findAllByRole("option")).map(({ textContent }) => textContent)).toEqual(["Lisbon"]);
    await user.click(screen.getByRole("option", { name: "Lisbon" }));
    await click(user, t("common.review"));
    await click(user, t("resources.gateways.connect", { name: "Lisbon" }));
    await waitForDialogToClose();
    expect(mockApi.bodies("configureLoadBalancing")).toEqual([
      { loadBalancingMode: "MANUAL", gateways: [berlin.id, madrid.id, lisbon.id] },
    ]);
  });

  test("are balanced by load when a button is pressed", async () => {
    const user = openResource();
    const panel = await findPanel(t("resources.gateways.title", { count: 2 }));
    await user.click(panel.getByRole("radio", { name: t("resources.gateways.byLoad") }));
    await waitFor(() =>
      expect(mockApi.bodies("configureLoadBalancing")).toEqual([
        { loadBalancingMode: "AUTOMATIC", gateways: [berlin.id, madrid.id] },
      ]),
    );
  });
});

test("deletes a resource after its review, and returns to the list", async () => {
  const user = openResource();
  await chooseAction(user, t("common.more"), t("common.delete"));
  const dialog = await findDialog(t("resources.delete.title", { name: "Wiki" }));
  dialog.getByText(t("resources.delete.effect", { count: 1 }));
  await waitFor(() =>
    expect(dialog.getByRole<HTMLButtonElement>("button", { name: t("common.delete") }).disabled).toBe(false),
  );
  await user.click(dialog.getByRole("button", { name: t("common.delete") }));
  await waitFor(() => expect(currentPath()).toBe("/resources"));
  expect(mockApi.received("deleteResource")).toMatchObject([{ ifMatch: etag }]);
});

describe("a resource that a policy names", () => {
  const kept = newId();
  const policy = sample("Policy", {
    id: newId(),
    name: "Intranet",
    resources: [
      sample("PolicyResource", { id, name: "Wiki" }),
      sample("PolicyResource", { id: kept, name: "File shares" }),
    ],
  });
  const inUse = { pointer: `/tenants/policies/${policy.id}`, message: "Intranet" };

  beforeEach(() => {
    mockApi.answer("get", "/tenants/policies", pageOf([policy]));
    mockApi.answer("get", "/tenants/policies/{id}", policy);
  });

  async function removeAndDelete(user: UserEvent): Promise<void> {
    await waitFor(() => {
      const { changes } = mockApi.bodies("previewAccess").at(-1) as { readonly changes: readonly unknown[] };
      expect(changes).toHaveLength(2);
    });
    await click(user, t("records.removeFromPolicies", { count: 1 }));
    await waitFor(() => expect(currentPath()).toBe("/resources"));
    expect(mockApi.bodies("applyChanges")).toEqual([
      {
        changes: [
          { method: "PATCH", path: `/tenants/policies/${policy.id}`, body: { resources: [kept] }, ifMatch: etag },
          { method: "DELETE", path: `/tenants/resources/${id}`, ifMatch: etag },
        ],
      },
    ]);
  }

  test("is removed from the policy and deleted in one change set", async () => {
    mockApi.answer("post", "/tenants/policies/preview", ({ body }) =>
      (body as { changes: readonly unknown[] }).changes.length === 1
        ? problem("resource_in_use", { errors: [{ pointer: "/changes/0", message: "is refused" }, inUse] })
        : sample("AccessPreview"),
    );
    const user = openResource();
    await chooseAction(user, t("common.more"), t("common.delete"));
    await screen.findByRole("button", { name: t("records.removeFromPolicies", { count: 1 }) });
    const dialog = within(await screen.findByRole("dialog"));
    // The remedy replaces the button, whose request the server would refuse. A refusal is not a failure to report.
    expect(dialog.queryByRole("button", { name: t("common.delete") })).toBeNull();
    dialog.getByRole("link", { name: "Intranet" });
    expect(dialog.queryByText(t("app.problem.explain"))).toBeNull();
    await removeAndDelete(user);
    expect(mockApi.received("listPolicies").at(-1)?.query).toMatchObject({ "filter[resources.id]": id });
  });

  test("is removed from the policy even if the deletion, but not its preview, was refused", async () => {
    mockApi.answer("delete", "/tenants/resources/{id}", () => problem("resource_in_use", { errors: [inUse] }));
    const user = openResource();
    await chooseAction(user, t("common.more"), t("common.delete"));
    await findDialog(t("resources.delete.title", { name: "Wiki" }));
    await click(user, t("common.delete"));
    await removeAndDelete(user);
  });
});
