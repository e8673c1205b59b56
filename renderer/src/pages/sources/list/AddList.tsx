import { Modal } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ListFormat, SourceImport } from '../../../../../shared/collection/sourceList.ts';
import { sendStream } from '../../../api/sendStream.ts';
import { callKey } from '../../../api/useCall.ts';
import { ListFields } from './ListFields.tsx';
import { ListOutcome } from './ListOutcome.tsx';
import { useListDraft } from './listDraft.ts';
import { listMediaType } from './listFormat.ts';

export interface AddListProps {
  opened: boolean;
  onClose: () => void;
}

/** Adds the sources of a list that is pasted, dropped or chosen, then reports the result for each entry. */
export function AddList({ opened, onClose }: AddListProps) {
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title="Add sources from a list"
      size="lg"
      closeOnClickOutside={false}
      centered={false}
    >
      <ListDialog onClose={onClose} />
    </Modal>
  );
}

function ListDialog({ onClose }: { onClose: () => void }) {
  const { text, change, clear } = useListDraft();
  const [sent, setSent] = useState<ListFormat>('text');
  const client = useQueryClient();
  const send = useMutation({
    mutationFn: (form: ListFormat): Promise<SourceImport> =>
      sendStream('importSources', { body: text, mediaType: listMediaType(form) }),
    onSuccess: ({ refused }) => {
      if (refused === 0) clear();
      for (const name of ['listWatchedSources', 'listSources', 'readStats'] as const) {
        void client.invalidateQueries({ queryKey: callKey(name) });
      }
    },
  });
  if (send.data) {
    const { items } = send.data;
    const fixRejected = () => {
      if (sent === 'text') change({ text: refusedLines(text, items) });
      send.reset();
    };
    return <ListOutcome outcome={send.data} onFix={fixRejected} onClose={onClose} />;
  }
  return (
    <ListFields
      isSending={send.isPending}
      error={send.error}
      onSend={(form) => {
        setSent(form);
        send.mutate(form);
      }}
      onClose={onClose}
    />
  );
}

/** The rejected lines of a plain list, to be corrected. */
function refusedLines(text: string, items: SourceImport['items']): string {
  const lines = text.split(/\r?\n/);
  return items
    .filter(({ outcome }) => outcome === 'refused')
    .map(({ line }) => lines[line - 1] ?? '')
    .join('\n');
}
