/** Creates the first policy: who reaches the resource, and under which conditions. */
import { useState } from "react";
import { AccessForm } from "../../publish/access-form.tsx";

export function PolicyStep() {
  const [round, setRound] = useState(0);
  return <AccessForm key={round} done={() => setRound(round + 1)} />;
}
