import { ActionIcon, Tooltip } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { useCopied } from './useCopied.ts';

/** Copies a text; says so for a moment. `what` names it for the tooltip and for screen readers. */
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
