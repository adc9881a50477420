import { screen, waitFor } from "@testing-library/dom";
import { describe, expect, test } from "vitest";
import { click, currentPath, fill, findDialog, findTitle, openConsole, reviewAndSend } from "../testing/console-page.tsx";
import { etag, mockApi, problem } from "../testing/mock-api.ts";
import { newId, sample } from "../testing/sample.ts";

const id = newId();
const stored = sample("Group", { id, name: "Engineering", description: "Builds things", maxDevices: 5 });
const body = { name: "Engineering", description: "Builds things", maxDevices: 5, roles: [], idpMapping: [] };

function openEditForm() {
  mockApi.answer("get", "/tenants/groups/{id}", stored);
  return openConsole(`/groups/${id}`);
}

describe("a form", () => {
  test("shows the effect on access before it sends anything", async () => {
    mockApi.answer("post", "/tenants/policies/preview", sample("AccessPreview", {
      gained: { users: 2, devices: 3, sites: 0, resources: 1, internet: false, pairs: 6 },
    }));
    const user = openConsole("/groups?new=1");
    await fill(user, "Name", "Engineering");
    await click(user, "Review");
    await screen.findByText(/2 users, 3 devices/);
    expect(mockApi.bodies("previewAccess")).toEqual([
      {
        changes: [{ method: "POST", path: "/tenants/groups", body: { ...body, description: "" } }],
        page: { limit: 0 },
      },
    ]);
    expect(mockApi.writes()).toEqual([]);
  });

  test("sends a new record and opens its page", async () => {
    mockApi.answer("post", "/tenants/groups", stored);
    mockApi.answer("get", "/tenants/groups/{id}", stored);
    const user = openConsole("/groups?new=1");
    await fill(user, "Name", "Engineering");
    await fill(user, "Description", "Builds things");
    await reviewAndSend(user, "Create");
    await findTitle("Engineering");
    expect(mockApi.bodies("createGroup")).toEqual([body]);
    expect(currentPath()).toBe(`/groups/${id}`);
  });

  test("keeps what was typed when the review is left", async () => {
    const user = openConsole("/groups?new=1");
    await fill(user, "Name", "Engineering");
    await click(user, "Review");
    await click(user, "Back to the form");
    expect((await screen.findByRole<HTMLInputElement>("textbox", { name: "Name" })).value).toBe("Engineering");
    expect(mockApi.writes()).toEqual([]);
  });

  test("sends changes with the version that was edited", async () => {
    const user = openEditForm();
    await click(user, "Edit");
    await fill(user, "Name", "Research");
    await reviewAndSend(user, "Save");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(mockApi.received("updateGroup")).toMatchObject([{ path: `/tenants/groups/${id}`, body: { ...body, name: "Research" }, ifMatch: etag }]);
  });

  test("offers nothing to save while nothing is changed", async () => {
    const user = openEditForm();
    await click(user, "Edit");
    const dialog = await findDialog();
    const submit = dialog.getByRole<HTMLButtonElement>("button", { name: "Review" });
    expect(submit.disabled).toBe(true);
    await fill(user, "Name", "Research");
    expect(submit.disabled).toBe(false);
    await fill(user, "Name", "Engineering");
    expect(submit.disabled).toBe(true);
  });

  test("shows an error of the server at its field", async () => {
    mockApi.answer("post", "/tenants/policies/preview", () =>
      problem("invalid_body", {
        detail: "The body is invalid.",
        errors: [{ pointer: "/changes/0/body/maxDevices", message: "must be at most 1000" }],
      }),
    );
    const user = openConsole("/groups?new=1");
    await fill(user, "Name", "Engineering");
    await click(user, "Review");
    await screen.findByText("The body is invalid.");
    const field = screen.getByRole("textbox", { name: /^Devices/ });
    expect(field.getAttribute("aria-invalid")).toBe("true");
    expect(screen.getByText("must be at most 1000").id).toBe(field.getAttribute("aria-describedby")?.split(" ").at(-1));
    expect(screen.getByRole("textbox", { name: "Name" }).getAttribute("aria-invalid")).not.toBe("true");
  });

  test("says at the name that it is taken", async () => {
    mockApi.answer("post", "/tenants/groups", () => problem("name_taken"));
    const user = openConsole("/groups?new=1");
    await fill(user, "Name", "Engineering");
    await reviewAndSend(user, "Create");
    const field = await screen.findByRole("textbox", { name: "Name" });
    await waitFor(() => expect(field.getAttribute("aria-invalid")).toBe("true"));
    expect(currentPath()).toMatch(/^\/groups\?new=1/);
  });

  test("asks before it discards what was typed", async () => {
    const user = openConsole("/groups?new=1");
    await fill(user, "Name", "Engineering");
    await click(user, "Cancel");
    await screen.findByText("Discard what you typed?");
    await click(user, "Go on editing");
    expect(screen.queryByText("Discard what you typed?")).toBeNull();
    await click(user, "Cancel");
    await click(user, "Discard");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(mockApi.writes()).toEqual([]);
  });

  test("closes at once when nothing was typed", async () => {
    const user = openConsole("/groups?new=1");
    await findDialog();
    await click(user, "Cancel");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(currentPath()).toBe("/groups");
  });

  describe("whose record was changed by someone else", () => {
    async function saveInConflict() {
      let version = stored;
      mockApi.answer("get", "/tenants/groups/{id}", () => version);
      const user = openConsole(`/groups/${id}`);
      await click(user, "Edit");
      await fill(user, "Name", "Research");
      version = { ...stored, name: "Labs" };
      let refusals = 1;
      mockApi.answer("put", "/tenants/groups/{id}", () => {
        refusals -= 1;
        return refusals === 0 ? problem("precondition_failed") : { ...version, name: "Research" };
      });
      await reviewAndSend(user, "Save");
      await screen.findByRole("table", { name: "Both versions" });
      return user;
    }

    test("shows both versions of each field that differs", async () => {
      await saveInConflict();
      const row = screen.getByRole("row", { name: /^Name/ });
      expect(row.textContent).toBe("NameResearchLabs");
      expect(screen.queryByRole("row", { name: /^Description/ })).toBeNull();
    });

    test("can be saved over the other version", async () => {
      const user = await saveInConflict();
      await click(user, "Save mine over it");
      await click(user, "Save");
      await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
      expect(mockApi.bodies("updateGroup")).toMatchObject([{ name: "Research" }, { name: "Research" }]);
    });

    test("can go on from the stored version", async () => {
      const user = await saveInConflict();
      await click(user, "Go on from what is stored");
      expect((await screen.findByRole<HTMLInputElement>("textbox", { name: "Name" })).value).toBe("Labs");
      expect(mockApi.bodies("updateGroup")).toHaveLength(1);
    });
  });
});

describe("the review of a change", () => {
  test("can be sent unseen if there is no preview", async () => {
    mockApi.answer("post", "/tenants/policies/preview", () => problem("preview_too_long"));
    const user = openConsole("/groups?new=1");
    await fill(user, "Name", "Engineering");
    await click(user, "Review");
    await click(user, "Create unseen");
    await findTitle(/./);
    expect(mockApi.received("createGroup")).toHaveLength(1);
  });

  test("is sent without a preview by a key that may not ask about access", async () => {
    mockApi.signIn(["groups:read", "groups:write"]);
    const user = openConsole("/groups?new=1");
    await fill(user, "Name", "Engineering");
    await click(user, "Review");
    await screen.findByText(/Your key may not ask about access/);
    await click(user, "Create");
    await waitFor(() => expect(mockApi.received("createGroup")).toHaveLength(1));
    expect(mockApi.received("previewAccess")).toEqual([]);
  });

  test("takes a reason to override enforced access tests", async () => {
    mockApi.answer("post", "/tenants/groups", ({ overrideReason }) =>
      overrideReason === null
        ? problem("access_tests_broken", { errors: [{ pointer: "/name", message: "Contractors never reach Payroll" }] })
        : stored,
    );
    mockApi.answer("get", "/tenants/groups/{id}", stored);
    const user = openConsole("/groups?new=1");
    await fill(user, "Name", "Engineering");
    await reviewAndSend(user, "Create");
    await screen.findByText("Contractors never reach Payroll");
    const override = screen.getByRole<HTMLButtonElement>("button", { name: "Override and go on" });
    expect(override.disabled).toBe(true);
    await fill(user, "Reason for overriding them", "Agreed with Zoë");
    await user.click(override);
    await findTitle("Engineering");
    expect(mockApi.received("createGroup").map(({ overrideReason }) => overrideReason)).toEqual([null, "Agreed with Zoë"]);
  });

  test("names access tests that the change would break", async () => {
    const test = sample("AccessPreview", {
      lost: { users: 1, devices: 0, sites: 0, resources: 1, internet: false, pairs: 1 },
      groupCount: 1,
      groups: [
        {
          change: "lost",
          before: "always",
          after: "never",
          subjectCount: 1,
          subjects: [{ kind: "user", id: newId(), name: "ann@example.com" }],
          resourceCount: 1,
          resources: [{ id: newId(), name: "Wiki" }],
          internet: false,
        },
      ],
      brokenTests: [{ id: newId(), name: "Ann reaches the wiki", enforced: true, brokenCount: 1, broken: [] }],
    });
    mockApi.answer("post", "/tenants/policies/preview", test);
    const user = openConsole("/groups?new=1");
    await fill(user, "Name", "Engineering");
    await click(user, "Review");
    const row = await screen.findByRole("row", { name: /ann@example.com/ });
    expect(row.textContent).toContain("Wiki");
    expect(row.textContent).toMatch(/Lost: always → never/);
    expect(screen.getByRole("link", { name: "Ann reaches the wiki" })).toBeTruthy();
  });
});
