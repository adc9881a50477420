/** Why a device can connect before anyone has signed in on it. */
import { RichText } from "../messages/rich-text.tsx";
import { RecordLink } from "./record-link.tsx";

export const notSignedInText = (
  <RichText message="deviceSessions.notSignedInNote" elements={{ a: <RecordLink to="/settings" inText /> }} />
);
