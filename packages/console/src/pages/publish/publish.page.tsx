/** Publishes a resource on one page: where it is, through which gateway, for whom, and under which conditions. */
import { Button, Group, Paper, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Check } from "lucide-react";
import { useEffect, useState } from "react";
import { api } from "../../app/api.ts";
import { PageHead } from "../../app/page-head.tsx";
import { useSession } from "../../app/session.ts";
import { t } from "../../messages/i18n.ts";
import { RichText } from "../../messages/rich-text.tsx";
import { RecordLink } from "../../records/record-link.tsx";
import { type Published, PublishForm } from "./publish-form.tsx";

const needed = ["resources:write", "gateways:write", "policies:write"] as const;
export function PublishPage() {
  const { permissions } = useSession();
  useEffect(() => {
    document.title = t("common.documentTitle", { title: t("publish.title") });
  }, []);
  const missing = needed.filter((permission) => !permissions.includes(permission));
  const [published, setPublished] = useState<Published>();
  const [round, setRound] = useState(0);
  return (
    <Stack maw={760}>
      <PageHead title={t("publish.title")}>{t("publish.text")}</PageHead>
      {missing.length > 0 ? (
        <Text>{t("publish.notPermitted", { permissions: missing.join(", ") })}</Text>
      ) : published === undefined ? (
        <PublishForm key={round} done={setPublished} />
      ) : (
        <Done
          published={published}
          again={() => {
            setPublished(undefined);
            setRound(round + 1);
          }}
        />
      )}
    </Stack>
  );
}

interface DoneProps {
  readonly published: Published;
  readonly again: () => void;
}

function Done({ published: { name, policy, isNewGateway }, again }: DoneProps) {
  const resource = policy?.resources[0]?.id ?? "";
  const { data: gateway } = useQuery({
    queryKey: ["/tenants/resources/{id}", resource, "gateway"],
    enabled: isNewGateway && resource !== "",
    queryFn: async ({ signal }) => {
      const { gateways } = await api.get("/tenants/resources/{id}", { path: { id: resource }, signal });
      return gateways[0]?.id;
    },
  });
  return (
    <Paper withBorder p="xl" role="status">
      <Stack gap="sm">
        <Group gap="sm">
          <Check size={20} aria-hidden color="var(--status-good)" />
          <Title order={2}>{t("publish.done.title", { name })}</Title>
        </Group>
        {isNewGateway && <Text>{t("publish.done.deploy")}</Text>}
        <Text>{t("publish.done.needs")}</Text>
        <ul className="bullets">
          <li>{t("publish.done.gateway")}</li>
          <li>{t("publish.done.device")}</li>
          {policy !== undefined && (
            <li>
              <RichText
                message="publish.done.policy"
                values={{ policy: policy.name }}
                elements={{ link: <RecordLink to={`/policies/${policy.id}`} inText /> }}
              />
            </li>
          )}
        </ul>
        <Group>
          {isNewGateway && (
            <Button component={Link} to={gateway === undefined ? "/gateways" : `/gateways/${gateway}`}>
              {t("publish.done.toGateway")}
            </Button>
          )}
          <Button component={Link} to={`/resources/${resource}`} variant="default">
            {t("publish.done.toResource", { name })}
          </Button>
          <Button variant="default" onClick={again}>
            {t("publish.done.again")}
          </Button>
        </Group>
      </Stack>
    </Paper>
  );
}
