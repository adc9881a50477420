import {
  gatewaySnippets,
  snippetKinds,
  tokenUpdateKinds,
  tokenUpdateSnippets,
} from "@gatehouse/contract/deployment-snippets";
import { permissions } from "@gatehouse/contract/permissions";
import { screen, waitFor, within } from "@testing-library/dom";
import { describe, expect, test } from "vitest";
import { formatZonedTime } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import {
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
const gateway = sample("Gateway", {
  id,
  name: "Berlin",
  status: "ONLINE",
  deployedOn: "2026-03-01T09:00:00.000Z",
  wireguardPort: "51820",
  token: "the-token",
  resources: [{ id: newId(), name: "Wiki" }],
});
const inSync = sample("GatewaySync", {
  state: "applied",
  generation: 7,
  wanted: { generation: 7, since: "2026-03-02T09:00:00.000Z" },
  lagMs: 1_500,
});

describe("the form of a gateway", () => {
  test("sends a new gateway without the fields that are empty", async () => {
    mockApi.answer("post", "/tenants/gateways", gateway);
    mockApi.answer("get", "/tenants/gateways/{id}", gateway);
    const user = openConsole("/gateways?new=1");
    await fill(user, t("common.name"), "Berlin");
    await click(user, t("common.create"));
    await findTitle("Berlin");
    expect(mockApi.bodies("createGateway")).toEqual([{ name: "Berlin", wireguardPort: "51820" }]);
    expect(currentPath()).toBe(`/gateways/${id}`);
  });

  test("shows at the port that the server refuses it", async () => {
    mockApi.answer("post", "/tenants/gateways", () =>
      problem("invalid_body", { errors: [{ pointer: "/wireguardPort", message: "Port 51820 is in use." }] }),
    );
    const user = openConsole("/gateways?new=1");
    await fill(user, t("common.name"), "Berlin");
    await click(user, t("common.create"));
    await screen.findByText("Port 51820 is in use.");
    expect(screen.getByRole("textbox", { name: t("gateways.fields.port") }).getAttribute("aria-invalid")).toBe("true");
  });

  test("sends changes with the version that was edited", async () => {
    mockApi.answer("get", "/tenants/gateways/{id}", gateway);
    const user = openConsole(`/gateways/${id}`);
    await click(user, t("common.edit"));
    await fill(user, t("gateways.fields.endpoint"), "gateway.example.com");
    await reviewAndSend(user, t("common.save"));
    await waitForDialogToClose();
    expect(mockApi.received("updateGateway")).toMatchObject([
      {
        ifMatch: etag,
        body: { name: "Berlin", wireguardPort: "51820", endpoint: "gateway.example.com", description: "" },
      },
    ]);
  });
});

describe("the page of a gateway", () => {
  test("shows how far the gateway has applied the configuration", async () => {
    mockApi.answer("get", "/tenants/gateways/{id}", gateway);
    mockApi.answer("get", "/tenants/gateways/{id}/sync", inSync);
    openConsole(`/gateways/${id}`);
    const panel = await findPanel(t("gateways.sync.title"));
    await panel.findByText(t("gateways.sync.states.applied"));
    panel.getByText(t("gateways.sync.duration.seconds", { count: 1.5 }));
    panel.getByText(t("gateways.sync.generation", { generation: 7 }));
  });

  test("shows why the gateway rejected the configuration", async () => {
    mockApi.answer("get", "/tenants/gateways/{id}", gateway);
    mockApi.answer("get", "/tenants/gateways/{id}/sync", {
      ...inSync,
      state: "failed",
      lagMs: 90_000,
      error: "nft failed",
    });
    openConsole(`/gateways/${id}`);
    const panel = await findPanel(t("gateways.sync.title"));
    await panel.findByText(t("gateways.sync.states.failed"));
    panel.getByText("nft failed");
    panel.getByText(t("gateways.sync.behind", { duration: t("gateways.sync.duration.minutes", { count: 1 }) }));
  });

  test("copies the command that deploys the gateway, with its token, and shows no token", async () => {
    mockApi.answer("get", "/tenants/gateways/{id}", { ...gateway, status: "PENDING" });
    const user = openConsole(`/gateways/${id}`);
    const panel = await findPanel(t("gateways.deploy.title"));
    await panel.findByText(t("gateways.deploy.waiting"));
    expect(document.body.textContent).not.toContain("the-token");
    await click(user, t("gateways.deploy.copy"));
    await panel.findByRole("button", { name: t("common.copied") });
    const options = { url: "https://gatehouse.example.com", token: "the-token" };
    expect(await navigator.clipboard.readText()).toBe(gatewaySnippets.debian(options));

    const offered = panel.getAllByRole("tab").map(({ textContent }) => textContent);
    expect(offered).not.toContain(t("gateways.deploy.kinds.debianFile"));
    for (const kind of snippetKinds.filter((each) => each !== "debianFile")) {
      await user.click(panel.getByRole("tab", { name: t(`gateways.deploy.kinds.${kind}`) }));
      expect(document.body.textContent).not.toContain("the-token");
      await click(user, t("gateways.deploy.copy"));
      await waitFor(async () => expect(await navigator.clipboard.readText()).toBe(gatewaySnippets[kind](options)));
    }
    await click(user, t("gateways.deploy.reveal"));
    expect(panel.getByRole("tabpanel").textContent).toContain("the-token");
  });

  test("hides the command of a gateway that has been deployed, until it is needed again", async () => {
    mockApi.answer("get", "/tenants/gateways/{id}", gateway);
    const user = openConsole(`/gateways/${id}`);
    await findPanel(t("gateways.deploy.title"));
    expect(screen.queryByRole("button", { name: t("gateways.deploy.copy") })).toBeNull();
    await click(user, t("gateways.deploy.show"));
    await screen.findByRole("button", { name: t("gateways.deploy.copy") });
  });

  test("after a rotation, offers to update the token, and shows until when the previous one works", async () => {
    const formerTokensEndAt = new Date(Date.now() + 3_600_000).toISOString();
    mockApi.answer("get", "/tenants/gateways/{id}", { ...gateway, formerTokensEndAt });
    const user = openConsole(`/gateways/${id}`);
    const panel = await findPanel(t("gateways.deploy.title"));
    await panel.findByText(/^The token was rotated/);
    panel.getByText(formatZonedTime(formerTokensEndAt));
    expect(panel.getByRole("button", { name: t("gateways.deploy.update"), pressed: true })).toBeTruthy();
    const offered = (await panel.findAllByRole("tab")).map(({ textContent }) => textContent);
    expect(offered).toEqual(tokenUpdateKinds.map((kind) => t(`gateways.deploy.kinds.${kind}`)));
    const options = { url: "https://gatehouse.example.com", token: "the-token" };
    for (const kind of tokenUpdateKinds) {
      await user.click(panel.getByRole("tab", { name: t(`gateways.deploy.kinds.${kind}`) }));
      await click(user, t("gateways.deploy.copy"));
      await waitFor(async () => expect(await navigator.clipboard.readText()).toBe(tokenUpdateSnippets[kind](options)));
    }
  });

  test("says nothing of a previous token that no longer works", async () => {
    mockApi.answer("get", "/tenants/gateways/{id}", { ...gateway, formerTokensEndAt: "2026-03-02T09:00:00.000Z" });
    openConsole(`/gateways/${id}`);
    await (await findPanel(t("gateways.deploy.title"))).findByText(t("gateways.deploy.again"));
  });

  test.each([
    ["OFFLINE", { lastOnline: "2026-03-02T09:00:00.000Z" }, "again"],
    ["ERROR", { lastOnline: "2026-03-02T09:00:00.000Z" }, "again"],
    ["MAINTENANCE", { lastOnline: "2026-03-02T09:00:00.000Z" }, "again"],
    ["OFFLINE", { deployedOn: "2026-03-01T09:00:00.000Z" }, "again"],
    ["PENDING", { lastOnline: "2026-03-02T09:00:00.000Z" }, "waiting"],
  ] as const)("an %s gateway with %o: %s", async (status, times, message) => {
    const { lastOnline: _, ...others } = gateway;
    mockApi.answer("get", "/tenants/gateways/{id}", { ...others, status, deployedOn: null, ...times });
    openConsole(`/gateways/${id}`);
    const panel = await findPanel(t("gateways.deploy.title"));
    await panel.findByText(t(`gateways.deploy.${message}`));
  });

  test("a gateway in maintenance that was never deployed gets the command of the first deployment", async () => {
    mockApi.answer("get", "/tenants/gateways/{id}", { ...gateway, status: "MAINTENANCE", deployedOn: null });
    openConsole(`/gateways/${id}`);
    const panel = await findPanel(t("gateways.deploy.title"));
    await panel.findByRole("button", { name: t("gateways.deploy.copy") });
    panel.getByText(t("gateways.deploy.waiting"));
    expect(panel.queryByText(t("gateways.deploy.again"))).toBeNull();
  });

  test("on a server without packages, offers only what works, and says how to add them", async () => {
    mockApi.install({ hasAgentPackages: false });
    mockApi.answer("get", "/tenants/gateways/{id}", { ...gateway, status: "PENDING" });
    const user = openConsole(`/gateways/${id}`);
    const panel = await findPanel(t("gateways.deploy.title"));
    await panel.findByText(/no agent packages/);
    const tabs = panel.getAllByRole("tab").map(({ textContent }) => textContent);
    expect(tabs).toEqual(
      (["debianFile", "container", "compose", "helm", "checkout"] as const).map((kind) =>
        t(`gateways.deploy.kinds.${kind}`),
      ),
    );
    for (const tab of panel.getAllByRole("tab")) {
      await user.click(tab);
      expect(panel.getByRole("tabpanel").textContent).not.toMatch(/come from this server|\/install\/gateway/);
      expect(within(panel.getByRole("tabpanel")).getByRole("link")).toBeTruthy();
    }
  });

  test.each(["http://localhost:18471", "http://127.0.0.1:8080", "http://[::1]:8080"])(
    "says that the command for %s works only on the server's machine, and names the setting",
    async (publicUrl) => {
      mockApi.install({ publicUrl });
      mockApi.answer("get", "/tenants/gateways/{id}", { ...gateway, status: "PENDING" });
      openConsole(`/gateways/${id}`);
      const panel = await findPanel(t("gateways.deploy.title"));
      await panel.findByText(/works only on the server’s own machine/);
      panel.getByText("GATEHOUSE_PUBLIC_URL");
      expect(panel.getByRole("tabpanel").textContent).toContain(`${publicUrl}/install/gateway`);
    },
  );

  test.each([
    ["http://localhost:18471", /works only on the server’s own machine/],
    ["http://gatehouse.example.net", /plain HTTP/],
  ])("warns of %s only if the command contains the address", async (publicUrl, warning) => {
    mockApi.install({ publicUrl });
    mockApi.answer("get", "/tenants/gateways/{id}", gateway);
    const user = openConsole(`/gateways/${id}`);
    const panel = await findPanel(t("gateways.deploy.title"));
    await click(user, t("gateways.deploy.update"));
    for (const kind of tokenUpdateKinds) {
      await user.click(await panel.findByRole("tab", { name: t(`gateways.deploy.kinds.${kind}`) }));
      expect(panel.queryByText(warning) !== null).toBe(kind === "checkout");
    }
    await click(user, t("gateways.deploy.show"));
    await panel.findByText(warning);
  });

  test("the command has the public address, even if the console is open at another one", async () => {
    mockApi.install({ publicUrl: "http://gatehouse.example.net" });
    mockApi.answer("get", "/tenants/gateways/{id}", { ...gateway, status: "PENDING" });
    openConsole(`/gateways/${id}`);
    const panel = await findPanel(t("gateways.deploy.title"));
    await panel.findByText(/plain HTTP/);
    expect(panel.getByRole("tabpanel").textContent).toContain("http://gatehouse.example.net/install/gateway");
  });

  test("shows the error if the server does not say what it offers", async () => {
    mockApi.install(problem("permission_denied"));
    mockApi.answer("get", "/tenants/gateways/{id}", { ...gateway, status: "PENDING" });
    openConsole(`/gateways/${id}`);
    const panel = await findPanel(t("gateways.deploy.title"));
    await panel.findByRole("alert");
    panel.getByRole("button", { name: t("app.problem.retry") });
  });

  test("shows the token of a gateway again after the person confirms", async () => {
    mockApi.signInPerson(permissions);
    mockApi.acceptRecoveryCodes("next-recovery-code");
    let isConfirmed = false;
    mockApi.answer("get", "/tenants/gateways/{id}", () => ({
      ...gateway,
      status: "PENDING" as const,
      token: isConfirmed ? "the-token" : "<redacted>",
    }));
    const user = openConsole(`/gateways/${id}`);
    await click(user, t("gateways.deploy.confirm"));
    await click(user, t("signIn.page.recovery"));
    await fill(user, t("signIn.page.recoveryCode"), "code");
    await click(user, t("signIn.stepUp.confirmWithCode"));
    isConfirmed = true;
    await click(user, t("signIn.page.saved"));
    await click(user, t("gateways.deploy.reveal"));
    expect(screen.getByRole("tabpanel", { name: t("gateways.deploy.kinds.debian") }).textContent).toContain(
      "the-token",
    );
  });

  test("says who can read the token if the key cannot", async () => {
    mockApi.signInPerson(permissions.filter((permission) => permission !== "gateways:token"));
    mockApi.answer("get", "/tenants/gateways/{id}", { ...gateway, status: "PENDING", token: "<redacted>" });
    openConsole(`/gateways/${id}`);
    const panel = await findPanel(t("gateways.deploy.title"));
    panel.getByText("gateways:token");
    expect(screen.queryByRole("button", { name: t("gateways.deploy.copy") })).toBeNull();
  });

  test.each([
    [t("gateways.steps.enterMaintenance.label"), "enterGatewayMaintenance", gateway],
    [
      t("gateways.steps.exitMaintenance.label"),
      "exitGatewayMaintenance",
      { ...gateway, status: "MAINTENANCE" as const },
    ],
    [t("gateways.steps.enableRelay.label"), "enableGatewayRelay", gateway],
    [t("gateways.steps.disableRelay.label"), "disableGatewayRelay", { ...gateway, relayEnabled: true }],
    [t("gateways.steps.rotateToken.label"), "rotateGatewayToken", gateway],
    [t("gateways.steps.resetKey.label"), "resetGatewayKey", gateway],
  ])("%s: sends the request after its review", async (label, operation, stored) => {
    mockApi.answer("get", "/tenants/gateways/{id}", stored);
    const user = openConsole(`/gateways/${id}`);
    await chooseAction(user, t("common.more"), label);
    await findDialog(t("gateways.steps.title", { step: label, name: "Berlin" }));
    expect(mockApi.writes()).toEqual([]);
    await click(user, label);
    await waitForDialogToClose();
    expect(mockApi.received(operation)).toMatchObject([{ ifMatch: etag }]);
  });

  test("replaces a leaked token at once", async () => {
    mockApi.answer("get", "/tenants/gateways/{id}", gateway);
    const user = openConsole(`/gateways/${id}`);
    const label = t("gateways.steps.revokeToken.label");
    await chooseAction(user, t("common.more"), label);
    await click(user, label);
    await screen.findByText(t("gateways.steps.revokeToken.done"));
    expect(mockApi.bodies("rotateGatewayToken")).toEqual([{ graceSeconds: 0 }]);
    // The API keeps no trace of the previous token.
    const panel = await findPanel(t("gateways.deploy.title"));
    await panel.findByText(t("gateways.deploy.revoked"));
    expect(panel.getByRole("button", { name: t("gateways.deploy.update"), pressed: true })).toBeTruthy();
  });

  test.each([
    ["enterMaintenance", "enterGatewayMaintenance", true],
    ["rotateToken", "rotateGatewayToken", false],
  ] as const)("after %s, a revert is offered only if the API can do it", async (step, operation, isOffered) => {
    mockApi.answer("get", "/tenants/gateways/{id}", gateway);
    mockApi.answer("get", "/tenants/events", () => {
      const requestId = mockApi.received(operation)[0]?.id ?? "";
      return pageOf([sample("Event", { id: newId(), operation, target: { type: "gateway", id }, requestId })]);
    });
    const user = openConsole(`/gateways/${id}`);
    const label = t(`gateways.steps.${step}.label`);
    await chooseAction(user, t("common.more"), label);
    await click(user, label);
    await screen.findByText(t(`gateways.steps.${step}.done`));
    expect(screen.queryByRole("button", { name: t("records.undo.label") }) !== null).toBe(isOffered);
  });

  test("an action that changed nothing offers no revert of the last change, which somebody else made", async () => {
    mockApi.answer("get", "/tenants/gateways/{id}", gateway);
    const target = { type: "gateway", id } as const;
    const event = sample("Event", { id: newId(), operation: "enterGatewayMaintenance", target, requestId: "another" });
    mockApi.answer("get", "/tenants/events", pageOf([event]));
    const user = openConsole(`/gateways/${id}`);
    await chooseAction(user, t("common.more"), t("gateways.steps.enterMaintenance.label"));
    await click(user, t("gateways.steps.enterMaintenance.label"));
    await screen.findByText(t("gateways.steps.enterMaintenance.done"));
    expect(screen.queryByRole("button", { name: t("records.undo.label") })).toBeNull();
  });

  test("deletes the gateway after its review, and returns to the list", async () => {
    mockApi.answer("get", "/tenants/gateways/{id}", gateway);
    const user = openConsole(`/gateways/${id}`);
    await chooseAction(user, t("common.more"), t("common.delete"));
    const dialog = await findDialog(t("gateways.delete.title", { name: "Berlin" }));
    dialog.getByText(t("gateways.delete.effect", { count: 1 }));
    await click(user, t("common.delete"));
    await waitFor(() => expect(currentPath()).toBe("/gateways"));
    expect(mockApi.received("deleteGateway")).toMatchObject([{ ifMatch: etag }]);
  });

  test("offers no deletion of a gateway that a policy names, and shows the server's reason", async () => {
    mockApi.answer("get", "/tenants/gateways/{id}", gateway);
    mockApi.answer("post", "/tenants/policies/preview", () =>
      problem("gateway_in_use", { detail: "DELETE /tenants/gateways/1: Policy Engineers build names the gateway." }),
    );
    const user = openConsole(`/gateways/${id}`);
    await chooseAction(user, t("common.more"), t("common.delete"));
    await screen.findByText("Policy Engineers build names the gateway.");
    const dialog = await findDialog();
    expect(dialog.getByRole<HTMLButtonElement>("button", { name: t("common.delete") }).disabled).toBe(true);
  });

  describe("that a policy names", () => {
    const other = newId();
    const named = (gateways: readonly string[]) =>
      sample("Policy", {
        id: newId(),
        name: "Engineers build",
        gateways: gateways.map((each) => sample("Gateway", { id: each })),
      });

    function answer(policy: ReturnType<typeof named>): void {
      mockApi.answer("get", "/tenants/gateways/{id}", gateway);
      mockApi.answer("get", "/tenants/policies/{id}", policy);
      mockApi.answer("delete", "/tenants/gateways/{id}", () =>
        problem("gateway_in_use", {
          errors: [{ pointer: `/tenants/policies/${policy.id}`, message: "Engineers build" }],
        }),
      );
    }

    async function removeFromPolicy() {
      const user = openConsole(`/gateways/${id}`);
      await chooseAction(user, t("common.more"), t("common.delete"));
      await findDialog(t("gateways.delete.title", { name: "Berlin" }));
      await click(user, t("common.delete"));
      return user;
    }

    test("is removed from the policy and deleted in one change set", async () => {
      const policy = named([id, other]);
      answer(policy);
      const user = await removeFromPolicy();
      await waitFor(() => {
        const { changes } = mockApi.bodies("previewAccess").at(-1) as { readonly changes: readonly unknown[] };
        expect(changes).toHaveLength(2);
      });
      await click(user, t("records.removeFromPolicies", { count: 1 }));
      await waitFor(() => expect(currentPath()).toBe("/gateways"));
      expect(mockApi.bodies("applyChanges")).toEqual([
        {
          changes: [
            { method: "PATCH", path: `/tenants/policies/${policy.id}`, body: { gateways: [other] }, ifMatch: etag },
            { method: "DELETE", path: `/tenants/gateways/${id}`, ifMatch: etag },
          ],
        },
      ]);
    });

    test("stays in a policy that would otherwise allow all gateways", async () => {
      answer(named([id]));
      await removeFromPolicy();
      await screen.findByText(t("gateways.delete.onlyGateway", { names: "Engineers build" }));
      expect(mockApi.bodies("applyChanges")).toEqual([]);
    });
  });
});
