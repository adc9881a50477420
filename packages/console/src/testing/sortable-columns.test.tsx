/** A list that the console reads whole sorts by each column with one value. Others sort by what the API sorts by. */
import { screen } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../messages/i18n.ts";
import { openConsole } from "./console-page.tsx";
import { mockApi } from "./mock-api.ts";
import { pageOf, sample } from "./sample.ts";

const status = t("common.status");

/** The titles of the columns of each list that cannot be sorted by. */
const cases = [
  ["/gateways", []],
  ["/protocols", [t("protocols.fields.protocolsAndPorts")]],
  ["/roles", [t("common.description")]],
  ["/admission-rules", [t("admissionRules.fields.rule")]],
  ["/api-keys", [t("apiKeys.fields.sourceIps")]],
  ["/enrolment-keys", [t("enrolmentKeys.fields.tags")]],
  ["/identity-providers", []],
  ["/domains", [t("domains.fields.record")]],
  ["/webhooks", [t("webhooks.fields.events")]],
  ["/addresses", [t("addresses.fields.resource"), t("addresses.fields.protocols")]],
  ["/groups", [t("common.description"), t("groups.usersColumn"), t("groups.rolesColumn")]],
  ["/users", [status, t("users.fields.groups"), t("users.devices.title")]],
] as const;

test.each(cases)("%s sorts by all columns except %j", async (path, unsortable) => {
  mockApi.answer("get", "/tenants/gateways", [sample("Gateway")]);
  mockApi.answer("get", "/tenants/protocols", [sample("Protocol")]);
  mockApi.answer("get", "/tenants/roles", [sample("Role")]);
  mockApi.answer("get", "/tenants/admission-rules", [sample("AdmissionRule")]);
  mockApi.answer("get", "/tenants/api-keys", [sample("ApiKey")]);
  mockApi.answer("get", "/tenants/enrolment-keys", [sample("EnrolmentKey")]);
  mockApi.answer("get", "/tenants/identity-providers", [sample("IdentityProvider")]);
  mockApi.answer("get", "/tenants/domains", [sample("Domain")]);
  mockApi.answer("get", "/tenants/webhooks", [sample("Webhook")]);
  mockApi.answer("get", "/tenants/addresses", [sample("Address")]);
  mockApi.answer("get", "/tenants/groups", pageOf([sample("Group")]));
  mockApi.answer("get", "/tenants/users", pageOf([sample("User")]));
  openConsole(path);
  const headings = await screen.findAllByRole("columnheader");
  const facts = headings.filter((heading) => !heading.matches(".peek-head, :has(input)"));
  const titles = facts.filter((heading) => !heading.hasAttribute("aria-sort")).map(({ textContent }) => textContent);
  expect(titles.filter((title) => title !== t("domains.fields.action"))).toEqual(unsortable);
});
