import { Button } from '@mantine/core';
import { useEffect, useRef } from 'react';
import type { CreatedInvitation } from '../../../../shared/invitation.ts';
import { CopyButton } from '../../components/forms/CopyButton.tsx';
import classes from './SharingPage.module.css';

/** The token of an invitation that was just made. It cannot be shown again. */
export function InvitationToken({
  invitation,
  onDone,
}: {
  invitation: CreatedInvitation;
  onDone: () => void;
}) {
  const panel = useRef<HTMLElement>(null);
  // Whoever works without looking is led to what will not be shown twice.
  useEffect(() => panel.current?.focus(), []);
  return (
    <section ref={panel} tabIndex={-1} aria-label="The new invitation" className={`${classes.token} sheet`}>
      <p>
        <strong>{invitation.name ? `The invitation of ${invitation.name}` : 'The invitation'}</strong>: give
        this token to whom it is for. It is shown this once; the node keeps only its digest.
      </p>
      <p className={classes.secret}>
        <code className="wrap-anywhere">{invitation.token}</code>
        <CopyButton text={invitation.token} what="the token" />
      </p>
      <Button variant="default" size="xs" onClick={onDone}>
        I have given it on
      </Button>
    </section>
  );
}
