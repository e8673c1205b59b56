import { IconBuildingArch, IconServer2 } from '@tabler/icons-react';
import { SELF } from '../../../../../shared/event.ts';
import { Hint } from '../../../components/feedback/Hint.tsx';
import classes from './ObserverText.module.css';

/** Who saw it: this node itself, or a third party whose capture this node fetched. Never left to be guessed. */
export function ObserverText({ observer }: { observer: string }) {
  const isSelf = observer === SELF;
  const Icon = isSelf ? IconServer2 : IconBuildingArch;
  const meaning = isSelf
    ? 'This node retrieved it from the source itself.'
    : `${observer} observed it; this node fetched their capture and did not see the source itself.`;
  return (
    <Hint label={meaning} maxWidth={300}>
      {(trigger) => (
        <span {...trigger} className={classes.observer} data-third-party={!isSelf || undefined}>
          <Icon size={14} stroke={1.8} aria-hidden />
          <span className={classes.words}>{isSelf ? 'seen by this node' : `third party: ${observer}`}</span>
        </span>
      )}
    </Hint>
  );
}
