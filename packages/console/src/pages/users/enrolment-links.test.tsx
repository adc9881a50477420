/** Enrolment links as a link, as a QR code, as a code to type, and as a CSV file for many people. */
import { errorDefinitions } from "@gatehouse/contract/errors";
import { screen, waitFor, within } from "@testing-library/dom";
import { encode } from "uqr";
import { afterEach, describe, expect, test, vi } from "vitest";
import { t } from "../../messages/i18n.ts";
import {
  click,
  findDialog,
  findTitle,
  openConsole,
  reviewAndSend,
  waitForDialogToClose,
} from "../../testing/console-page.tsx";
import { mockApi, problem } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

const url = `https://gatehouse.example.com/console/enrol#gatehouse_enrol_${"x".repeat(49)}`;
const code = "AAAA-BBBB-CCCC";
const path = "/tenants/users/{id}/enrolment-links";
const link = { url, code, expiresAt: "2030-01-01T00:00:00.000Z" };

afterEach(() => vi.restoreAllMocks());

/** The modules of a QR code, drawn as squares of one unit. */
function drawnModules(drawing: Element): ReadonlySet<string> {
  const squares = drawing.querySelectorAll("path")[1]?.getAttribute("d") ?? "";
  return new Set([...squares.matchAll(/M(\d+) (\d+)h1v1h-1z/g)].map(([, x, y]) => `${x} ${y}`));
}

test("a new link is shown once, with a QR code that contains exactly the link", async () => {
  const id = newId();
  mockApi.answer("get", "/tenants/users/{id}", sample("User", { id, email: "ann@example.com", attributes: {} }));
  mockApi.answer("get", path, []);
  mockApi.answer("post", path, { ...sample("NewEnrolmentLink"), ...link });
  const user = openConsole(`/users/${id}`);
  await click(user, t("enrolmentLinks.create"));
  const dialog = await findDialog(t("enrolmentLinks.created", { name: "ann@example.com" }));
  expect(dialog.getByLabelText(t("enrolmentLinks.link")).textContent).toBe(url);
  expect(dialog.getByLabelText(t("enrolmentLinks.code")).textContent).toBe(code);
  const { data, size } = encode(url, { ecc: "M", border: 4 });
  const dark = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`${x} ${y}`] : [])));
  const drawing = dialog.getByRole("img", { name: t("enrolmentLinks.qr") });
  expect(drawing.getAttribute("viewBox")).toBe(`0 0 ${size} ${size}`);
  expect(drawnModules(drawing)).toEqual(new Set(dark));
  await click(user, t("records.secret.saved"));
  await waitForDialogToClose();
  expect(screen.queryByText(url)).toBeNull();
});

test("nothing covers a new link, and one that works only on the server's machine has a note", async () => {
  const id = newId();
  mockApi.answer("get", "/tenants/users/{id}", sample("User", { id, email: "ann@example.com", attributes: {} }));
  mockApi.answer("get", path, []);
  const local = "http://localhost:18471/console/enrol#secret";
  mockApi.answer("post", path, { ...sample("NewEnrolmentLink"), ...link, url: local });
  const user = openConsole(`/users/${id}`);
  await click(user, t("enrolmentLinks.create"));
  const dialog = await findDialog(t("enrolmentLinks.created", { name: "ann@example.com" }));
  dialog.getByText(/^The public URL of this server is/);
  dialog.getByText("http://localhost:18471");
  // The list is read again, so that the creation is complete.
  await waitFor(() => expect(mockApi.received("listEnrolmentLinks").length).toBeGreaterThan(1));
  expect(document.querySelector(".mantine-Notification-root")).toBeNull();
});

test("links for many people are one CSV file, and links that were made before a failure are kept", async () => {
  const emails = ["ann@example.com", "bob@example.com"];
  const ids = new Map(emails.map((email) => [email, newId()]));
  let fails = true;
  const closable: boolean[] = [];
  mockApi.answer("post", path, ({ path: at }) => {
    const dialog = within(screen.getByRole("dialog"));
    closable.push(dialog.queryByRole("button", { name: t("common.close") }) !== null);
    const email = emails.find((each) => at.includes(ids.get(each) ?? "")) ?? "";
    if (email.startsWith("bob") && fails) return problem("permission_denied");
    return { ...sample("NewEnrolmentLink"), ...link, url: `${url}-${email}`, code: `CODE-${email}` };
  });
  const files: Blob[] = [];
  vi.spyOn(URL, "createObjectURL").mockImplementation((file) => {
    files.push(file as Blob);
    return "blob:links";
  });
  vi.spyOn(URL, "revokeObjectURL").mockReturnValue(undefined);
  const clicked = vi.spyOn(HTMLAnchorElement.prototype, "click").mockReturnValue(undefined);

  const user = openConsole("/users?new=1");
  await findDialog(t("users.invite.title"));
  await user.click(await screen.findByRole("textbox", { name: t("users.invite.emails") }));
  await user.paste(emails.join("\n"));
  await reviewAndSend(user, t("users.invite.submit", { count: emails.length }));
  await screen.findByText(t("enrolmentLinks.many.text", { count: emails.length }));
  // The people exist from now on.
  mockApi.answer("get", "/tenants/users", ({ query }) => {
    const email = query["filter[email]"] ?? "";
    return pageOf([sample("User", { id: ids.get(email) ?? newId(), email, attributes: {} })]);
  });
  await click(user, t("enrolmentLinks.many.create"));
  await screen.findByText(t("enrolmentLinks.many.progress", { done: 1, count: 2 }));
  await screen.findByText(errorDefinitions.permission_denied.title);
  fails = false;
  await click(user, t("enrolmentLinks.many.create"));
  await screen.findByText(t("enrolmentLinks.many.progress", { done: 2, count: 2 }));
  screen.getByText(t("enrolmentLinks.many.warning"));
  screen.getByText(/^Each person can sign in with a separate link once, until/);
  // The links cannot be shown again, so Escape does not close the dialog, even while the first one is created.
  expect(closable).toEqual([false, false, false]);
  const dialog = await findDialog(t("users.invite.title"));
  expect(dialog.queryByRole("button", { name: t("common.close") })).toBeNull();
  await user.keyboard("{Escape}");
  screen.getByRole("button", { name: t("enrolmentLinks.many.saved") });
  await click(user, t("enrolmentLinks.many.export"));

  expect(clicked).toHaveBeenCalledTimes(1);
  expect(await files[0]?.text()).toBe(
    [
      '"email","link","code","expires"',
      ...emails.map((email) => `"${email}","${url}-${email}","CODE-${email}","${link.expiresAt}"`),
      "",
    ].join("\r\n"),
  );
  expect(mockApi.received("createEnrolmentLink")).toHaveLength(3);
});

describe("a pending user", () => {
  const id = newId();
  const open = () => {
    mockApi.answer("get", "/tenants/users/{id}", sample("User", { id, status: "pending", attributes: {} }));
    mockApi.answer("get", path, [sample("EnrolmentLink", { id: newId(), usedAt: "2026-03-02T09:00:00.000Z" })]);
    return openConsole(`/users/${id}`);
  };

  test("gets the invitation again by mail", async () => {
    const user = open();
    await screen.findByRole("button", { name: t("enrolmentLinks.createAndSend") });
    await click(user, t("users.invite.again"));
    await screen.findByText(t("users.invite.againDone"));
    expect(mockApi.bodies("inviteUser")).toEqual([{ notify: true }]);
  });

  test("gets no mail from a server that sends none, and the page names the settings for mail", async () => {
    mockApi.install({ sendsMail: false });
    const user = open();
    await screen.findByText("GATEHOUSE_SMTP_URL");
    expect(screen.queryByRole("button", { name: t("enrolmentLinks.createAndSend") })).toBeNull();
    expect(screen.queryByRole("button", { name: t("users.invite.again") })).toBeNull();
    await click(user, t("users.invite.renew"));
    await screen.findByText(t("users.invite.renewDone"));
    expect(mockApi.bodies("inviteUser")).toEqual([{ notify: false }]);
  });

  test("an error of an action disappears with the page that showed it", async () => {
    mockApi.answer("post", "/tenants/users/{id}/invite", () => problem("user_not_pending"));
    const user = open();
    await click(user, t("users.invite.again"));
    const { title } = errorDefinitions.user_not_pending;
    await screen.findByText(title);
    await user.click(screen.getAllByRole("link", { name: t("groups.title") })[0] as HTMLElement);
    await findTitle(t("groups.title"));
    await waitFor(() => expect(screen.queryByText(title)).toBeNull());
  });

  test("has no button that revokes a used link", async () => {
    open();
    await screen.findByText(t("enrolmentLinks.used"));
    expect(screen.queryByRole("button", { name: t("enrolmentLinks.revoke") })).toBeNull();
  });
});
