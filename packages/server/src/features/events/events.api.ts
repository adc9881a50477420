/** Public API of this feature: the audit record. */

export {
  endOfGeneration,
  eventsAfter,
  type FeedPosition,
  hasEvent,
  readEvent,
  readEventUpTo,
} from "./event-feed.queries.ts";
export { entriesAfter, entriesOfGeneration, type HistoryLimits } from "./record-history.queries.ts";
