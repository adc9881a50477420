import { screen, waitFor } from "@testing-library/dom";
import { describe, expect, test } from "vitest";
import { formatOwnZone } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { click, currentPath, findPanel, openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

const [userId, deviceId, resourceId] = [newId(), newId(), newId()];
const engineers = { id: newId(), name: "Engineers build" };
const berlin = { id: newId(), name: "Berlin" };

const allowed = sample("AccessDecision", {
  decision: true,
  context: sample("DecisionContext", {
    reason: "allowed_by_policy",
    policy: engineers,
    gateways: [berlin],
    explanation: sample("AccessExplanation", {
      otherPolicies: 2,
      policies: [
        sample("ConsideredPolicy", {
          policy: engineers,
          action: true,
          outcome: "decided",
          sourceMatches: [{ kind: "group", name: "Engineering" }],
        }),
      ],
    }),
  }),
});
const denied = sample("AccessDecision", {
  decision: false,
  context: sample("DecisionContext", {
    reason: "no_policy_allows",
    explanation: sample("AccessExplanation", {
      nearestMiss: {
        policy: engineers,
        missing: [{ kind: "source", groups: [{ id: newId(), name: "Engineering" }] }],
      },
    }),
  }),
});

test.each(["can", "what", "who"])("the time has a word of its own on a phone in the view %s", async (view) => {
  openConsole(`/access?view=${view}`);
  const region = await screen.findByRole("region", { name: t("access.query.region") });
  expect(region.querySelector(".when")?.getAttribute("data-word")).toBe(t("access.question.when"));
});

describe("whether someone can reach a resource", () => {
  test("shows a default that applies as a value, and only what is missing as a placeholder", async () => {
    openConsole(`/access?user=${userId}`);
    const looksLikeValue = async (name: string) => {
      const field = await screen.findByRole("combobox", { name });
      return field.closest(".effective-default") !== null;
    };
    expect(await looksLikeValue(t("access.query.device"))).toBe(true);
    expect(await looksLikeValue(t("access.query.user"))).toBe(false);
    expect(await looksLikeValue(t("access.query.resource"))).toBe(false);
  });

  test("has a placeholder for the device until a user is chosen", async () => {
    openConsole("/access");
    const device = await screen.findByRole("combobox", { name: t("access.query.device") });
    expect(device.closest(".effective-default")).toBeNull();
    expect(device.getAttribute("placeholder")).toBe(t("access.query.devicePlaceholder"));
  });

  test("asks for a decision with its explanation, and shows the policy that allows access", async () => {
    mockApi.answer("post", "/access/v1/evaluation", allowed);
    openConsole(`/access?user=${userId}&device=${deviceId}&resource=${resourceId}&ip=198.51.100.7&country=DE`);
    const panel = await findPanel(t("access.decision.title"));
    panel.getByText(t("access.decision.allowed"));
    panel.getByText(t("access.reasons.allowed_by_policy"));
    expect(panel.getByRole("link", { name: "Engineers build" }).getAttribute("href")).toBe(
      `/console/policies/${engineers.id}`,
    );
    panel.getByRole("link", { name: "Berlin" });
    expect(mockApi.bodies("evaluateAccess")).toEqual([
      {
        subject: { type: "user", id: userId },
        action: { name: "connect" },
        resource: { type: "resource", id: resourceId },
        context: { explain: true, deviceId, sourceIp: "198.51.100.7", country: "DE" },
      },
    ]);
  });

  test("shows the evaluated policies, and how many others cover something else", async () => {
    mockApi.answer("post", "/access/v1/evaluation", allowed);
    openConsole(`/access?user=${userId}&resource=${resourceId}`);
    const panel = await findPanel(t("access.evaluated.title"));
    panel.getByText(t("access.outcomes.decided"));
    panel.getByText(
      t("access.evaluated.matchedThrough", { matches: t("access.matches.group", { name: "Engineering" }) }),
    );
    const type = t("access.evaluated.types.PRIVATE");
    await panel.findByText(t("access.evaluated.othersOfType", { count: 2, type }));
  });

  test.each([
    ["AUTOMATIC", /\(spread\)/],
    ["MANUAL", /^(?!.*spread)/],
  ] as const)("says whether devices are spread over the gateways: %s", async (loadBalancingMode, note) => {
    const gateways = ["Berlin", "Madrid"].map((name) => ({ id: newId(), name }));
    mockApi.answer("post", "/access/v1/evaluation", { ...allowed, context: { ...allowed.context, gateways } });
    mockApi.answer(
      "get",
      "/tenants/resources/{id}",
      sample("Resource", { id: resourceId, loadBalancingMode, type: "PRIVATE" }),
    );
    openConsole(`/access?user=${userId}&device=${deviceId}&resource=${resourceId}`);
    // Only now is the mode of the resource known.
    await screen.findByText(
      t("access.evaluated.othersOfType", { count: 2, type: t("access.evaluated.types.PRIVATE") }),
    );
    const panel = await findPanel(t("access.decision.title"));
    const isSpread = loadBalancingMode === "AUTOMATIC";
    const label = t(`access.decision.fields.${isSpread ? "gatewaysOfDevice" : "gateways"}`);
    expect((await panel.findByText(label)).parentElement?.textContent).toMatch(note);
  });

  test("says until when access is allowed: not the end of the hour, but the end of the working day", async () => {
    mockApi.answer("post", "/access/v1/evaluation", {
      ...allowed,
      context: {
        ...allowed.context,
        validUntil: "2026-11-26T01:00:00.000Z",
        explanation: sample("AccessExplanation", { changesAt: "2026-11-26T18:00:00.000Z" }),
      },
    });
    openConsole(`/access?user=${userId}&resource=${resourceId}`);
    const panel = await findPanel(t("access.decision.title"));
    const until = panel.getByText(t("access.decision.fields.allowedUntil")).parentElement;
    expect(until?.querySelector("time")?.dateTime).toBe("2026-11-26T18:00:00.000Z");
    // Conditions beside it can name other time zones.
    expect(until?.textContent).toContain(`(${formatOwnZone()})`);
  });

  test("does not claim that access works without a gateway, and names the gateways", async () => {
    const offline = sample("Gateway", { id: newId(), name: "gateway-1", status: "OFFLINE" });
    mockApi.answer(
      "get",
      "/tenants/resources/{id}",
      sample("Resource", { id: resourceId, type: "PRIVATE", gateways: [offline] }),
    );
    mockApi.answer("post", "/access/v1/evaluation", {
      ...allowed,
      context: sample("DecisionContext", {
        reason: "allowed_by_policy",
        reasons: ["allowed_by_policy", "no_reachable_gateway"],
        policy: engineers,
        gateways: [],
      }),
    });
    openConsole(`/access?user=${userId}&resource=${resourceId}`);
    const panel = await findPanel(t("access.decision.title"));
    panel.getByText(t("access.decision.unreachable"));
    expect(panel.queryByText(t("access.decision.allowed"))).toBeNull();
    const link = await panel.findByRole("link", { name: "gateway-1" });
    expect(link.getAttribute("href")).toBe(`/console/gateways/${offline.id}`);
  });

  test("says what is missing if access is denied", async () => {
    mockApi.answer("post", "/access/v1/evaluation", denied);
    openConsole(`/access?user=${userId}&resource=${resourceId}`);
    const panel = await findPanel(t("access.decision.title"));
    panel.getByText(t("access.decision.denied"));
    panel.getByText(t("access.decision.missingFor", { policy: "Engineers build" }));
    panel.getByText(t("access.missing.source.groups", { names: "“Engineering”" }));
  });

  test("shows conditions in words, and the evaluated time in their time zone", async () => {
    const text = 'now.getHours("Europe/Berlin") < 20';
    const rule = { id: newId(), name: "Office hours" };
    const late = sample("RuleCondition", {
      text,
      met: false,
      depth: 0,
      values: [{ name: "now", value: '"2026-11-25T21:27:36.487Z"' }],
    });
    mockApi.answer("post", "/access/v1/evaluation", {
      ...denied,
      context: sample("DecisionContext", {
        reason: "no_policy_allows",
        explanation: sample("AccessExplanation", {
          policies: [
            sample("ConsideredPolicy", {
              policy: engineers,
              action: true,
              outcome: "rule_not_met",
              sourceMatches: [],
              rule: { ...rule, conditions: [late] },
            }),
          ],
        }),
      }),
    });
    openConsole(`/access?user=${userId}&resource=${resourceId}`);
    const panel = await findPanel(t("access.evaluated.title"));
    const link = panel.getByRole("link", { name: "Office hours" });
    expect(link.getAttribute("href")).toBe(`/console/admission-rules/${rule.id}`);
    expect(link.closest("[data-tone]")?.textContent).toBe("Admission rule Office hours is not met");
    const condition = panel.getByRole("listitem");
    expect(condition.textContent).toContain("It is before 20:00 in Europe/Berlin (now is Wednesday 22:27)");
    expect(condition.textContent).not.toContain("getHours");
  });

  test("asks for an address with its protocol and port", async () => {
    mockApi.answer("post", "/access/v1/evaluation", denied);
    openConsole(`/access?device=${deviceId}&to=address&address=10.0.0.7&protocol=TCP&port=443`);
    await findPanel(t("access.decision.title"));
    expect(mockApi.bodies("evaluateAccess")).toMatchObject([
      {
        subject: { type: "device", id: deviceId },
        resource: { type: "address", id: "10.0.0.7", properties: { protocol: "TCP", port: 443 } },
      },
    ]);
  });

  test("splits an address with a port, as the page that publishes reads it", async () => {
    mockApi.answer("post", "/access/v1/evaluation", denied);
    const user = openConsole(`/access?device=${deviceId}&to=address`);
    await user.type(await screen.findByRole("textbox", { name: t("access.query.address") }), "wiki.internal:443");
    await findPanel(t("access.decision.title"));
    expect(mockApi.bodies("evaluateAccess").at(-1)).toMatchObject({
      resource: { type: "address", id: "wiki.internal", properties: { protocol: "TCP", port: 443 } },
    });
  });

  test("reports an invalid address at the field, and decides nothing", async () => {
    mockApi.answer("post", "/access/v1/evaluation", denied);
    openConsole(`/access?device=${deviceId}&to=address&address=two+words`);
    await screen.findByText(t("access.query.addressInvalid"));
    expect(mockApi.received("evaluateAccess")).toEqual([]);
  });

  test("names the resource to which a shared address belongs", async () => {
    const [first, second] = [
      { id: resourceId, name: "Wiki" },
      { id: newId(), name: "Wiki for all" },
    ];
    const sharedAddresses = [{ address: "wiki.internal", resource: first, resources: [first, second], enclosing: [] }];
    mockApi.answer("post", "/access/v1/evaluation", {
      ...allowed,
      context: { ...allowed.context, explanation: sample("AccessExplanation", { sharedAddresses }) },
    });
    openConsole(`/access?device=${deviceId}&to=address&address=wiki.internal`);
    await screen.findByText(t("records.sharedAddress.title", { count: 1 }));
    expect(screen.getByText(/wiki\.internal is also an address of/).textContent).toContain("Wiki for all");
  });

  test("names the resource whose gateway gets the packets to an address", async () => {
    const divertedAddresses = [{ address: "10.0.0.5", routedFor: { id: newId(), name: "Wiki for all" } }];
    mockApi.answer("post", "/access/v1/evaluation", {
      ...allowed,
      context: { ...allowed.context, explanation: sample("AccessExplanation", { divertedAddresses }) },
    });
    openConsole(`/access?device=${deviceId}&to=address&address=10.0.0.5`);
    await screen.findByText(t("records.divertedAddress.title", { count: 1 }));
    expect(screen.getByText(/at 10\.0\.0\.5: packets go/).textContent).toContain("Wiki for all");
  });

  test("asks in one line, and expands the circumstances on request", async () => {
    const user = openConsole("/access");
    const region = await screen.findByRole("region", { name: t("access.query.region") });
    const now = t("access.question.now");
    const when = screen.getByRole("button", { name: now });
    expect(when.getAttribute("aria-expanded")).toBe("false");
    expect(region.textContent).toMatch(/^Can +on +reach +now\?/);
    await click(user, now);
    expect(when.getAttribute("aria-expanded")).toBe("true");
    screen.getByLabelText(t("access.query.when", { zone: formatOwnZone() }));
  });

  test("shows the circumstances of a link", async () => {
    openConsole(`/access?user=${userId}&ip=198.51.100.7&country=DE`);
    const when = await screen.findByRole("button", { name: "now, from 198.51.100.7, in DE" });
    expect(when.getAttribute("aria-expanded")).toBe("true");
  });

  test("sends no request before a subject and a destination are chosen", async () => {
    openConsole(`/access?user=${userId}`);
    await screen.findByText(t("access.query.chooseSubjectAndResource"));
    expect(mockApi.received("evaluateAccess")).toEqual([]);
  });
});

describe("lists of access", () => {
  const row = sample("PastAccess", {
    user: { id: userId, name: "ann@example.com" },
    resource: { id: resourceId, name: "Wiki" },
    policy: engineers,
    gateways: [berlin],
    balanced: false,
  });

  test("show who can reach a resource", async () => {
    mockApi.answer("get", "/tenants/access", pageOf([row]));
    openConsole(`/access?view=who&resource=${resourceId}`);
    const found = await screen.findByRole("row", { name: /ann@example.com/ });
    expect(found.textContent).toContain(t("access.found.withoutDevice"));
    expect(mockApi.received("listPastAccess")[0]?.query).toEqual({ resource: resourceId, limit: "100", offset: "0" });
  });

  test("count the devices of a user as one line", async () => {
    const onDevice = (name: string) => ({ ...row, device: { id: newId(), name } });
    mockApi.answer("get", "/tenants/access", pageOf([row, onDevice("Laptop"), onDevice("Phone")]));
    openConsole(`/access?view=what&user=${userId}`);
    const panel = await findPanel(t("access.found.count", { count: 1 }));
    panel.getByRole("link", { name: "Phone" });
  });

  test("show balanced gateways by name, because each device has its own order", async () => {
    const aachen = { id: newId(), name: "Aachen" };
    const balanced = { ...row, gateways: [berlin, aachen], balanced: true };
    const onDevice = { ...balanced, device: { id: newId(), name: "Laptop" }, gateways: [aachen, berlin] };
    mockApi.answer("get", "/tenants/access", pageOf([balanced, onDevice]));
    openConsole(`/access?view=what&user=${userId}`);
    const found = await screen.findByRole("row", { name: /Laptop/ });
    expect(found.textContent).toContain(`Aachen, Berlin ${t("access.found.spread")}`);
  });

  test("name the gateways, or say that traffic needs none", async () => {
    const direct = { ...row, resource: { id: newId(), name: "Video" }, mode: "LOCAL" as const, gateways: [] };
    mockApi.answer("get", "/tenants/access", pageOf([row, direct]));
    openConsole(`/access?view=what&user=${userId}`);
    const found = await screen.findByRole("row", { name: /Video/ });
    expect(found.textContent).toContain(t("access.found.noGatewayNeeded"));
    const first = screen.getAllByRole("row")[1];
    expect(first?.querySelector("a")?.textContent).toBe("Video");
  });

  test("give the reason why a deactivated user reaches nothing", async () => {
    mockApi.answer("get", "/tenants/users/{id}", sample("User", { id: userId, status: "inactive" }));
    openConsole(`/access?view=what&user=${userId}`);
    await screen.findByText(t("access.reasons.user_inactive"));
  });

  test("say that they show what policies allow, and no internet access", async () => {
    mockApi.answer("get", "/tenants/access", pageOf([row]));
    openConsole(`/access?view=what&user=${userId}`);
    const panel = await findPanel(t("access.found.count", { count: 1 }));
    panel.getByText(t("records.accessTab.byPolicies"), { exact: false });
    expect(panel.getByRole("link", { name: "Internet policies" }).getAttribute("href")).toBe(
      "/console/policies?type=INTERNET",
    );
  });

  test("show what a user can reach, page by page", async () => {
    mockApi.answer("get", "/tenants/access", pageOf([row], 140));
    const user = openConsole(`/access?view=what&user=${userId}`);
    await findPanel(t("access.found.countOfDevices", { count: 140 }));
    await click(user, t("lists.page", { number: 2 }));
    await waitFor(() => expect(mockApi.received("listPastAccess").at(-1)?.query.offset).toBe("100"));
    expect(currentPath()).toBe(`/access?view=what&user=${userId}&page=2`);
  });

  test("show who can reach an address, and lead to the next page by its token", async () => {
    mockApi.answer("post", "/access/v1/search/subject", ({ body }) => ({
      results: [],
      page: { next_token: JSON.stringify(body).includes("second") ? "" : "second", count: 1 },
      context: sample("AccessSearchContext", {
        found: [
          sample("FoundAccess", {
            id: deviceId,
            name: "Ann's laptop",
            reason: "allowed_by_policy",
            policy: engineers,
          }),
        ],
      }),
    }));
    const user = openConsole("/access?view=who&to=address&address=10.0.0.7");
    const row = (await screen.findByRole("link", { name: "Ann's laptop" })).closest("tr");
    // Access without an end.
    expect(row?.lastElementChild?.querySelector(".absent")?.textContent).toBe("–");
    await click(user, t("access.found.nextPage"));
    await screen.findByRole("button", { name: t("access.found.firstPage") });
    await waitFor(() =>
      expect(mockApi.bodies("searchSubjects").at(-1)).toMatchObject({
        subject: { type: "device" },
        resource: { type: "address", id: "10.0.0.7" },
        page: { limit: 25, token: "second" },
      }),
    );
  });
});

describe("the query", () => {
  test("is in the address, and changes with the view", async () => {
    mockApi.answer("post", "/access/v1/evaluation", denied);
    const user = openConsole(`/access?user=${userId}&resource=${resourceId}`);
    await findPanel(t("access.decision.title"));
    await user.click(screen.getByRole("tab", { name: t("access.views.who") }));
    await waitFor(() => expect(currentPath()).toBe(`/access?user=${userId}&resource=${resourceId}&view=who`));
    await waitFor(() => expect(mockApi.received("listPastAccess")).toHaveLength(1));
  });

  test("accepts a country in capitals", async () => {
    const user = openConsole("/access");
    await user.click(await screen.findByRole("textbox", { name: t("access.query.country") }));
    await user.paste("de");
    await waitFor(() => expect(currentPath()).toBe("/access?country=DE"));
  });
});

describe("the graph as a list", () => {
  test("shows the access that policies allow and deny, and the gateways", async () => {
    const wiki = sample("PolicyResource", { name: "Wiki" });
    mockApi.answer(
      "get",
      "/tenants/policies",
      pageOf([
        sample("Policy", { name: "Engineers build", active: true, action: true, allUsers: true, resources: [wiki] }),
        sample("Policy", { name: "No visitors", active: true, action: false, allGroups: true, allResources: true }),
        sample("Policy", { name: "Old", active: false }),
      ]),
    );
    mockApi.answer("get", "/tenants/gateways", [
      sample("Gateway", { name: "Berlin", resources: [{ id: wiki.id, name: "Wiki" }] }),
    ]);
    openConsole("/access?view=graph&form=list");
    const allowing = await screen.findByRole("row", { name: /Engineers build/ });
    expect(allowing.textContent).toContain("Berlin");
    const denying = screen.getByRole("row", { name: /No visitors/ });
    expect(denying.lastElementChild?.querySelector(".absent")?.textContent).toBe("–");
    expect(screen.queryByRole("row", { name: /Old/ })).toBeNull();
    await screen.findByText(new RegExp(t("graph.inactive", { count: 1 })));
  });

  test("shows only denying policies if that is chosen", async () => {
    const user = openConsole("/access?view=graph&form=list");
    await user.click(await screen.findByRole("radio", { name: t("graph.shown.denied") }));
    await waitFor(() => expect(currentPath()).toBe("/access?view=graph&form=list&show=denied"));
    await screen.findByText(t("graph.empty.denied"));
  });
});
