import { Tooltip } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { PageLabel } from '../../../../shared/event.ts';
import classes from './PageLabelNote.module.css';

const WORDS: Record<PageLabel['label'], string> = {
  error_page: 'looks like an error page',
  bot_wall: 'looks like a bot wall',
};

/** A page that answered as if all were well and may not be what it seems; the reason on hover, or beside it. */
export function PageLabelNote({ label, withReason = false }: { label: PageLabel; withReason?: boolean }) {
  const note = (
    <span className={classes.note}>
      <IconAlertTriangle size={14} stroke={1.9} aria-hidden />
      {WORDS[label.label]}
      {withReason && `: ${label.reason}`}
    </span>
  );
  if (withReason) return note;
  return (
    <Tooltip label={label.reason} multiline maw={320}>
      {note}
    </Tooltip>
  );
}
