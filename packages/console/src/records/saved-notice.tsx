/** The notice after a change, which offers to undo it. */
import { irrevertibleOperations, irrevertibleTargets } from "@gatehouse/contract/records/irrevertible";
import { Button, Group } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useQueryClient } from "@tanstack/react-query";
import { api, paged } from "../app/api.ts";
import { takeOwnRequest } from "../app/own-requests.ts";
import { usePermission } from "../app/session.ts";
import { t } from "../messages/i18n.ts";
import type { PlannedChange } from "./planned-change.ts";
import { notifyProblem } from "./use-record.ts";

const events = paged("/tenants/events");
const shownMs = 12_000;

/** A request that was sent: one change, or a change set. */
export interface SentRequest {
  readonly changes: readonly PlannedChange[];
  /** The last response with a body. */
  readonly answer: unknown;
}

/** Returns a function that shows the notice after requests. */
export function useSavedNotice(): (message: string, ...requests: readonly SentRequest[]) => void {
  const queryClient = useQueryClient();
  const canReadEvents = usePermission("events:read");
  return (message, ...requests) => {
    const targets = requests.flatMap((request) => targetOf(request) ?? []);
    if (targets.length === 0 || targets.length < requests.length || !canReadEvents) {
      notifications.show({ message, color: "green" });
      return;
    }
    const sizes = requests.map(({ changes }) => changes.length);
    const undo = async (id: string, found: readonly string[]) => {
      notifications.hide(id);
      let undone = 0;
      try {
        // The last request first. All changes of a request are undone, or none.
        for (const [index, event] of [...found.entries()].toReversed()) {
          await api.post("/tenants/events/{id}/revert", { path: { id: event }, query: { scope: "request" } });
          undone += sizes[index] ?? 0;
        }
        notifications.show({ message: t("records.undo.done"), color: "green" });
      } catch (error) {
        const total = sizes.reduce((sum, size) => sum + size, 0);
        notifyProblem(error, undone === 0 ? undefined : t("records.undo.stopped", { undone, total }));
      } finally {
        await queryClient.invalidateQueries();
      }
    };
    const show = (found: readonly string[]) => {
      const id = `saved-${found[0] ?? targets[0]}`;
      notifications.show({
        id,
        color: "green",
        autoClose: shownMs,
        message:
          found.length < targets.length ? (
            message
          ) : (
            <Group justify="space-between">
              {message}
              <Button size="xs" variant="default" onClick={() => void undo(id, found)}>
                {t("records.undo.label")}
              </Button>
            </Group>
          ),
      });
    };
    // The events identify the changes, so later changes of the records are not undone in their place.
    void Promise.all(targets.map(latestEvent)).then(
      (found) => show(found.flatMap((event) => event ?? [])),
      () => show([]),
    );
  };
}

/**
 * The id of the last event of a record, if this page caused it and it can be reverted. A request that changed nothing
 * has no event, and somebody else may have changed the record since.
 */
async function latestEvent(target: string): Promise<string | undefined> {
  const [event] = (await events.read({ "filter[target.id]": target, sort: "-position", limit: 1 })).data;
  if (event === undefined || !takeOwnRequest(event.requestId)) return undefined;
  if (event.operation in irrevertibleOperations) return undefined;
  return event.target.type in irrevertibleTargets ? undefined : event.id;
}

/** Id of a record that a request changed: the last one, because records that a change set creates have no id before. */
function targetOf({ changes, answer }: SentRequest): string | undefined {
  const last = changes.at(-1);
  const named = /^\/tenants\/[a-z-]+\/([0-9a-f-]{36})/.exec(last?.path ?? "")?.[1];
  if (named !== undefined) return named;
  const [record] = Array.isArray(answer) ? answer : [answer];
  const { id } = (record ?? {}) as { readonly id?: unknown }; // only records have an id
  return typeof id === "string" ? id : undefined;
}
