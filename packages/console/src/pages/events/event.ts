import type { ItemAt } from "@gatehouse/client/calls";

export type Event = ItemAt<"/tenants/events">;
