/** Reads the list anew when something happens that its filters ask for, for as long as the switch is on. */
import { Switch } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import type { ListDefinition } from "../../lists/list-definition.ts";
import { queryOf } from "../../lists/list-rows.ts";
import { useListState } from "../../lists/list-state.ts";
import type { Event } from "./restore.ts";

export function FollowLive({ definition }: { readonly definition: ListDefinition<Event> }) {
  const fields = useMemo(() => definition.filters?.map(({ field }) => field) ?? [], [definition]);
  const { state } = useListState(fields, definition.defaultSort);
  const { limit: _limit, offset: _offset, sort: _sort, ...asked } = queryOf(definition, state);
  const filter = new URLSearchParams(asked as Record<string, string>).toString();
  const search = useSearch({ strict: false }) as Readonly<Record<string, string>>; // the router reads texts
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [connected, setConnected] = useState(false);
  const live = search.live === "1";
  useEffect(() => {
    if (!live) return;
    // The browser connects again by itself, and sends the session's cookie.
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
      label={live ? (connected ? "Following live" : "Connecting …") : "Follow live"}
      checked={live}
      onChange={({ currentTarget }) =>
        void navigate({ to: ".", search: { ...search, live: currentTarget.checked ? "1" : undefined }, replace: true })
      }
    />
  );
}
