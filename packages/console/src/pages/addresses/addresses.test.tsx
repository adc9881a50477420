import { screen, waitFor, within } from "@testing-library/dom";
import { HttpResponse } from "msw";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import {
  click,
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
const name = sample("Address", { id, address: "*.dev.example.com", isIp: false, type: "PRIVATE", protocols: [] });
const limited = { ...name, answersWithin: ["10.0.0.0/8", "fd00::/8"] };
const field = t("records.address.answersWithin");

async function openAddress(address: typeof name) {
  mockApi.answer("get", "/tenants/addresses/{id}", address);
  const user = openConsole(`/addresses/${id}`);
  await findTitle(address.address);
  return user;
}

test("the page of a private name shows where its DNS answers may be", async () => {
  await openAddress(limited);
  const about = await findPanel(t("common.about"));
  await about.findByText("10.0.0.0/8, fd00::/8");
});

test("the page names the resource", async () => {
  const owner = sample("Resource", { id: newId(), name: "Lab", addresses: [name] });
  mockApi.answer("get", "/tenants/resources", ({ query }) =>
    query["filter[addresses.id][in]"] === id ? pageOf([owner]) : pageOf([]),
  );
  await openAddress(name);
  const about = await findPanel(t("common.about"));
  const link = await about.findByRole("link", { name: "Lab" });
  expect(link.getAttribute("href")).toBe(`/console/resources/${owner.id}`);
});

test("a long list is read in parts, and completely only to search it", async () => {
  const all = Array.from({ length: 240 }, (_, index) =>
    sample("Address", { id: newId(), address: `10.0.0.${index}`, isIp: true }),
  );
  mockApi.answer("get", "/tenants/addresses", ({ query }) => {
    if (query.limit === undefined) return all;
    const [limit, offset] = [Number(query.limit), Number(query.offset)];
    return HttpResponse.json(all.slice(offset, offset + limit), { headers: { "X-Total-Count": String(all.length) } });
  });
  const user = openConsole("/addresses?page=5");
  await screen.findByRole("link", { name: "10.0.0.100" });
  await screen.findByText(t("lists.range", { first: 101, last: 125, total: 240, noun: t("addresses.noun") }));
  expect(mockApi.received("listAddresses").map(({ query }) => query)).toEqual([{ limit: "100", offset: "100" }]);
  await waitFor(() => expect(mockApi.received("listResources")).toHaveLength(1));
  expect(mockApi.received("listResources")[0]?.query["filter[addresses.id][in]"]?.split(",")).toHaveLength(25);
  await user.type(screen.getByRole("searchbox"), "10.0.0.239");
  await screen.findByRole("link", { name: "10.0.0.239" });
  expect(mockApi.received("listAddresses").filter(({ query }) => query.limit === undefined)).toHaveLength(1);
});

test("a short list is sorted by address", async () => {
  mockApi.answer("get", "/tenants/addresses", () =>
    HttpResponse.json(
      ["10.0.0.10", "10.0.0.9", "a.example.com"].map((address) => sample("Address", { id: newId(), address })),
      { headers: { "X-Total-Count": "3" } },
    ),
  );
  openConsole("/addresses");
  await screen.findByRole("link", { name: "10.0.0.9" });
  const sorted = screen.getByRole("columnheader", { name: t("addresses.fields.address") });
  expect(sorted.getAttribute("aria-sort")).toBe("ascending");
  const links = screen.getAllByRole("link", { name: /^10\.|^a\./ });
  expect(links.map(({ textContent }) => textContent)).toEqual(["10.0.0.9", "10.0.0.10", "a.example.com"]);
});

test("a page beyond the end of a short list does not look like an empty list", async () => {
  mockApi.answer("get", "/tenants/addresses", ({ query }) =>
    HttpResponse.json([name].slice(Number(query.offset ?? 0)), { headers: { "X-Total-Count": "1" } }),
  );
  openConsole("/addresses?page=5");
  await screen.findByText(t("lists.noMoreResults"));
  expect(screen.queryByText(t("addresses.empty.title"))).toBeNull();
});

test("the page of a private name without blocks shows the default", async () => {
  await openAddress(name);
  const about = await findPanel(t("common.about"));
  await about.findByText(t("addresses.fields.answersWithinDefault"));
});

test("the page of a private name without blocks shows the networks of its gateways", async () => {
  const cloud = sample("Gateway", { id: newId(), name: "Cloud" });
  const berlin = sample("Gateway", { id: newId(), name: "Berlin" });
  mockApi.answer("get", "/tenants/addresses/{id}/gateways", [cloud, berlin]);
  mockApi.answer("get", "/tenants/gateways/{id}/settings", ({ path }) =>
    sample("GatewaySettings", { networks: path.includes(cloud.id) ? ["10.20.0.0/16"] : null }),
  );
  await openAddress(name);
  const about = await findPanel(t("common.about"));
  await about.findByText(t("addresses.fields.answersWithinAt", { name: "Cloud", networks: "10.20.0.0/16" }));
  await about.findByText(t("addresses.fields.answersWithinAnyAt", { name: "Berlin" }));
});

test.each([
  ["an IP address", { ...name, address: "10.0.0.1", isIp: true }],
  ["a name of a SAAS resource", { ...name, type: "SAAS" as const }],
])("the page of %s has no such field", async (_, address) => {
  await openAddress(address);
  const about = await findPanel(t("common.about"));
  expect(about.queryByText(t("addresses.fields.answersWithin"))).toBeNull();
});

test("blocks are added, and the remaining ones are kept", async () => {
  const user = await openAddress(limited);
  await click(user, t("common.edit"));
  const dialog = await findDialog();
  await user.type(dialog.getByRole("combobox", { name: new RegExp(`^${field}`) }), "192.0.2.0/24{Enter}");
  await reviewAndSend(user, t("common.save"));
  await waitForDialogToClose();
  expect(mockApi.received("updateAddress")).toMatchObject([
    {
      body: { address: "*.dev.example.com", protocols: [], answersWithin: ["10.0.0.0/8", "fd00::/8", "192.0.2.0/24"] },
      ifMatch: etag,
    },
  ]);
});

test("without blocks, the default is stored", async () => {
  const user = await openAddress(limited);
  await click(user, t("common.edit"));
  const dialog = await findDialog();
  await user.type(dialog.getByRole("combobox", { name: new RegExp(`^${field}`) }), "{Backspace}{Backspace}");
  await reviewAndSend(user, t("common.save"));
  await waitForDialogToClose();
  expect(mockApi.bodies("updateAddress")).toEqual([
    { address: "*.dev.example.com", protocols: [], answersWithin: null },
  ]);
});

test("the form of a SAAS resource asks for no blocks", async () => {
  const user = await openAddress({ ...name, type: "SAAS" });
  await click(user, t("common.edit"));
  const dialog = within(await screen.findByRole("dialog"));
  expect(dialog.queryByText(field)).toBeNull();
});
