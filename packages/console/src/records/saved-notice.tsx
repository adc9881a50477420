/** The notice after a change, which offers to undo it. */
import { irrevertibleOperations, irrevertibleTargets } from "@gatehouse/contract/records/irrevertible";
import { Button, Group } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQueryClient } from "@tanstack/react-query";
import { api, paged } from "../app/api.ts";
import { usePermission } from "../app/session.ts";
import { t } from "../messages/i18n.ts";
import type { PlannedChange } from "./planned-change.ts";
import { notifyProblem } from "./use-record.ts";

const events = paged("/tenants/events");
const shownMs = 12_000;

/** Returns a function that shows the notice. Its last argument is the response to the change. */
export function useSavedNotice(): (message: string, changes: readonly PlannedChange[], answer: unknown) => void {
  const queryClient = useQueryClient();
  const canReadEvents = usePermission("events:read");
  return (message, changes, answer) => {
    const [change] = changes;
    const target = changes.length === 1 && change !== undefined ? targetOf(change, answer) : undefined;
    if (target === undefined || !canReadEvents) {
      notifications.show({ message, color: "green" });
      return;
    }
    const undo = async (id: string, event: string) => {
      notifications.hide(id);
      try {
        await api.post("/tenants/events/{id}/revert", { path: { id: event } });
        notifications.show({ message: t("records.undo.done"), color: "green" });
        await queryClient.invalidateQueries();
      } catch (error) {
        notifyProblem(error);
      }
    };
    const show = (event: string | undefined) => {
      const id = `saved-${event ?? target}`;
      notifications.show({
        id,
        color: "green",
        autoClose: shownMs,
        message:
          event === undefined ? (
            message
          ) : (
            <Group justify="space-between">
              {message}
              <Button size="compact-xs" variant="default" onClick={() => void undo(id, event)}>
                {t("records.undo.label")}
              </Button>
            </Group>
          ),
      });
    };
    // The event identifies the change, so later changes of the record are not undone in its place.
    void latestEvent(target).then(show, () => show(undefined));
  };
}

/** The id of the last event of a record, if the event can be reverted. */
async function latestEvent(target: string): Promise<string | undefined> {
  const [event] = (await events.read({ "filter[target.id]": target, sort: "-position", limit: 1 })).data;
  if (event === undefined || event.operation in irrevertibleOperations) return undefined;
  return event.target.type in irrevertibleTargets ? undefined : event.id;
}

/** Id of the record that a request changed. */
function targetOf({ path }: PlannedChange, answer: unknown): string | undefined {
  const named = /^\/tenants\/[a-z-]+\/([0-9a-f-]{36})/.exec(path)?.[1];
  if (named !== undefined) return named;
  const { id } = (answer ?? {}) as { readonly id?: unknown }; // only records have an id
  return typeof id === "string" ? id : undefined;
}
