import { waitFor } from "@testing-library/dom";
import { expect, test } from "vitest";
import { t } from "../../messages/i18n.ts";
import { chooseAction, click, currentPath, findDialog, openConsole } from "../../testing/console-page.tsx";
import { etag, mockApi, problem } from "../../testing/mock-api.ts";
import { newId, pageOf, sample } from "../../testing/sample.ts";

test("a group that is a user's only group is deleted after the default group has taken the user", async () => {
  const group = sample("Group", { id: newId(), name: "Wiki readers", deleteable: true });
  const fallback = sample("Group", { id: newId(), name: "Default", isSamlDefaultGroup: true });
  const alone = newId();
  const errors = [
    { pointer: "/changes/0", message: "is refused" },
    { pointer: `/tenants/users/${alone}`, message: "bob@example.com" },
  ];
  mockApi.answer("get", "/tenants/groups/{id}", group);
  mockApi.answer("get", "/tenants/groups", pageOf([fallback]));
  mockApi.answer("post", "/tenants/policies/preview", ({ body }) =>
    (body as { changes: readonly unknown[] }).changes.length === 1
      ? problem("last_group", { errors })
      : sample("AccessPreview"),
  );
  const user = openConsole(`/groups/${group.id}`);
  await chooseAction(user, t("common.more"), t("common.delete"));
  await findDialog(t("groups.delete.title", { name: group.name }));
  await waitFor(() => {
    const { changes } = mockApi.bodies("previewAccess").at(-1) as { readonly changes: readonly unknown[] };
    expect(changes).toHaveLength(2);
  });
  await click(user, t("groups.delete.moveMembers", { count: 1 }));
  await waitFor(() => expect(currentPath()).toBe("/groups"));
  expect(mockApi.bodies("applyChanges")).toEqual([
    {
      changes: [
        {
          method: "PATCH",
          path: `/tenants/users/${alone}/groups`,
          body: { addedGroups: [fallback.id], removedGroups: [] },
        },
        { method: "DELETE", path: `/tenants/groups/${group.id}`, ifMatch: etag },
      ],
    },
  ]);
});
