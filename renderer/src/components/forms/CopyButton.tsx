import { ActionIcon, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { useCopied } from './useCopied.ts';

/** Copies text to the clipboard. `what` describes it in the tooltip and to screen readers. */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const { copied, copy } = useCopied();
  const label = copied ? 'Copied' : `Copy ${what}`;
  return (
    <Tooltip label={label}>
      <ActionIcon variant="subtle" color="gray" size="sm" aria-label={label} onClick={() => copy(text)}>
        {copied ? <IconCheck size={15} /> : <IconCopy size={15} />}
      </ActionIcon>
    </Tooltip>
  );
}
