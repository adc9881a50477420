/** What other features may ask of the audit record. */
export { endOfGeneration, eventsAfter, type FeedPosition, readEvent } from "./event-feed.queries.ts";
