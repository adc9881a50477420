/** A note at links and commands for other machines, if the public URL of the server works only on its own machine. */
import { isLoopback } from "../app/installation.ts";
import { Warning } from "../app/warning.tsx";
import { textWithCode } from "../messages/text-with-code.tsx";
import { GuideLink } from "./guide-link.tsx";

interface LoopbackNoteProps {
  readonly url: string;
  readonly about: "command" | "link" | "links";
}

export function LoopbackNote({ url, about }: LoopbackNoteProps) {
  if (!isLoopback(url)) return null;
  return (
    <Warning>
      {textWithCode(`records.loopback.${about}`, { url: new URL(url).origin })}{" "}
      <GuideLink to="configuration#server" isNamed />
    </Warning>
  );
}
