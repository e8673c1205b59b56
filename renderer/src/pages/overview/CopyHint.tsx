import { Button } from '@mantine/core';
import { IconCopy } from '@tabler/icons-react';
import { Link } from 'react-router';
import { useCall } from '../../api/useCall.ts';
import classes from './GettingStarted.module.css';

/** Reminds the owner to keep a second copy while there is none. */
export function CopyHint() {
  const copies = useCall('listCopies', { query: { limit: 1 } });
  if (copies.data?.total !== 0) return null;
  return (
    <section className={classes.steps} aria-label="Second copy">
      <ol>
        <li>
          <IconCopy size={22} stroke={1.6} aria-hidden />
          <div>
            <h2 className={classes.hint}>One disk is not an archive</h2>
            <p className="muted">Keep a second copy on another disk or in a bucket.</p>
          </div>
          <Button component={Link} to="/settings#copies" variant="default">
            Add a copy
          </Button>
        </li>
      </ol>
    </section>
  );
}
