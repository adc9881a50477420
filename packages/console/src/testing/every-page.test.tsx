/** Every page with the smallest answers of the API: nothing fails, and a reader is offered nothing that writes. */

import { rolePermissions } from "@gatehouse/contract/permissions";
import { screen, waitFor } from "@testing-library/dom";
import { beforeEach, describe, expect, test } from "vitest";
import { pageSets } from "../pages/all.ts";
import { findTitle, openConsole } from "./console-page.tsx";
import { mockApi } from "./mock-api.ts";
import { newId, pageOf, sample } from "./sample.ts";

const lists = pageSets.map(({ path }) => `/${path}`);
const details = pageSets.filter(({ detail }) => detail !== undefined).map(({ path }) => `/${path}/${newId()}`);
const creations = pageSets.filter(({ create }) => create !== undefined).map(({ path }) => `/${path}?new=1`);

// The page of an event reads it from the list of events.
beforeEach(() => mockApi.answer("get", "/tenants/events", pageOf([sample("Event", { operation: "createGroup" })])));

async function isLoaded(): Promise<void> {
  await findTitle(/.*/);
  await waitFor(() => expect(document.querySelectorAll("main [aria-busy=true]")).toHaveLength(0));
}

describe("every page", () => {
  test.each([...lists, ...details])("%s shows the smallest answers without an error", async (path) => {
    openConsole(path);
    await isLoaded();
    expect(screen.queryByRole("alert")).toBeNull();
  });

  test.each(creations)("%s opens a form", async (path) => {
    openConsole(path);
    await screen.findByRole("dialog");
  });
});

describe("every page of an auditor", () => {
  test.each([...lists, ...details, ...creations])("%s offers nothing that writes", async (path) => {
    mockApi.signIn(rolePermissions.AUDITOR);
    openConsole(path);
    await isLoaded();
    expect(screen.queryByRole("dialog")).toBeNull();
    const main = screen.getByRole("main");
    expect(
      main.querySelectorAll("[draggable=true], textarea, a[href*='new=1'], [aria-haspopup=menu]:not([data-reads])"),
    ).toHaveLength(0);
    expect(mockApi.writes()).toEqual([]);
  });
});
