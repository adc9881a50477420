import { screen, waitFor, within } from "@testing-library/dom";
import { describe, expect, test } from "vitest";
import { t } from "../messages/i18n.ts";
import {
  click,
  currentPath,
  fill,
  findDialog,
  findTitle,
  openConsole,
  reviewAndSend,
  waitForDialogToClose,
} from "../testing/console-page.tsx";
import { etag, mockApi, problem } from "../testing/mock-api.ts";
import { newId, sample } from "../testing/sample.ts";

const id = newId();
const stored = sample("Group", { id, name: "Engineering", description: "Builds things", maxDevices: 5 });
const body = {
  name: "Engineering",
  description: "Builds things",
  maxDevices: 5,
  deviceSessionLifetime: null,
  roles: [],
  idpMapping: [],
};

function openEditForm() {
  mockApi.answer("get", "/tenants/groups/{id}", stored);
  return openConsole(`/groups/${id}`);
}

describe("a form", () => {
  test("shows the effect on access before it sends anything", async () => {
    mockApi.answer(
      "post",
      "/tenants/policies/preview",
      sample("AccessPreview", {
        gained: { users: 2, devices: 3, sites: 0, resources: 1, internet: false, pairs: 6 },
      }),
    );
    const user = openConsole("/groups?new=1");
    await fill(user, t("common.name"), "Engineering");
    await click(user, t("common.review"));
    await screen.findByText(/2 users.*3 devices/);
    expect(mockApi.bodies("previewAccess")).toEqual([
      {
        changes: [{ method: "POST", path: "/tenants/groups", body: { ...body, description: "" } }],
        page: { limit: 0 },
      },
    ]);
    expect(mockApi.writes()).toEqual([]);
  });

  test("refuses a duration that is out of range before it asks the server", async () => {
    const user = openConsole("/groups?new=1");
    await fill(user, t("common.name"), "Engineering");
    await fill(user, t("groups.fields.deviceSessionLifetime"), "9000");
    await click(user, t("common.review"));
    await screen.findByText(t("records.form.attention", { count: 1 }));
    await screen.findByText(t("records.duration.outOfRange", { min: "15 minutes", max: "365 days" }));
    expect(mockApi.bodies("previewAccess")).toEqual([]);
  });

  test("sends a new record and opens its page", async () => {
    mockApi.answer("post", "/tenants/groups", stored);
    mockApi.answer("get", "/tenants/groups/{id}", stored);
    const user = openConsole("/groups?new=1");
    await fill(user, t("common.name"), "Engineering");
    await fill(user, t("common.description"), "Builds things");
    await reviewAndSend(user, t("common.create"));
    await findTitle("Engineering");
    expect(mockApi.bodies("createGroup")).toEqual([body]);
    expect(currentPath()).toBe(`/groups/${id}`);
  });

  test("keeps the input if the review is cancelled", async () => {
    const user = openConsole("/groups?new=1");
    await fill(user, t("common.name"), "Engineering");
    await click(user, t("common.review"));
    await click(user, t("records.form.back"));
    expect((await screen.findByRole<HTMLInputElement>("textbox", { name: t("common.name") })).value).toBe(
      "Engineering",
    );
    expect(mockApi.writes()).toEqual([]);
  });

  test("sends changes with the version that was edited", async () => {
    const user = openEditForm();
    await click(user, t("common.edit"));
    await fill(user, t("common.name"), "Research");
    await reviewAndSend(user, t("common.save"));
    await waitForDialogToClose();
    expect(mockApi.received("updateGroup")).toMatchObject([{ path: `/tenants/groups/${id}`, ifMatch: etag }]);
    // An unchanged lifetime would require a recent sign-in.
    const { deviceSessionLifetime: _, ...sent } = { ...body, name: "Research" };
    expect(mockApi.bodies("updateGroup")).toEqual([sent]);
  });

  test("cannot be saved while nothing is changed", async () => {
    const user = openEditForm();
    await click(user, t("common.edit"));
    const dialog = await findDialog();
    const submit = dialog.getByRole<HTMLButtonElement>("button", { name: t("common.review") });
    expect(submit.disabled).toBe(true);
    await fill(user, t("common.name"), "Research");
    expect(submit.disabled).toBe(false);
    await fill(user, t("common.name"), "Engineering");
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
    await fill(user, t("common.name"), "Engineering");
    await click(user, t("common.review"));
    await screen.findByText(t("records.form.attention", { count: 1 }));
    expect(screen.queryByText("The body is invalid.")).toBeNull();
    const field = await screen.findByRole("textbox", { name: t("groups.fields.maxDevices") });
    expect(field.getAttribute("aria-invalid")).toBe("true");
    const describing = field.getAttribute("aria-describedby")?.split(" ");
    expect(describing).toContain(screen.getByText("must be at most 1000").id);
    expect(screen.getByRole("textbox", { name: t("common.name") }).getAttribute("aria-invalid")).not.toBe("true");
  });

  test("reports a taken name at its field", async () => {
    mockApi.answer("post", "/tenants/groups", () => problem("name_taken"));
    const user = openConsole("/groups?new=1");
    await fill(user, t("common.name"), "Engineering");
    await reviewAndSend(user, t("common.create"));
    const field = await screen.findByRole("textbox", { name: t("common.name") });
    await waitFor(() => expect(field.getAttribute("aria-invalid")).toBe("true"));
    expect(currentPath()).toMatch(/^\/groups\?new=1/);
  });

  test("asks before it discards input", async () => {
    const user = openConsole("/groups?new=1");
    await fill(user, t("common.name"), "Engineering");
    await click(user, t("common.cancel"));
    await screen.findByText(t("records.form.discardTitle"));
    await click(user, t("records.form.keepEditing"));
    expect(screen.queryByText(t("records.form.discardTitle"))).toBeNull();
    await click(user, t("common.cancel"));
    await click(user, t("records.form.discard"));
    await waitForDialogToClose();
    expect(mockApi.writes()).toEqual([]);
  });

  test("closes immediately if nothing was typed", async () => {
    const user = openConsole("/groups?new=1");
    await findDialog();
    await click(user, t("common.cancel"));
    await waitForDialogToClose();
    expect(currentPath()).toBe("/groups");
  });

  async function followLinkWithInput() {
    const user = openConsole("/groups?new=1");
    await fill(user, t("common.name"), "Engineering");
    await user.click(screen.getByRole("link", { name: t("users.title") }));
    await screen.findByText(t("records.form.discardTitle"));
    return user;
  }

  test("guards unsaved input against links, and keeps it as asked", async () => {
    const user = await followLinkWithInput();
    await click(user, t("records.form.keepEditing"));
    expect(currentPath()).toBe("/groups?new=1");
    expect((await screen.findByRole<HTMLInputElement>("textbox", { name: t("common.name") })).value).toBe(
      "Engineering",
    );
  });

  test("follows the link if the input is discarded", async () => {
    const user = await followLinkWithInput();
    await click(user, t("records.form.discard"));
    await findTitle(t("users.title"));
  });

  test("starts at its first field, and returns the focus to the button that opened it", async () => {
    const user = openConsole("/groups");
    await click(user, t("groups.create"));
    const field = await screen.findByRole("textbox", { name: t("common.name") });
    await waitFor(() => expect(document.activeElement).toBe(field));
    await user.keyboard("{Escape}");
    await waitForDialogToClose();
    await waitFor(() => expect(document.activeElement?.textContent).toBe(t("groups.create")));
  });

  test("adds no second banner to the page", async () => {
    openConsole("/groups?new=1");
    const dialog = await screen.findByRole("dialog");
    expect([...dialog.querySelectorAll("header")].map((header) => header.getAttribute("role"))).toEqual([
      "presentation",
    ]);
  });

  describe("whose record was changed by someone else", () => {
    async function saveInConflict(theirs: object) {
      let version = stored;
      mockApi.answer("get", "/tenants/groups/{id}", () => version);
      const user = openConsole(`/groups/${id}`);
      await click(user, t("common.edit"));
      await fill(user, t("common.name"), "Research");
      version = { ...stored, ...theirs };
      let refusals = 1;
      mockApi.answer("put", "/tenants/groups/{id}", () => {
        refusals -= 1;
        return refusals === 0 ? problem("precondition_failed") : { ...version, name: "Research" };
      });
      await reviewAndSend(user, t("common.save"));
      await screen.findByText(t("records.conflict.title"));
      return user;
    }

    test("offers both versions of each field that both changed", async () => {
      const user = await saveInConflict({ name: "Labs", description: "Tests things" });
      const row = screen.getByRole("row", { name: /^Name/ });
      expect(row.textContent).toBe("NameResearchLabs");
      expect(screen.queryByRole("row", { name: /^Description/ })).toBeNull();
      await user.click(screen.getByRole("radio", { name: "Labs" }));
      await click(user, t("records.conflict.save"));
      await click(user, t("common.save"));
      await waitForDialogToClose();
      expect(mockApi.bodies("updateGroup").at(-1)).toMatchObject({ name: "Labs", description: "Tests things" });
    });

    test("keeps changes of both sides to different fields", async () => {
      const user = await saveInConflict({ description: "Tests things" });
      await screen.findByText(t("records.conflict.theirs", { fields: t("common.description") }));
      await click(user, t("records.conflict.save"));
      await click(user, t("common.save"));
      await waitForDialogToClose();
      expect(mockApi.bodies("updateGroup").at(-1)).toMatchObject({ name: "Research", description: "Tests things" });
    });

    test("can continue from the stored version", async () => {
      const user = await saveInConflict({ name: "Labs" });
      await click(user, t("records.conflict.discardMine"));
      expect((await screen.findByRole<HTMLInputElement>("textbox", { name: t("common.name") })).value).toBe("Labs");
      expect(mockApi.bodies("updateGroup")).toHaveLength(1);
    });
  });
});

describe("the review of a change", () => {
  test("can be sent without a preview if the preview fails", async () => {
    mockApi.answer("post", "/tenants/policies/preview", () => problem("preview_too_long"));
    const user = openConsole("/groups?new=1");
    await fill(user, t("common.name"), "Engineering");
    await click(user, t("common.review"));
    await click(user, t("records.review.withoutPreview", { action: t("common.create") }));
    await waitFor(() => expect(mockApi.received("createGroup")).toHaveLength(1));
  });

  test("is sent without a preview by a key that may not ask about access", async () => {
    mockApi.signIn(["groups:read", "groups:write"]);
    const user = openConsole("/groups?new=1");
    await fill(user, t("common.name"), "Engineering");
    await click(user, t("common.review"));
    await screen.findByText(t("records.review.notPermitted"));
    await click(user, t("common.create"));
    await waitFor(() => expect(mockApi.received("createGroup")).toHaveLength(1));
    expect(mockApi.received("previewAccess")).toEqual([]);
  });

  test("requires a reason to override enforced access tests", async () => {
    mockApi.answer("post", "/tenants/groups", ({ overrideReason }) =>
      overrideReason === null
        ? problem("access_tests_broken", { errors: [{ pointer: "/name", message: "Contractors never reach Payroll" }] })
        : stored,
    );
    mockApi.answer("get", "/tenants/groups/{id}", stored);
    const user = openConsole("/groups?new=1");
    await fill(user, t("common.name"), "Engineering");
    await reviewAndSend(user, t("common.create"));
    await screen.findByText("Contractors never reach Payroll");
    const override = screen.getByRole<HTMLButtonElement>("button", { name: t("records.review.override") });
    expect(override.disabled).toBe(true);
    await fill(user, t("records.review.overrideReason"), "Agreed with Zoë");
    await user.click(override);
    await findTitle("Engineering");
    expect(mockApi.received("createGroup").map(({ overrideReason }) => overrideReason)).toEqual([
      null,
      "Agreed with Zoë",
    ]);
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
    await fill(user, t("common.name"), "Engineering");
    await click(user, t("common.review"));
    const row = await screen.findByRole("row", { name: /ann@example.com/ });
    expect(row.textContent).toContain("Wiki");
    expect(row.textContent).toContain(
      t("records.effect.lost", { before: t("records.access.always"), after: t("records.access.never") }),
    );
    expect(screen.getByRole("link", { name: "Ann reaches the wiki" })).toBeTruthy();
  });

  test("lists each change of access if the summary abridges them, and warns of lost access", async () => {
    const subjects = Array.from({ length: 5 }, (_, index) => ({
      kind: "user" as const,
      id: newId(),
      name: `user-${index}@example.com`,
    }));
    const group = {
      change: "lost" as const,
      before: "always" as const,
      after: "never" as const,
      subjectCount: 6,
      subjects,
      resourceCount: 3,
      resources: [{ id: newId(), name: "Wiki" }],
      internet: true,
    };
    const summary = sample("AccessPreview", {
      lost: { users: 6, devices: 0, sites: 0, resources: 3, internet: true, pairs: 24 },
      groupCount: 1,
      groups: [group],
    });
    const row = sample("AccessRow", {
      change: "lost",
      before: "always",
      after: "never",
      subject: { kind: "user", id: newId(), name: "user-5@example.com" },
      resource: { id: newId(), name: "Wiki" },
    });
    mockApi.answer("post", "/tenants/policies/preview", ({ body: asked }) =>
      (asked as { page: { limit: number } }).page.limit === 0 ? summary : { ...summary, rows: [row] },
    );
    const user = openConsole("/groups?new=1");
    await fill(user, t("common.name"), "Engineering");
    await click(user, t("common.review"));
    await screen.findByText(t("records.effect.moreResources", { count: 2 }));
    screen.getByText(`and ${t("common.theInternet")}`);
    await click(user, t("records.effect.showAll", { count: 24 }));
    const rows = within(await screen.findByRole("table", { name: t("records.effect.rows") }));
    rows.getByText(/user-5@example.com/);
    expect(screen.getByRole("button", { name: t("common.create") }).style.getPropertyValue("--button-bg")).toContain(
      "red",
    );
  });

  test("says why a new policy gives nobody access", async () => {
    const user = openConsole("/policies?new=1");
    await fill(user, t("common.name"), "Empty");
    await click(user, t("common.review"));
    await screen.findByText(t("records.effect.empty.noSubjects"));
    await screen.findByText(t("records.effect.empty.noResources"));
  });
});
