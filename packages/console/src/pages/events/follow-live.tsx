/** Reads the list anew when something happens, for as long as the switch is on. */
import { Switch } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";

export function FollowLive() {
  const search = useSearch({ strict: false }) as Readonly<Record<string, string>>; // the router reads texts
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [connected, setConnected] = useState(false);
  const live = search.live === "1";
  useEffect(() => {
    if (!live) return;
    // The browser connects again by itself, and sends the session's cookie.
    const stream = new EventSource("/tenants/events/stream");
    stream.addEventListener("open", () => setConnected(true));
    stream.addEventListener("error", () => setConnected(false));
    stream.addEventListener("event", () => void queryClient.invalidateQueries({ queryKey: ["/tenants/events"] }));
    return () => {
      stream.close();
      setConnected(false);
    };
  }, [live, queryClient]);
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
