import { Button, Group, Modal, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Trash2 } from "lucide-react";
import type { ReactNode } from "react";
import { ProblemNotice } from "../app/problem-notice.tsx";

interface DeleteRecordProps {
  /** Such as "user ann@example.com". */
  readonly what: string;
  /** What follows from it, before it is done. */
  readonly effect: ReactNode;
  readonly run: () => Promise<unknown>;
  readonly done: () => void;
}

export function DeleteRecord({ what, effect, run, done }: DeleteRecordProps) {
  const [opened, { open, close }] = useDisclosure(false);
  const queryClient = useQueryClient();
  const deletion = useMutation({
    mutationFn: run,
    onSuccess: async () => {
      close();
      done();
      await queryClient.invalidateQueries({ refetchType: "none" });
    },
  });
  return (
    <>
      <Button variant="default" leftSection={<Trash2 size={16} aria-hidden />} onClick={open}>
        Delete
      </Button>
      <Modal
        opened={opened}
        onClose={close}
        title={`Delete ${what}?`}
        centered
        closeButtonProps={{ "aria-label": "Close" }}
      >
        <Stack>
          <Text component="div">{effect}</Text>
          {deletion.error !== null && <ProblemNotice error={deletion.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close} data-autofocus>
              Keep it
            </Button>
            <Button color="red" loading={deletion.isPending} onClick={() => deletion.mutate()}>
              Delete
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
