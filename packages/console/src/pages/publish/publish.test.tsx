import { screen, waitFor } from "@testing-library/dom";
import { describe, expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { choose, click, fill, openConsole } from "../../testing/console-page.tsx";
import { mockApi, problem } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

const https = sample("Protocol", { id: newId(), name: "HTTPS", networkProtocols: [{ protocol: "TCP", port: "443" }] });
const group = sample("Group", { id: newId(), name: "Engineering" });
const resource = newId();
const policy = { id: newId(), name: "Access to Wiki", resources: [{ id: resource }] };

function prepare() {
  mockApi.answer("get", "/tenants/protocols", [https]);
  mockApi.answer("get", "/tenants/groups", pageOf([group]));
  mockApi.answer("post", "/tenants/changes", {
    generation: 7,
    changes: [{ status: 201, events: [], body: policy }],
  });
}

/** The text of the review, whose labels are separate elements. */
const textOfReview = () => screen.getByRole("main").textContent;

describe("publishing a resource", () => {
  test("sends gateway, resource, conditions and policy as one change set, after a preview of the same", async () => {
    prepare();
    const user = openConsole("/publish");
    await fill(user, new RegExp(t("publish.address.label")), "https://wiki.internal");
    const destination = t("publish.address.port", { address: "wiki.internal", protocol: "HTTPS", port: 443 });
    await screen.findByText(t("publish.address.publishedAs", { destination }));
    await choose(user, t("publish.who.groups"), "Engineering");
    await user.click(screen.getByRole("checkbox", { name: t("publish.conditions.disk") }));
    await click(user, t("common.review"));
    await click(user, t("publish.publish"));
    await screen.findByText(t("publish.done.title", { name: "Wiki" }));
    const changes = [
      { method: "POST", path: "/tenants/gateways", as: "gateway", body: { name: "gateway-1", wireguardPort: "51820" } },
      {
        method: "POST",
        path: "/tenants/resources",
        as: "resource",
        body: { name: "Wiki", type: "PRIVATE", addresses: [{ address: "wiki.internal", protocols: [https.id] }] },
      },
      { method: "PUT", path: "/tenants/resources/@resource/gateways/@gateway" },
      {
        method: "POST",
        path: "/tenants/admission-rules",
        as: "rule",
        body: { rule: "device.posture.diskEncrypted == true", hasTimeConstraint: false },
      },
      {
        method: "POST",
        path: "/tenants/policies",
        body: { action: true, groups: [group.id], resources: ["@resource"], rule: "@rule" },
      },
    ];
    expect(mockApi.bodies("applyChanges")).toMatchObject([{ changes }]);
    expect(mockApi.bodies("previewAccess")).toMatchObject([{ changes }]);
    expect(
      screen.getByRole("link", { name: t("publish.done.toResource", { name: "Wiki" }) }).getAttribute("href"),
    ).toBe(`/console/resources/${resource}`);
  });

  test("proposes the address as the name if a resource has the usual name", async () => {
    prepare();
    mockApi.answer("get", "/tenants/resources", ({ query }) =>
      pageOf(query["filter[name]"] === "Wiki" ? [sample("Resource", { id: newId(), name: "Wiki" })] : []),
    );
    const user = openConsole("/publish");
    await fill(user, new RegExp(t("publish.address.label")), "https://wiki.internal");
    const [name] = await screen.findAllByRole<HTMLInputElement>("textbox", { name: new RegExp(t("common.name")) });
    await waitFor(() => expect(name?.value).toBe("wiki.internal"));
  });

  test("the review names the group, the policy and the conditions, and the end names what is still needed", async () => {
    prepare();
    const user = openConsole("/publish");
    await fill(user, new RegExp(t("publish.address.label")), "https://wiki.internal");
    await choose(user, t("publish.who.groups"), "Engineering");
    await user.click(screen.getByRole("checkbox", { name: t("publish.conditions.disk") }));
    screen.getByText(t("publish.conditions.diskHelp"));
    await user.click(screen.getByRole("checkbox", { name: t("publish.conditions.hours") }));
    await choose(user, t("admissionRules.builder.from"), "07:30");
    await choose(user, t("admissionRules.builder.timeZone"), "Africa/Abidjan");
    await click(user, t("common.review"));
    const named = { policy: "Access to Wiki", groups: "“Engineering”", count: 1 };
    await screen.findByText(t("publish.summary.policy", named));
    const destination = t("publish.address.port", { address: "wiki.internal", protocol: "HTTPS", port: 443 });
    expect(textOfReview()).toContain(`Address: ${destination}`);
    screen.getByText(t("publish.summary.newGateway", { name: "gateway-1" }));
    screen.getByText(t("publish.summary.rule", { rule: "Admission rule for Wiki" }));
    const zone = "Africa/Abidjan";
    const days = "Monday to Friday";
    screen.getByText(t("admissionRules.conditions.daysAndHours", { days, from: "07:30", to: "18:00", zone }));
    await click(user, t("publish.publish"));
    await screen.findByText(t("publish.done.device"));
    expect(screen.getByRole("link", { name: policy.name }).getAttribute("href")).toBe(`/console/policies/${policy.id}`);
    const [set] = mockApi.bodies("applyChanges") as readonly {
      readonly changes: readonly { readonly body?: object }[];
    }[];
    const rules = set?.changes.flatMap(({ body }) => (body !== undefined && "rule" in body ? [body.rule] : []));
    const minutes = `now.getHours("${zone}") * 60 + now.getMinutes("${zone}")`;
    expect(rules?.[0]).toBe(
      [
        "device.posture.diskEncrypted == true",
        `now.getDayOfWeek("${zone}") in [1, 2, 3, 4, 5]`,
        `${minutes} >= 450 && ${minutes} < 1080`,
      ].join(" &&\n"),
    );
  });

  test("leads to the deployment of the new gateway", async () => {
    prepare();
    const gateway = newId();
    mockApi.answer(
      "get",
      "/tenants/resources/{id}",
      sample("Resource", { id: resource, gateways: [sample("Gateway", { id: gateway, name: "gateway-1" })] }),
    );
    const user = openConsole("/publish");
    await fill(user, new RegExp(t("publish.address.label")), "https://wiki.internal");
    await choose(user, t("publish.who.groups"), "Engineering");
    await click(user, t("common.review"));
    await click(user, t("publish.publish"));
    const link = await screen.findByRole("link", { name: t("publish.done.toGateway") });
    await waitFor(() => expect(link.getAttribute("href")).toBe(`/console/gateways/${gateway}`));
  });

  test("shows a taken name at the field, which has the focus", async () => {
    prepare();
    mockApi.answer("post", "/tenants/policies/preview", () =>
      problem("name_taken", { errors: [{ pointer: "/changes/1/body/name", message: "is taken" }] }),
    );
    const user = openConsole("/publish");
    await fill(user, new RegExp(t("publish.address.label")), "https://wiki.internal");
    await choose(user, t("publish.who.groups"), "Engineering");
    await click(user, t("common.review"));
    await screen.findByText(t("publish.nameTaken"));
    const field = screen.getByRole("textbox", { name: t("common.name") });
    expect(field.getAttribute("aria-invalid")).toBe("true");
    await waitFor(() => expect(document.activeElement).toBe(field));
  });

  test("the review names the resource that has the address already", async () => {
    prepare();
    const [first, planned] = [
      { id: newId(), name: "Old wiki" },
      { id: newId(), name: "Wiki" },
    ];
    const shared = { address: "wiki.internal", resource: planned, resources: [first, planned], enclosing: [] };
    mockApi.answer("post", "/tenants/policies/preview", sample("AccessPreview", { sharedAddresses: [shared] }));
    const user = openConsole("/publish");
    await fill(user, new RegExp(t("publish.address.label")), "https://wiki.internal");
    await choose(user, t("publish.who.groups"), "Engineering");
    await click(user, t("common.review"));
    await screen.findByText(t("records.sharedAddress.title", { count: 1 }));
    expect(screen.getByText(/wiki\.internal belongs to/).textContent).toBe(
      t("records.sharedAddress.later", { address: "wiki.internal", name: "Wiki" }).replace("<others/>", "Old wiki"),
    );
    expect(screen.getByRole("link", { name: "Old wiki" }).getAttribute("href")).toBe(`/console/resources/${first.id}`);
  });

  test("says at the field what is missing", async () => {
    prepare();
    const user = openConsole("/publish");
    await fill(user, new RegExp(t("publish.address.label")), "two words");
    await click(user, t("common.review"));
    await screen.findByText(t("publish.address.invalid"));
    await screen.findByText(t("publish.who.missing"));
    expect(mockApi.received("previewAccess")).toEqual([]);
  });

  test("uses the existing gateway, and creates a protocol for an unknown port", async () => {
    prepare();
    const berlin = sample("Gateway", { id: newId(), name: "Berlin", status: "ONLINE" });
    mockApi.answer("get", "/tenants/gateways", [berlin]);
    const user = openConsole("/publish");
    await fill(user, new RegExp(t("publish.address.label")), "build.internal:8443");
    await choose(user, t("publish.who.groups"), "Engineering");
    await click(user, t("common.review"));
    await waitFor(() => expect(textOfReview()).toContain("Gateway: Berlin"));
    await click(user, t("publish.publish"));
    await waitFor(() =>
      expect(mockApi.bodies("applyChanges")).toMatchObject([
        {
          changes: [
            { path: "/tenants/protocols", body: { networkProtocols: [{ protocol: "TCP", port: "8443" }] } },
            { path: "/tenants/resources" },
            { path: `/tenants/resources/@resource/gateways/${berlin.id}` },
            { path: "/tenants/policies" },
          ],
        },
      ]),
    );
  });
});
