/** Asks whether a person reaches the resource. An answer that allows it comes with its path. */
import { Stack } from "@mantine/core";
import { useState } from "react";
import { readAccessSearch } from "../../access/access-search.ts";
import { DecisionAnswer } from "../../access/decision-answer.tsx";
import { AccessPath } from "../../access/graph/access-path.tsx";
import { Question } from "../../access/question.tsx";
import { useReachedPath } from "../use-progress.ts";

type Search = Readonly<Record<string, string | undefined>>;

export function TryStep() {
  const reached = useReachedPath();
  const [asked, setAsked] = useState<Search>();
  const [isTimeUnreadable, setTimeUnreadable] = useState(false);
  // Until a person asks something else, the question is about the first path that exists.
  const found: Search = {
    user: reached?.user.id,
    device: reached?.device?.id,
    resource: reached?.resource.id,
  };
  const search = asked ?? found;
  const query = readAccessSearch(search);
  const { user, device, byAddress, resource, address } = query;
  const isComplete = (user !== "" || device !== "") && (byAddress ? address : resource) !== "";
  return (
    <Stack gap="sm">
      <Question
        query={query}
        change={(next) => void setAsked((now) => ({ ...(now ?? found), ...next }))}
        onTimeUnreadable={setTimeUnreadable}
        isAlwaysCurrent
      />
      {isComplete && !isTimeUnreadable && (
        <DecisionAnswer
          query={query}
          allowed={(policy) =>
            !byAddress && (
              <AccessPath
                subject={user === "" ? `device:${device}` : `user:${user}`}
                resource={resource}
                policy={policy}
              />
            )
          }
        />
      )}
    </Stack>
  );
}
