import { IconPlugConnectedX } from '@tabler/icons-react';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { call, useDiskAway } from '../../api/client.ts';
import classes from './feedback.module.css';

const ASK_EVERY_MS = 2_000;

/** Shown as long as the disk of the archive cannot be reached. Then everything on the page is requested again. */
export function DiskAwayNote() {
  const sentence = useDiskAway((state) => state.sentence);
  const queries = useQueryClient();
  useEffect(() => {
    // Its answer is noted; a node that does not answer is asked again.
    const timer = setInterval(() => void call('readSession').catch(() => {}), ASK_EVERY_MS);
    return () => {
      clearInterval(timer);
      void queries.invalidateQueries();
    };
  }, [queries]);
  return (
    <div role="alert" className={`${classes.note} card card-bad stack gap-3 start`}>
      <IconPlugConnectedX size={20} aria-hidden className={classes.icon} />
      <div>
        <p className="strong">The disk of the archive cannot be reached</p>
        <p>{sentence}</p>
      </div>
    </div>
  );
}
