import { screen } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { click, fill, openConsole, waitForDialogToClose } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, sample } from "../../testing/sample.ts";

test("a preset fills in the form, and its placeholder must be replaced", async () => {
  const user = openConsole("/identity-providers?new=1");
  await click(user, "Keycloak");
  await fill(user, t("identityProviders.fields.clientId"), "gatehouse");
  await user.type(await screen.findByLabelText(t("identityProviders.fields.clientSecret")), "secret");
  await click(user, t("common.add"));
  await screen.findByText(/Replace KEYCLOAK-HOST/);
  expect(mockApi.received("createIdentityProvider")).toEqual([]);
  await fill(user, t("identityProviders.fields.issuer"), "https://login.example.com/realms/main");
  await click(user, t("common.add"));
  await waitForDialogToClose();
  expect(mockApi.bodies("createIdentityProvider")).toEqual([
    {
      name: "Keycloak",
      issuer: "https://login.example.com/realms/main",
      clientId: "gatehouse",
      clientSecret: "secret",
      scopes: ["email", "profile"],
      groupsClaim: "groups",
      firstSignIn: "INVITED",
      linkVerifiedEmail: false,
    },
  ]);
});

test("an enabled provider is edited without its connection, and a disabled one keeps its secret", async () => {
  const id = newId();
  const stored = sample("IdentityProvider", { id, name: "Login", enabled: true, hasClientSecret: true });
  mockApi.answer("get", "/tenants/identity-providers/{id}", stored);
  const user = openConsole(`/identity-providers/${id}`);
  await click(user, t("common.edit"));
  expect(screen.queryByLabelText(t("identityProviders.fields.issuer"), { exact: false })).toBeNull();
  await user.click(await screen.findByLabelText(/^Link existing users/));
  await click(user, t("common.save"));
  await waitForDialogToClose();
  expect(mockApi.bodies("patchIdentityProvider")).toEqual([
    { name: "Login", firstSignIn: "NEVER", linkVerifiedEmail: true },
  ]);
});

test("the scopes and the claim of a provider are set as literals, like its other technical values", async () => {
  const id = newId();
  const settings = { issuer: "https://login.example.com", scopes: ["email", "profile"], groupsClaim: "teams" };
  mockApi.answer("get", "/tenants/identity-providers/{id}", sample("IdentityProvider", { id, ...settings }));
  openConsole(`/identity-providers/${id}`);
  for (const literal of ["https://login.example.com", "email", "profile", "teams"]) {
    expect((await screen.findByText(literal)).tagName).toBe("CODE");
  }
});

test("a test sign-in shows a link to the provider", async () => {
  const id = newId();
  mockApi.answer("get", "/tenants/identity-providers/{id}", sample("IdentityProvider", { id, name: "Login" }));
  mockApi.answer("post", "/tenants/identity-providers/{id}/test", { url: "https://gatehouse.example.com/test" });
  const user = openConsole(`/identity-providers/${id}`);
  await click(user, t("identityProviders.test"));
  const link = await screen.findByText(t("identityProviders.openTest"));
  expect(link.closest("a")?.href).toBe("https://gatehouse.example.com/test");
});
