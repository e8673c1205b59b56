import { IconAlertTriangle } from '@tabler/icons-react';
import type { PageLabel } from '../../../../../shared/collection/event.ts';
import { LazyTooltip } from '../../feedback/LazyTooltip.tsx';
import classes from './PageLabelNote.module.css';

/** What a label says of a version. */
export const LABEL_WORDS: Record<PageLabel['label'], string> = {
  error_page: 'looks like an error page',
  bot_wall: 'looks like a bot check',
  rate_limit: 'looks like a rate limit',
  script_shell: 'made by scripts',
};

/** A warning about a successful response that may not be the expected page, with the reason. */
export function PageLabelNote({ label, withReason = false }: { label: PageLabel; withReason?: boolean }) {
  const text = (
    <>
      <IconAlertTriangle size={14} stroke={1.9} aria-hidden />
      {withReason && label.label === 'script_shell' ? label.reason : LABEL_WORDS[label.label]}
      {withReason && label.label !== 'script_shell' && `: ${label.reason}`}
    </>
  );
  if (withReason) return <span className={classes.note}>{text}</span>;
  return (
    <LazyTooltip label={label.reason} maxWidth={320}>
      {(trigger) => (
        <span {...trigger} className={classes.note}>
          {text}
        </span>
      )}
    </LazyTooltip>
  );
}
