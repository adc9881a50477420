/** The configuration that answers of the access page use: the current one, or the one of a past date. */
import { screen, waitFor } from "@testing-library/dom";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { formatExactTime, formatOwnZone } from "../../messages/format.ts";
import { t } from "../../messages/i18n.ts";
import { exampleTime } from "../../records/date-time-field.tsx";
import { toLocalTime } from "../../records/local-time.ts";
import { click, currentPath, fill, findPanel, openConsole } from "../../testing/console-page.tsx";
import { mockApi } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

const [userId, deviceId, resourceId] = [newId(), newId(), newId()];
const at = "2026-03-02T09:00:00.000Z";
const question = `user=${userId}&device=${deviceId}&resource=${resourceId}`;
const row = sample("PastAccess", {
  user: { id: userId, name: "ann@example.com" },
  resource: { id: resourceId, name: "Wiki" },
  policy: { id: newId(), name: "Engineers build" },
  gateways: [{ id: newId(), name: "Berlin" }],
  balanced: false,
});
const onDevice = { ...row, device: { id: deviceId, name: "Laptop" } };
const decision = sample("AccessDecision", {
  decision: true,
  context: sample("DecisionContext", { reason: "allowed_by_policy" }),
});
const timeField = () => t("access.query.when", { zone: formatOwnZone() });
/** The name of a switch includes its description. */
const useCurrent = new RegExp(`^${t("access.configuration.useCurrent")}`);
const pastAt = t("access.configuration.pastAt", { time: formatExactTime(at) });

describe("a past date", () => {
  test.each(["can", "who", "what"])("is answered with the configuration of that date in the view %s", async (view) => {
    mockApi.answer("get", "/tenants/access", pageOf([onDevice]));
    mockApi.answer("get", "/tenants/access/history", sample("AccessHistory", { at, generation: 42 }));
    openConsole(`/access?view=${view}&${question}&at=${at}`);
    const panel = await findPanel(t("access.found.count", { count: 1 }));
    panel.getByText(`${pastAt} ${t("access.configuration.generation", { generation: 42 })}`);
    expect(mockApi.received("listPastAccess")[0]?.query).toMatchObject({ at });
    expect(mockApi.received("evaluateAccess")).toEqual([]);
  });

  test("is evaluated with the current configuration on request, and the decision says so", async () => {
    mockApi.answer("post", "/access/v1/evaluation", decision);
    const user = openConsole(`/access?${question}&at=${at}`);
    await user.click(await screen.findByRole("switch", { name: useCurrent }));
    const panel = await findPanel(t("access.decision.title"));
    panel.getByText(t("access.configuration.currentAt", { time: formatExactTime(at) }));
    expect(currentPath()).toMatch(/&config=current$/);
    // Another view has no such choice, and starts with the same default.
    await user.click(screen.getByRole("tab", { name: t("access.views.who") }));
    await waitFor(() => expect(currentPath()).not.toContain("config"));
  });

  test("before the history leads to the current configuration", async () => {
    const begins = "2026-03-02T09:00:30.000Z";
    mockApi.answer("get", "/tenants/access/history", sample("AccessHistory", { begins }));
    mockApi.answer("post", "/access/v1/evaluation", decision);
    const user = openConsole(`/access?${question}&at=${at}`);
    await screen.findByText(t("access.found.beforeHistory", { time: formatExactTime(begins) }));
    await click(user, t("access.configuration.useCurrent"));
    await findPanel(t("access.decision.title"));
  });

  test("before the history is not requested for a list, and the calendar does not offer it", async () => {
    const begins = "2026-03-02T09:00:30.000Z";
    mockApi.answer("get", "/tenants/access/history", sample("AccessHistory", { begins }));
    openConsole(`/access?view=what&user=${userId}&at=2026-03-02T08:00:00.000Z`);
    await screen.findByText(t("access.found.beforeHistory", { time: formatExactTime(begins) }));
    expect(screen.queryByRole("button", { name: t("access.configuration.useCurrent") })).toBeNull();
    expect(mockApi.received("listPastAccess")).toEqual([]);
    const field = screen.getByLabelText<HTMLInputElement>(timeField());
    const calendar = field.parentElement?.querySelector<HTMLInputElement>('input[type="datetime-local"]');
    expect(calendar?.min).toBe(toLocalTime("2026-03-02T09:01:00.000Z"));
  });

  test("that cannot be read has a message, and no decision", async () => {
    mockApi.answer("post", "/access/v1/evaluation", decision);
    const user = openConsole(`/access?${question}&at=2999-01-01T00:00:00.000Z`);
    await findPanel(t("access.decision.title"));
    await fill(user, timeField(), "28.11.2999 10:30");
    await user.keyboard("{Enter}");
    await screen.findByText(t("common.timeInvalid"));
    await screen.findByText(t("access.query.timeUnreadable", { example: exampleTime }));
    expect(screen.queryByRole("region", { name: t("access.decision.title") })).toBeNull();
    await fill(user, timeField(), "2999-11-28 10:30");
    await user.keyboard("{Enter}");
    await findPanel(t("access.decision.title"));
    expect(screen.queryByText(t("common.timeInvalid"))).toBeNull();
  });
});

test("a future date is evaluated with the current configuration, and lists say that they cannot know it", async () => {
  mockApi.answer("post", "/access/v1/evaluation", decision);
  const user = openConsole(`/access?${question}&at=2999-01-01T00:00:00.000Z`);
  await findPanel(t("access.decision.title"));
  expect(screen.queryByRole("switch", { name: useCurrent })).toBeNull();
  await user.click(screen.getByRole("tab", { name: t("access.views.what") }));
  await screen.findByText(t("access.found.future", { view: t("access.views.can") }));
  expect(mockApi.received("listPastAccess")).toEqual([]);
});

test("a list of current access names its time by the clock of the server, and its generation", async () => {
  mockApi.answer("get", "/tenants/access", pageOf([row]));
  mockApi.answer("get", "/tenants/access/history", sample("AccessHistory", { at, generation: 42 }));
  openConsole(`/access?view=who&resource=${resourceId}`);
  const panel = await findPanel(t("access.found.count", { count: 1 }));
  const used = t("access.configuration.currentAt", { time: formatExactTime(at) });
  panel.getByText(`${used} ${t("access.configuration.generation", { generation: 42 })}`);
});

describe("a downloaded list of access", () => {
  function catchFiles(): readonly Promise<string>[] {
    const files: Promise<string>[] = [];
    onTestFinished(() => void vi.restoreAllMocks());
    // The window of the test would follow the address of the file.
    vi.spyOn(HTMLAnchorElement.prototype, "click").mockReturnValue(undefined);
    vi.spyOn(URL, "createObjectURL").mockImplementation((blob) => {
      files.push((blob as Blob).text());
      return "blob:test";
    });
    return files;
  }

  test("has all pages, the question, and the generation of the configuration", async () => {
    const files = catchFiles();
    mockApi.answer("get", "/tenants/access/history", sample("AccessHistory", { at, generation: 42 }));
    mockApi.answer("get", "/tenants/access", pageOf([row], 2));
    const user = openConsole(`/access?view=what&user=${userId}&at=${at}`);
    await click(user, t("lists.export.json"));
    await waitFor(() => expect(files).toHaveLength(1));
    expect(JSON.parse((await files[0]) ?? "")).toEqual({
      question: { user: userId, at, includesAccessWithoutDevice: false },
      configuration: { generation: 42 },
      isComplete: true,
      count: 2,
      data: [row, row],
    });
    expect(mockApi.received("listPastAccess").at(-1)?.query).toMatchObject({ at, offset: "1" });
    await click(user, t("lists.export.csv"));
    await waitFor(() => expect(files).toHaveLength(2));
    expect(await files[1]).toContain(`${at},42,ann@example.com,Wiki,Engineers build,Berlin`);
  });

  test("has access without a device only if the list shows it", async () => {
    const files = catchFiles();
    const siteOnly = { ...row, resource: { id: newId(), name: "Video" } };
    mockApi.answer("get", "/tenants/access", pageOf([row, onDevice, siteOnly]));
    const user = openConsole(`/access?view=what&user=${userId}`);
    await click(user, t("lists.export.json"));
    await waitFor(() => expect(files).toHaveLength(1));
    expect(JSON.parse((await files[0]) ?? "")).toMatchObject({ count: 2, data: [onDevice, siteOnly] });
    await user.click(screen.getByRole("switch", { name: t("access.found.withoutDeviceToo") }));
    await click(user, t("lists.export.json"));
    await waitFor(() => expect(files).toHaveLength(2));
    expect(JSON.parse((await files[1]) ?? "")).toMatchObject({
      question: { includesAccessWithoutDevice: true },
      data: [row, onDevice, siteOnly],
    });
  });

  test("is read again if the configuration changes meanwhile", async () => {
    const files = catchFiles();
    let generation = 41;
    mockApi.answer("get", "/tenants/access/history", () => sample("AccessHistory", { at, generation }));
    mockApi.answer("get", "/tenants/access", pageOf([row]));
    const user = openConsole(`/access?view=what&user=${userId}`);
    await findPanel(t("access.found.count", { count: 1 }));
    mockApi.answer("get", "/tenants/access", () => {
      generation = 42;
      return pageOf([onDevice]);
    });
    await click(user, t("lists.export.json"));
    await waitFor(() => expect(files).toHaveLength(1));
    expect(JSON.parse((await files[0]) ?? "")).toMatchObject({ configuration: { generation: 42 }, data: [onDevice] });
    expect(mockApi.received("listPastAccess")).toHaveLength(3);
  });
});
