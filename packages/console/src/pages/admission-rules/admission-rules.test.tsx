import { screen, waitFor } from "@testing-library/dom";
import type { UserEvent } from "@testing-library/user-event";
import { describe, expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { choose, click, fill, openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

const kinds = (kind: "country" | "group" | "hours" | "posture" | "session" | "tag") =>
  t(`admissionRules.builder.kinds.${kind}`);

async function addCondition(user: UserEvent, kind: string) {
  await click(user, t("admissionRules.builder.add"));
  await user.click(await screen.findByRole("menuitem", { name: kind }));
}

async function openForm() {
  const user = openConsole("/admission-rules?new=1");
  await fill(user, t("common.name"), "Night shift");
  return user;
}

const create = (user: UserEvent) => click(user, t("common.create"));

test("the list shows conditions in words, and other rules as text", async () => {
  const rules = ['source.country in ["DE", "IE"]', 'user.email.endsWith("@example.com")'];
  mockApi.answer(
    "get",
    "/tenants/admission-rules",
    rules.map((rule, index) => sample("AdmissionRule", { name: `Rule ${index}`, type: "CUSTOM", rule })),
  );
  openConsole("/admission-rules");
  const inWords = await screen.findByRole("row", { name: /Rule 0/ });
  expect(inWords.textContent).toContain("The source country is DE or IE");
  expect(screen.getByRole("row", { name: /Rule 1/ }).textContent).toContain("endsWith");
});

describe("the builder of conditions", () => {
  test("stores a window over midnight as it was chosen", async () => {
    const user = await openForm();
    await addCondition(user, kinds("hours"));
    await choose(user, t("admissionRules.builder.from"), "22:00");
    await choose(user, t("admissionRules.builder.until"), "06:00");
    await screen.findByText("22:00 to 06:00 the next day");
    await create(user);
    await waitFor(() => expect(mockApi.received("createAdmissionRule")).toHaveLength(1));
    const [body] = mockApi.bodies("createAdmissionRule") as { readonly rule: string }[];
    expect(body?.rule).toMatch(/^\(now\.getHours\(".+"\) >= 22 \|\| now\.getHours\(".+"\) < 6\)$/);
  });

  test("stores minutes over midnight, shows the week, and reads them again from the text", async () => {
    const user = await openForm();
    await addCondition(user, kinds("hours"));
    await choose(user, t("admissionRules.builder.from"), "22:30");
    const until = await screen.findByRole("combobox", { name: t("admissionRules.builder.until") });
    await user.clear(until);
    await user.type(until, "6:10");
    await user.keyboard("{ArrowDown}{Enter}");
    expect((await screen.findAllByText("00:00–06:10, 22:30–24:00")).length).toBe(7);
    await create(user);
    await waitFor(() => expect(mockApi.received("createAdmissionRule")).toHaveLength(1));
    const [body] = mockApi.bodies("createAdmissionRule") as { readonly rule: string }[];
    expect(body?.rule).toMatch(/^\(now\.getHours\(".+"\) \* 60 \+ now\.getMinutes\(".+"\) >= 1350 \|\| .* < 370\)$/);
  });

  test("suggests posture with counts, warns of a name that no device reports, and stores No as false", async () => {
    const posture = { diskEncrypted: true, firewall: false };
    const reported = sample("Device", { id: newId(), posture });
    mockApi.answer("get", "/tenants/devices", pageOf([reported, sample("Device", { id: newId() })]));
    const user = await openForm();
    await addCondition(user, kinds("posture"));
    const name = await screen.findByRole<HTMLInputElement>("combobox", { name: t("admissionRules.builder.posture") });
    await user.click(name);
    const count = (value: string) => t("admissionRules.builder.valueCount.posture", { value, count: 1, total: 2 });
    await screen.findByRole("option", { name: count("Firewall") });
    await user.clear(name);
    await user.type(name, "diskEncypted");
    const scope = "admissionRules.builder.unreported.posture.all";
    await screen.findByText(t(scope, { name: "diskEncypted", total: 2 }));
    await user.click(await screen.findByRole("option", { name: count("Disk encrypted") }));
    expect(name.value).toBe("Disk encrypted");
    expect(screen.queryByText(t(scope, { name: "diskEncrypted", total: 2 }))).toBeNull();
    await user.click(screen.getByRole("combobox", { name: t("admissionRules.builder.value") }));
    await user.click(
      await screen.findByRole("option", {
        name: t("admissionRules.builder.valueCount.posture", { value: "No", count: 0, total: 2 }),
      }),
    );
    await create(user);
    await waitFor(() =>
      expect(mockApi.bodies("createAdmissionRule")).toMatchObject([{ rule: "device.posture.diskEncrypted == false" }]),
    );
  });

  test.each([
    ["country", t("admissionRules.problems.country")],
    ["group", t("admissionRules.problems.group")],
    ["tag", t("admissionRules.problems.tag")],
  ] as const)("refuses an unfinished condition on the %s, and says so at the condition", async (kind, message) => {
    const user = await openForm();
    await addCondition(user, kinds(kind));
    await create(user);
    await screen.findByText(message);
    expect(mockApi.received("createAdmissionRule")).toEqual([]);
  });

  test("stores a recent sign-in and a tag, with the mark of a rule that reads the clock", async () => {
    mockApi.answer("post", "/tenants/admission-rules/check", { valid: true, errors: [], readsNow: true });
    const user = await openForm();
    await addCondition(user, kinds("session"));
    await fill(user, t("admissionRules.builder.signedInWithin"), "12");
    await addCondition(user, kinds("tag"));
    await fill(user, t("admissionRules.builder.tag"), "build");
    await create(user);
    await waitFor(() => expect(mockApi.received("createAdmissionRule")).toHaveLength(1));
    const rule = 'session.age < duration("12h") &&\n"build" in device.tags';
    expect(mockApi.bodies("createAdmissionRule")).toMatchObject([{ rule, hasTimeConstraint: true }]);
  });

  test("offers only groups that exist", async () => {
    mockApi.answer("get", "/tenants/groups", pageOf([sample("Group", { name: "Engineering" })]));
    const user = await openForm();
    await addCondition(user, kinds("group"));
    await choose(user, t("admissionRules.builder.group"), "Engineering");
    await create(user);
    await waitFor(() =>
      expect(mockApi.bodies("createAdmissionRule")).toMatchObject([{ rule: '"Engineering" in user.groups' }]),
    );
  });

  test.each(["country", "group", "tag"] as const)("refuses an unfinished condition: %s", async (kind) => {
    const user = await openForm();
    await addCondition(user, kinds(kind));
    await create(user);
    await screen.findByText(t(`admissionRules.problems.${kind}`));
    expect(mockApi.bodies("createAdmissionRule")).toEqual([]);
  });

  test("lets the name of a posture fact be emptied and typed again, and suggests known ones", async () => {
    mockApi.answer("get", "/tenants/devices", pageOf([sample("Device", { posture: { osUpToDate: true } })]));
    const user = await openForm();
    await addCondition(user, kinds("posture"));
    const field = await screen.findByRole<HTMLInputElement>("combobox", { name: t("admissionRules.builder.posture") });
    expect(field.value).toBe("Disk encrypted");
    await user.clear(field);
    expect(field.value).toBe("");
    await screen.findByRole("option", { name: /^OS up to date/ });
    await user.type(field, "os");
    expect(field.value).toBe("os");
  });
});

test("the text of a rule breaks after logical operators, and not inside a comparison", async () => {
  const text = 'user.department == "Sales" &&\n  device.posture.osUpToDate == true || !device.agent';
  const rule = sample("AdmissionRule", { id: newId(), name: "Staff", type: "CUSTOM", rule: text });
  mockApi.answer("get", "/tenants/admission-rules/{id}", rule);
  openConsole(`/admission-rules/${rule.id}`);
  const code = await waitFor(() => document.querySelector("pre.value") ?? expect.fail("no text of the rule"));
  expect(code.textContent).toBe(text);
  expect([...code.querySelectorAll(".whole-condition")].map(({ textContent }) => textContent)).toContain(
    "  device.posture.osUpToDate == true ||",
  );
});

describe("the review of a changed rule", () => {
  const rule = sample("AdmissionRule", {
    id: newId(),
    name: "Office hours",
    type: "CUSTOM",
    rule: 'now.getHours("UTC") >= 8 && now.getHours("UTC") < 18',
  });
  const none = { users: 0, devices: 0, sites: 0, resources: 0, internet: false, pairs: 0 };
  const nothing = sample("AccessPreview", { gained: none, lost: none, groups: [], groupCount: 0, brokenTests: [] });

  async function review() {
    mockApi.answer("get", "/tenants/admission-rules/{id}", rule);
    const user = openConsole(`/admission-rules/${rule.id}?edit=1`);
    await choose(user, t("admissionRules.builder.from"), "22:00");
    await click(user, t("common.review"));
  }

  test("shows the conditions before and after, and who loses access at this moment", async () => {
    mockApi.answer("post", "/tenants/policies/preview", ({ body }) =>
      (body as { context?: { time?: string } }).context?.time === undefined
        ? nothing
        : { ...nothing, lost: { ...none, users: 1, resources: 1, pairs: 1 } },
    );
    await review();
    await screen.findByText(t("records.effect.planned.noneEntirely"));
    await screen.findByText("1 user loses access to 1 resource");
    const after = screen.getByRole("region", { name: t("admissionRules.difference.after") });
    expect(after.textContent).toContain("22:00");
    const before = screen.getByRole("region", { name: t("admissionRules.difference.before") });
    expect(before.textContent).toContain("08:00–18:00");
  });

  test("says that nothing changes at this moment", async () => {
    mockApi.answer("post", "/tenants/policies/preview", nothing);
    await review();
    await screen.findByText(t("records.effect.planned.nowNone"));
  });
});
