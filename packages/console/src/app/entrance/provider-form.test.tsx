import { errorDefinitions } from "@gatehouse/contract/errors";
import { screen } from "@testing-library/dom";
import { afterEach, expect, test, vi } from "vitest";
import { signIn as texts } from "../../messages/en/sign-in.ts";
import { click, openConsole } from "../../testing/console-page.tsx";
import { mockApi, problem } from "../../testing/mock-api.ts";

const path = "/console/oidc/01980000-0000-7000-8000-00000000aaaa/01980000-0000-7000-8000-00000000bbbb";
const request = "?client_id=gatehouse-cli&state=a%26b";

afterEach(() => vi.restoreAllMocks());

async function search(page: string, name: string) {
  mockApi.endSession();
  const user = openConsole(page);
  await user.type(await screen.findByLabelText(texts.page.organisation), name);
  await click(user, texts.page.findProviders);
  return user;
}

test("opens the only provider of a domain at once, with the page to which the person returns", async () => {
  const opened = vi.spyOn(window.location, "assign").mockReturnValue(undefined);
  mockApi.offerProviders([{ name: "Example sign-in", path }]);
  await search(`/authorize${request}`, " ada@example.com ");
  await vi.waitFor(() => expect(opened).toHaveBeenCalledTimes(1));
  expect(mockApi.bodies("findProviders")).toEqual([{ name: "ada@example.com" }]);
  const target = new URL(String(opened.mock.calls[0]?.[0]), "https://gatehouse.example.com");
  expect([target.origin, target.pathname]).toEqual(["https://gatehouse.example.com", path]);
  expect(Object.fromEntries(target.searchParams)).toEqual({ return: `/console/authorize${request}` });
});

test("offers each provider of an organisation, and keeps the code of a device", async () => {
  mockApi.offerProviders([
    { name: "One", path },
    { name: "Two", path: `${path}2` },
  ]);
  await search("/code#WDJB-MJHT", "example");
  const links = [
    await screen.findByRole<HTMLAnchorElement>("link", { name: texts.page.provider.replace("{{name}}", "One") }),
    await screen.findByRole<HTMLAnchorElement>("link", { name: texts.page.provider.replace("{{name}}", "Two") }),
  ];
  const back = `?${new URLSearchParams({ return: "/console/code#WDJB-MJHT" })}`;
  expect(links.map((link) => link.getAttribute("href"))).toEqual([`${path}${back}`, `${path}2${back}`]);
});

test("says that no sign-in was found, until the name changes", async () => {
  const user = await search("/groups", "nobody.example.com");
  expect((await screen.findByRole("alert")).textContent).toBe(texts.page.noProviders);
  await user.type(screen.getByLabelText(texts.page.organisation), "x");
  expect(screen.queryByRole("alert")).toBeNull();
});

test("shows why the server refuses the search", async () => {
  mockApi.offerProviders(problem("rate_limited"));
  await search("/groups", "example");
  expect((await screen.findByRole("alert")).textContent).toContain(errorDefinitions.rate_limited.title);
});
