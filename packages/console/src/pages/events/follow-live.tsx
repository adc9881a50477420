/** A switch that refetches the list whenever an event matches its filters. */
import { Switch } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { queryOf } from "../../lists/list-rows.ts";
import { useListState } from "../../lists/list-state.ts";
import { t } from "../../messages/i18n.ts";
import type { Event } from "./event.ts";

export function FollowLive({ definition }: { readonly definition: ListDefinition<Event> }) {
  const fields = useMemo(() => definition.filters?.map(({ field }) => field) ?? [], [definition]);
  const { state } = useListState(fields, definition.defaultSort);
  const { limit: _limit, offset: _offset, sort: _sort, ...query } = queryOf(definition, state);
  const filter = new URLSearchParams(query as Record<string, string>).toString();
  const search = useSearch({ strict: false }) as Readonly<Record<string, string>>; // the router parses every value as a string
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [connected, setConnected] = useState(false);
  const live = search.live === "1";
  useEffect(() => {
    if (!live) return;
    // The browser reconnects by itself and sends the session cookie.
    const stream = new EventSource(`/tenants/events/stream${filter === "" ? "" : `?${filter}`}`);
    stream.addEventListener("open", () => setConnected(true));
    stream.addEventListener("error", () => setConnected(false));
    stream.addEventListener("event", () => void queryClient.invalidateQueries({ queryKey: ["/tenants/events"] }));
    return () => {
      stream.close();
      setConnected(false);
    };
  }, [live, filter, queryClient]);
  return (
    <Switch
      label={
        live ? (connected ? t("events.follow.following") : t("events.follow.connecting")) : t("events.follow.follow")
      }
      checked={live}
      onChange={({ currentTarget }) =>
        void navigate({ to: ".", search: { ...search, live: currentTarget.checked ? "1" : undefined }, replace: true })
      }
    />
  );
}
