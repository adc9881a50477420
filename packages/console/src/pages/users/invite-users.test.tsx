import { errorDefinitions } from "@gatehouse/contract/errors";
import { permissions } from "@gatehouse/contract/permissions";
import { screen, waitFor, within } from "@testing-library/dom";
import { describe, expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import {
  choose,
  click,
  fill,
  findDialog,
  openConsole,
  reviewAndSend,
  waitForDialogToClose,
} from "../../testing/console-page.tsx";
import { mockApi, problem } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";
import { readInvitations } from "./read-invitations.ts";

test("asks before a pasted list is dropped", async () => {
  const user = openConsole("/users?new=1");
  await findDialog(t("users.invite.title"));
  const field = await screen.findByRole<HTMLTextAreaElement>("textbox", { name: t("users.invite.emails") });
  await user.click(field);
  await user.paste("ann@example.com, 4711");
  await screen.findByText(t("users.invite.ignoredText", { line: 1, text: "4711" }));
  await user.keyboard("{Escape}");
  await screen.findByText(t("records.form.discardTitle"));
  expect(field.value).toBe("ann@example.com, 4711");
  await click(user, t("records.form.discard"));
  await waitForDialogToClose();
});

test("shows how a name is written", async () => {
  openConsole("/users?new=1");
  await findDialog(t("users.invite.title"));
  const field = await screen.findByRole<HTMLTextAreaElement>("textbox", { name: t("users.invite.emails") });
  const [, example = ""] = field.placeholder.split(": ");
  expect(readInvitations(example).invitees).toEqual([
    { email: "ann@example.com", firstName: "Ann", lastName: "Example" },
  ]);
});

test("asks for an email address if the text has none", async () => {
  const user = openConsole("/users?new=1");
  await findDialog(t("users.invite.title"));
  await user.click(await screen.findByRole("textbox", { name: t("users.invite.emails") }));
  await user.paste("4711");
  await click(user, t("common.review"));
  await screen.findByText(t("users.invite.missing"));
  expect(mockApi.bodies("previewAccess")).toEqual([]);
});

test("invites people with their names, which the review shows, and keeps them for a correction", async () => {
  const user = await openForm();
  mockApi.answer("post", "/tenants/users", () =>
    problem("email_taken", { errors: [{ pointer: "/0/email", message: "is taken" }] }),
  );
  await user.paste("Ann Example <ann@example.com>\nbob@example.com");
  await click(user, t("common.review"));
  const names = "Ann Example <ann@example.com>, bob@example.com";
  await screen.findByText(t("users.invite.summary", { names }));
  await click(user, t("users.invite.submit", { count: 2 }));
  await waitFor(() => expect(mockApi.received("createUsers")).not.toEqual([]));
  expect(mockApi.bodies("createUsers")[0]).toEqual([
    { email: "ann@example.com", firstName: "Ann", lastName: "Example", groups: [], roles: [] },
    { email: "bob@example.com", groups: [], roles: [] },
  ]);
  const field = await screen.findByRole<HTMLTextAreaElement>("textbox", { name: t("users.invite.emails") });
  expect(field.value).toBe("Ann Example <ann@example.com>\nbob@example.com");
});

test("shows what is skipped above the groups, whose list would cover it", async () => {
  const user = openConsole("/users?new=1");
  await findDialog(t("users.invite.title"));
  await user.click(await screen.findByRole("textbox", { name: t("users.invite.emails") }));
  await user.paste("nobody");
  const warning = await screen.findByText(t("users.invite.skippedLines"));
  const groups = await screen.findByRole("combobox", { name: t("users.fields.groups") });
  expect(warning.compareDocumentPosition(groups) & Node.DOCUMENT_POSITION_FOLLOWING).not.toBe(0);
});

test("an invitation is undone as a whole, with the group that was created for it", async () => {
  const invited = sample("User", { id: newId(), email: "ann@example.com" });
  mockApi.answer(
    "post",
    "/tenants/changes",
    sample("ChangeSetResult", {
      generation: 1,
      changes: [
        { ...sample("ChangeResult"), body: sample("Group", { id: newId() }) },
        { ...sample("ChangeResult"), body: [invited] },
      ],
    }),
  );
  const event = newId();
  mockApi.answer("get", "/tenants/events", ({ query }) => {
    const requestId = mockApi.received("applyChanges")[0]?.id ?? "";
    const target = { type: "user", id: invited.id };
    const made = sample("Event", { id: event, operation: "createUser", target, requestId });
    return pageOf(query["filter[target.id]"] === invited.id ? [made] : []);
  });
  const user = await openForm();
  await user.paste("ann@example.com");
  await user.click(await screen.findByRole("combobox", { name: t("users.fields.groups") }));
  await user.keyboard("Field service");
  await screen.findByRole("option", { name: t("users.invite.createGroup", { name: "Field service" }) });
  await user.keyboard("{Enter}");
  await reviewAndSend(user, t("users.invite.submit", { count: 1 }));
  await screen.findByText(t("users.invite.done", { count: 1 }));
  await user.click(await screen.findByRole("button", { name: t("records.undo.label"), hidden: true }));
  await screen.findByText(t("records.undo.done"));
  expect(mockApi.received("revertEvent")).toMatchObject([
    { path: `/tenants/events/${event}/revert`, query: { scope: "request" } },
  ]);
});

/** Opens the form, and waits for the initial focus, which would otherwise leave the field in which a test types. */
async function openForm() {
  const user = openConsole("/users?new=1");
  const emails = await screen.findByRole("textbox", { name: t("users.invite.emails") });
  await waitFor(() => expect(document.activeElement).toBe(emails));
  return user;
}

test.each([
  ["Enter", "{Enter}"],
  ["the next field", "{Tab}"],
])("a typed group name is chosen by %s, and the form stays open", async (_, key) => {
  const user = await openForm();
  await user.paste("ann@example.com");
  await user.click(await screen.findByRole("combobox", { name: t("users.fields.groups") }));
  await user.keyboard("Field service");
  await screen.findByRole("option", { name: t("users.invite.createGroup", { name: "Field service" }) });
  await user.keyboard(key);
  await screen.findByText("Field service", { selector: ".mantine-Pill-label" });
  expect(screen.getByRole("textbox", { name: t("users.invite.emails") })).toBeTruthy();
});

test("a group name counts even if the focus leaves the field before the server has answered", async () => {
  const user = await openForm();
  await user.click(await screen.findByRole("combobox", { name: t("users.fields.groups") }));
  await user.keyboard("Field service{Tab}");
  await screen.findByText("Field service", { selector: ".mantine-Pill-label" });
});

test("Enter chooses the group with exactly the typed name", async () => {
  const groups = ["Inside sales", "Sales"].map((name) => sample("Group", { id: newId(), name }));
  mockApi.answer("get", "/tenants/groups", pageOf(groups));
  const user = await openForm();
  await user.click(await screen.findByRole("combobox", { name: t("users.fields.groups") }));
  await user.keyboard("sales");
  await screen.findByRole("option", { name: "Sales" });
  await user.keyboard("{Enter}");
  await screen.findByText("Sales", { selector: ".mantine-Pill-label" });
  expect(screen.queryByText("Inside sales", { selector: ".mantine-Pill-label" })).toBeNull();
});

test("offers mail only if the server sends mail", async () => {
  await openForm();
  await screen.findByRole("checkbox", { name: t("users.invite.notify") });
});

test("names the settings for mail if the server sends none", async () => {
  mockApi.install({ sendsMail: false });
  await openForm();
  await screen.findByText("GATEHOUSE_SMTP_URL");
  expect(screen.queryByRole("checkbox", { name: t("users.invite.notify") })).toBeNull();
});

test("says that a person is already a user", async () => {
  mockApi.answer("post", "/tenants/policies/preview", () =>
    problem("email_taken", { errors: [{ pointer: "/changes/0/body/0/email", message: "is taken" }] }),
  );
  const user = await openForm();
  await user.paste("ann@example.com");
  await click(user, "Review");
  await screen.findByText(
    t("users.invite.refused", { email: "ann@example.com", reason: t("users.invite.problems.taken") }),
  );
});

test("the review names groups and roles, and the access that people gain when they accept", async () => {
  mockApi.answer("get", "/tenants/groups", pageOf([sample("Group", { id: newId(), name: "Engineering" })]));
  const role = { ...sample("Role"), id: newId(), name: "Auditor", type: "AUDITOR" as const };
  mockApi.answer("get", "/tenants/roles", [role]);
  const none = sample("AccessPreview");
  const gained = { users: 1, devices: 0, sites: 0, resources: 7, internet: false, pairs: 7 };
  mockApi.answer("post", "/tenants/policies/preview", ({ body }) =>
    (body as { readonly invitationsAccepted?: boolean }).invitationsAccepted === true ? { ...none, gained } : none,
  );
  const user = await openForm();
  await user.paste("dora@example.com");
  await choose(user, t("users.fields.groups"), "Engineering");
  await choose(user, t("users.fields.roles"), "Auditor");
  await click(user, t("common.review"));
  await screen.findByText(t("users.invite.summaryExistingGroups", { count: 1, names: "Engineering" }));
  await screen.findByText(t("users.invite.summaryRoles", { count: 1, names: "Auditor" }));
  await screen.findByText(t("records.effect.planned.noneBeforeAcceptance"));
  const accepted = await screen.findByText(t("records.effect.accepted.title"));
  await within(accepted.parentElement as HTMLElement).findByText("1 user gains access to 7 resources");
});

async function inviteAsSupport(emails: readonly string[]): Promise<string> {
  const role = { ...sample("Role"), id: newId(), name: "Support", type: "SUPPORT" as const };
  mockApi.answer("get", "/tenants/roles", [role]);
  const user = openConsole("/users?new=1");
  await findDialog(t("users.invite.title"));
  await user.click(await screen.findByRole("textbox", { name: t("users.invite.emails") }));
  await user.paste(emails.join("\n"));
  await choose(user, t("users.fields.roles"), "Support");
  await reviewAndSend(user, t("users.invite.submit", { count: emails.length }));
  await screen.findByText(t("enrolmentLinks.many.text", { count: emails.length }));
  await click(user, t("enrolmentLinks.many.skip"));
  await waitForDialogToClose();
  return role.id;
}

test("invites users with roles in one request", async () => {
  const role = await inviteAsSupport(["ann@example.com", "bob@example.com"]);
  expect(mockApi.bodies("createUsers")).toEqual([
    [
      { email: "ann@example.com", groups: [], roles: [role] },
      { email: "bob@example.com", groups: [], roles: [role] },
    ],
  ]);
  expect(mockApi.writes()).toEqual(["POST /tenants/users"]);
});

test("invites more users than one request takes, with roles, in one change set", async () => {
  const role = await inviteAsSupport(Array.from({ length: 101 }, (_, index) => `user-${index}@example.com`));
  expect(mockApi.writes()).toEqual(["POST /tenants/changes"]);
  const [set] = mockApi.bodies("applyChanges") as readonly {
    readonly changes: readonly { readonly body: unknown }[];
  }[];
  expect(set?.changes.map(({ body }) => (body as readonly unknown[]).length)).toEqual([100, 1]);
  expect(set?.changes[1]?.body).toEqual([{ email: "user-100@example.com", groups: [], roles: [role] }]);
});

describe("with a new group, and without an answer to the search for it", () => {
  const failSearch = () => {
    mockApi.answer("get", "/tenants/groups", ({ query }) =>
      "filter[name]" in query ? problem("internal_error") : pageOf([]),
    );
  };
  const accepted = () => ({ generation: 7, changes: [{ status: 201, events: [], body: { id: newId() } }] });

  async function fillIn(emails: readonly string[]) {
    failSearch();
    const user = await openForm();
    await user.paste(emails.join("\n"));
    await user.click(await screen.findByRole("combobox", { name: t("users.fields.groups") }));
    await user.keyboard("Engineering");
    await user.click(
      await screen.findByRole("option", { name: t("users.invite.createGroup", { name: "Engineering" }) }),
    );
    return user;
  }

  test("shows that all users were invited, and their links", async () => {
    mockApi.answer("post", "/tenants/changes", accepted);
    const user = await fillIn(["ann@example.com"]);
    await reviewAndSend(user, t("users.invite.submit", { count: 1 }));
    await screen.findByText(t("users.invite.done", { count: 1 }));
    await screen.findByText(t("enrolmentLinks.many.text", { count: 1 }));
    expect(mockApi.writes()).toEqual(["POST /tenants/changes"]);
  });

  test("shows who was invited and who was skipped, with links instead of the form", async () => {
    mockApi.answer("post", "/tenants/changes", ({ body }) => {
      const { changes } = body as { readonly changes: readonly { readonly body: readonly unknown[] }[] };
      if (changes[1]?.body.length === 1) return accepted();
      return problem("invalid_body", { errors: [{ pointer: "/changes/1/body/1/email", message: "is taken" }] });
    });
    const user = await fillIn(["ann@example.com", "bob@example.com", "nobody"]);
    await reviewAndSend(user, t("users.invite.submit", { count: 2 }));
    await screen.findByText(t("users.invite.done", { count: 1 }));
    await screen.findByText(t("users.invite.invited", { names: "ann@example.com" }));
    await screen.findByText(t("users.invite.notInvited"));
    await screen.findByText(t("users.invite.refused", { email: "bob@example.com", reason: "is taken" }));
    await screen.findByText(t("users.invite.line", { line: 3, reason: t("users.invite.problems.missing") }));
    await screen.findByRole("button", { name: t("enrolmentLinks.many.create") });
    expect(screen.queryByRole("textbox", { name: t("users.invite.emails") })).toBeNull();
    // Nothing is left to discard.
    await click(user, t("enrolmentLinks.many.skip"));
    await waitForDialogToClose();
  });
});

test("shows who was skipped, even if the links are sent by email", async () => {
  mockApi.install({ sendsMail: true });
  const user = await openForm();
  await user.paste("ann@example.com\nnobody");
  await user.click(await screen.findByRole("checkbox", { name: t("users.invite.notify") }));
  await reviewAndSend(user, t("users.invite.submit", { count: 1 }));
  await screen.findByText(t("users.invite.invited", { names: "ann@example.com" }));
  await screen.findByText(t("users.invite.line", { line: 2, reason: t("users.invite.problems.missing") }));
  expect(screen.queryByRole("button", { name: t("enrolmentLinks.many.create") })).toBeNull();
  await user.keyboard("{Escape}");
  await waitForDialogToClose();
});

test.each([
  ["one user", "ann@example.com"],
  ["several users", "ann@example.com\nbob@example.com"],
])(
  "sending links by email to %s asks for a confirmation, and keeps the input if the person cancels",
  async (_, text) => {
    mockApi.signInPerson(permissions);
    mockApi.install({ sendsMail: true });
    let isConfirmed = false;
    mockApi.answer("post", "/tenants/users", () =>
      isConfirmed ? sample("User") : problem("recent_authentication_required"),
    );
    mockApi.acceptRecoveryCodes("next-recovery-code");
    const count = text.split("\n").length;
    const user = await openForm();
    await user.paste(text);
    await user.click(await screen.findByRole("checkbox", { name: t("users.invite.notify") }));
    await reviewAndSend(user, t("users.invite.submit", { count }));
    const dialog = await findDialog(t("signIn.stepUp.title"));
    await user.click(await dialog.findByRole("button", { name: t("common.cancel") }));
    await screen.findByText(errorDefinitions.recent_authentication_required.title);
    const field = await screen.findByRole<HTMLTextAreaElement>("textbox", { name: t("users.invite.emails") });
    expect(field.value).toBe(text);
    const notify = await screen.findByRole<HTMLInputElement>("checkbox", { name: t("users.invite.notify") });
    expect(notify.checked).toBe(true);
    await reviewAndSend(user, t("users.invite.submit", { count }));
    await click(user, t("signIn.page.recovery"));
    await fill(user, t("signIn.page.recoveryCode"), "code");
    await click(user, t("signIn.stepUp.confirmWithCode"));
    isConfirmed = true;
    await click(user, t("signIn.page.saved"));
    await waitForDialogToClose();
    const bodies = mockApi.bodies("createUsers") as readonly (readonly { readonly notify?: boolean }[])[];
    expect(bodies).toHaveLength(3);
    expect(bodies[2]).toEqual(bodies[0]);
    expect(bodies[2]?.map((invited) => invited.notify)).toEqual(Array(count).fill(true));
  },
);
