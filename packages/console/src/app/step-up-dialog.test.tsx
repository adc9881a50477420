/** The dialog that confirms the person's identity before a dangerous operation. */
import { permissions } from "@gatehouse/contract/permissions";
import { screen, waitFor } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../messages/i18n.ts";
import { click, fill, openConsole } from "../testing/console-page.tsx";
import { mockApi, problem } from "../testing/mock-api.ts";
import { newId, sample } from "../testing/sample.ts";

test("a person without a passkey confirms with a recovery code, and gets the next one", async () => {
  mockApi.signInPerson(permissions);
  mockApi.answer("post", "/tenants/api-keys", () =>
    mockApi.received("createApiKey").length === 1
      ? problem("recent_authentication_required")
      : sample("NewApiKey", { id: newId(), name: "Terraform" }),
  );
  const user = openConsole("/api-keys?new=1");
  await fill(user, t("common.name"), "Terraform");
  await click(user, new RegExp(`^${t("apiKeys.presets.infrastructure")}`));
  await click(user, t("common.create"));
  await click(user, t("signIn.page.recovery"));
  await fill(user, t("signIn.page.recoveryCode"), "wrong");
  await click(user, t("signIn.stepUp.confirmWithCode"));
  await screen.findByRole("alert");
  mockApi.acceptRecoveryCodes("next-recovery-code");
  await click(user, t("signIn.stepUp.confirmWithCode"));
  await screen.findByText("next-recovery-code");
  expect(mockApi.received("createApiKey")).toHaveLength(1);
  await click(user, t("signIn.page.saved"));
  await waitFor(() => expect(mockApi.received("createApiKey")).toHaveLength(2));
  await waitFor(() => expect(screen.queryByText(t("signIn.stepUp.title"))).toBeNull());
});
