import { IconBuildingArch, IconServer2 } from '@tabler/icons-react';
import { SELF } from '../../../../../shared/collection/event.ts';
import { LazyTooltip } from '../../feedback/LazyTooltip.tsx';
import classes from './ObserverText.module.css';

/** Who observed it: this node, or a third party whose capture this node imported. */
export function ObserverText({ observer }: { observer: string }) {
  const isSelf = observer === SELF;
  const Icon = isSelf ? IconServer2 : IconBuildingArch;
  const meaning = isSelf
    ? 'Retrieved from the source by this node.'
    : `Observed by ${observer}. This node imported their capture and did not retrieve the source itself.`;
  return (
    <LazyTooltip label={meaning} maxWidth={300}>
      {(trigger) => (
        <span {...trigger} className={classes.observer} data-third-party={!isSelf || undefined}>
          <Icon size={14} stroke={1.8} aria-hidden />
          <span className={classes.words}>{isSelf ? 'this node' : `third party: ${observer}`}</span>
        </span>
      )}
    </LazyTooltip>
  );
}
