/** Creates the enrolment link with which a person signs in to add a device. */
import type { ResultOf } from "@gatehouse/client/calls";
import { Button, Group, Paper } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { api } from "../app/api.ts";
import { useSession } from "../app/session.ts";
import { t } from "../messages/i18n.ts";
import { LinkDetails } from "./new-enrolment-link.tsx";
import { RecordSelect } from "./record-select.tsx";
import { useAction } from "./use-record.ts";

const path = "/tenants/users/{id}/enrolment-links";

interface LinkForPersonProps {
  /** Called with true while the link, which is shown once, is on screen. */
  readonly onLink?: (isShown: boolean) => void;
}

export function LinkForPerson({ onLink }: LinkForPersonProps) {
  const { user } = useSession();
  const [person, setPerson] = useState(user?.id ?? "");
  const [link, setLink] = useState<ResultOf<typeof path, "post">>();
  const show = (shown: typeof link) => {
    setLink(shown);
    onLink?.(shown !== undefined);
  };
  const [isMissing, setMissing] = useState(false);
  const create = useAction({
    run: async () => show(await api.post(path, { path: { id: person }, body: {} })),
  });
  if (link !== undefined) {
    return (
      <Paper withBorder p="md">
        <LinkDetails name="" link={link} close={() => show(undefined)} />
      </Paper>
    );
  }
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // A name that is typed and not chosen fills the field, but selects nobody.
    if (person === "") setMissing(true);
    else create.mutate();
  };
  return (
    <form onSubmit={submit}>
      {/* The label above the field is as tall as the error below it. */}
      <Group align={isMissing ? "center" : "flex-end"} gap="sm" className="row-fields">
        <RecordSelect
          path="/tenants/users"
          label={t("enrolmentLinks.person")}
          value={person}
          onChange={(id) => {
            setPerson(id);
            setMissing(false);
          }}
          // Not marked as required: the steps around it can do without the link.
          error={isMissing ? t("enrolmentLinks.selectPerson") : undefined}
        />
        <Button type="submit" variant="default" className="phone-wide" loading={create.isPending}>
          {t("enrolmentLinks.createFor")}
        </Button>
      </Group>
    </form>
  );
}
